"""Bugs that the simulation found, each as a small test beside the seed that showed it first."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from signoff.core.states import Actor
from signoff.engine import leasing
from signoff.engine import writer as writer_module
from signoff.engine.dispatch import Dispatcher, WorkerSlot
from signoff.engine.request import Outbound, Request
from signoff.engine.writer import Writer
from tests.core.kit import World as KitWorld
from tests.core.kit import activity, approval, document
from tests.simulation.ask import RELAY, TENANT, TIMERS, Ask, person
from tests.simulation.simulate import run_seed
from tests.simulation.world import World, determined

WORK = {"id": "s0", "kind": "activity", "label": "Work", "connector": "work"}
CLAIM = ("r-1", "s0", 1, 1, 1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with determined(0):
        made = World(0, tmp_path)
        made.faults.stop()
        made.workers.clear()
        yield made
        made.close()


def ask(world: World, do: str, who: Any, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Send one request; returns the raw answer."""
    answers: list[dict[str, Any]] = []
    world.send([Ask(do, who, args, heard=answers.append, **more)])
    return answers[0]


def start(world: World, *steps: dict[str, Any]) -> str:
    document = {"name": "buy", "title": "Buy", "steps": list(steps or [WORK]), "edges": []}
    ask(world, "create_draft", person("pia"), {"document": document})
    ask(world, "publish", person("pia"), {"name": "buy", "revision": 1})
    args = {"definition": "buy", "input": {}, "business_key": "", "version": None}
    return str(ask(world, "start_run", person("dan"), args)["ok"]["run_id"])


@pytest.mark.parametrize("seed", [1, 2, 12, 26, 34, 6177, 1304, 1524, 2156, 2211, 3602, 4296, 145])
def test_the_seeds_that_failed(seed: int) -> None:
    run_seed(seed)


def test_a_repeated_delivery_removes_no_other_notice(world: World) -> None:
    """Seed 1: the id of a delivered notice was given to the next one, which a repeated `delivered` removed."""
    run_id = start(world)
    ask(world, "terminate_run", person("olga"), {"run_id": run_id, "reason": "first"})
    ((first,),) = world.auditor.rows("SELECT id FROM outbox")
    ask(world, "delivered", RELAY, {"ids": [first]}, origin="engine")
    again = ask(world, "start_run", person("dan"), {"definition": "buy", "input": {}, "business_key": ""})
    ask(world, "terminate_run", person("olga"), {"run_id": again["ok"]["run_id"], "reason": "second"})
    ask(world, "delivered", RELAY, {"ids": [first]}, origin="engine")
    assert len(world.auditor.rows("SELECT id FROM outbox WHERE tries >= 0")) == 1


def test_a_repeated_outcome_frees_one_slot() -> None:
    """Seed 12: an outcome that was sent twice made the engine believe in a slot that the worker does not have."""
    dispatcher = Dispatcher()
    dispatcher.offer(WorkerSlot("w1", ("default",), 0, print), [CLAIM])
    dispatcher.give_back("w1", CLAIM)
    dispatcher.give_back("w1", CLAIM)
    assert dispatcher.free("default") == 1


def test_an_outcome_just_before_an_offer_keeps_its_slot_free() -> None:
    """Found beside seed 4296: the worker counted a task as its own whose outcome the engine had already taken."""
    dispatcher = Dispatcher()
    dispatcher.offer(WorkerSlot("w1", ("default",), 0, print), [CLAIM])
    dispatcher.give_back("w1", CLAIM)
    dispatcher.offer(WorkerSlot("w1", ("default",), 0, print), [CLAIM])
    assert dispatcher.free("default") == 1
    dispatcher.give_back("w1", CLAIM)
    assert dispatcher.free("default") == 1


def test_an_outcome_that_was_rolled_back_frees_no_slot(world: World) -> None:
    """The same after a commit that failed: the worker still has the task and sends its outcome again.

    Nor does a COMMIT that failed leave a transaction open, which refused whatever came next.
    """
    tasks: list[dict[str, Any]] = []
    worker = Actor("worker", "w1", channel="worker")
    ask(world, "offer", worker, {"pools": ["default"], "free": 1}, origin="worker", context=tasks.append)
    start(world)
    claim = {name: tasks[0][name] for name in ("run_id", "step", "generation", "attempt", "fence")}
    world.faults.commit_error = 1.0
    answer = ask(world, "complete", worker, claim | {"output": 1}, origin="worker")
    assert answer["error"] == "Unavailable"
    assert world.engine.dispatcher.free("default") == 0
    world.faults.stop()
    assert "ok" in ask(world, "complete", worker, claim | {"output": 1}, origin="worker")
    assert world.engine.dispatcher.free("default") == 1


def test_a_worker_that_was_silent_is_served_again_when_it_is_heard(world: World) -> None:
    """Seed 34: its lease ran out and its run ended; its late outcome was answered, and it got no task ever again."""
    tasks: list[dict[str, Any]] = []
    worker = Actor("worker", "w1", channel="worker")
    ask(world, "offer", worker, {"pools": ["default"], "free": 1}, origin="worker", context=tasks.append)
    run_id = start(world)
    claim = {name: tasks[0][name] for name in ("run_id", "step", "generation", "attempt", "fence")}
    world.clock.elapsed += 31
    ask(world, "expire_lease", TIMERS, claim | {"worker": "w1"}, origin="engine")
    ask(world, "terminate_run", person("olga"), {"run_id": run_id, "reason": "over"})
    again = ask(world, "start_run", person("dan"), {"definition": "buy", "input": {}, "business_key": ""})
    assert len(tasks) == 1
    assert ask(world, "complete", worker, claim | {"output": 1}, origin="worker")["code"] == "run_over"
    assert [t["run_id"] for t in tasks[1:]] == [again["ok"]["run_id"]]


def test_a_slot_is_free_again_after_a_fault_between_taking_and_leasing(world: World) -> None:
    """Seed 4296: the read in between failed, and the worker had one slot less ever after."""
    tasks: list[dict[str, Any]] = []
    start(world)
    worker = Actor("worker", "w1", channel="worker")
    offered = {"pools": ["default"], "free": 0, "claims": [list(CLAIM)]}
    ask(world, "offer", worker, offered, origin="worker", context=tasks.append)
    world.engine.dispatcher.give_back("w1", CLAIM)
    with mock.patch.object(leasing, "scheduled_body", side_effect=OSError("disk I/O error")):
        world.send([Ask("lease", TIMERS, {}, origin="engine")])
    assert world.engine.dispatcher.free("default") == 1
    world.send([Ask("lease", TIMERS, {}, origin="engine")])
    assert len(tasks) == 1


def test_an_offer_that_was_rolled_back_counts_no_more(world: World) -> None:
    """Seed 2211: the offer of a batch that failed was still there when the batch was done one by one."""
    tasks: list[dict[str, Any]] = []
    worker = Actor("worker", "w1", channel="worker")
    start(world)
    start_args = {"definition": "buy", "input": {}, "business_key": ""}
    offer = Ask("offer", worker, {"pools": ["default"], "free": 1}, origin="worker", context=tasks.append)
    real = world.journal.before_commit

    def fail_once() -> None:
        world.journal.before_commit = real
        raise OSError("disk full")

    world.journal.before_commit = fail_once
    world.send([Ask("start_run", person("dan"), dict(start_args)) for _ in range(2)] + [offer])
    assert len(tasks) == 1


def test_a_worker_is_not_suspected_for_a_task_that_it_never_got(world: World) -> None:
    """Seed 1304: the engine died between the commit and the sending; later the idle worker was thought lost."""
    tasks: list[dict[str, Any]] = []
    worker = Actor("worker", "w1", channel="worker")
    offer = {"pools": ["default"], "free": 1}
    ask(world, "offer", worker, offer, origin="worker", context=lambda task: None)
    start(world)
    world.die()
    ask(world, "offer", worker, offer, origin="worker", context=tasks.append)
    world.clock.elapsed += 31
    ((run_id, fence),) = world.auditor.rows("SELECT r.public_id, a.fence FROM attempt a JOIN run r ON r.id = a.run")
    claim = {"run_id": run_id, "step": "s0", "generation": 1, "attempt": 1, "fence": fence}
    assert "ok" in ask(world, "expire_lease", TIMERS, claim | {"worker": "w1"}, origin="engine")
    ask(world, "start_run", person("dan"), {"definition": "buy", "input": {}, "business_key": ""})
    assert len(tasks) == 1


def test_attempts_are_leased_after_a_commit_that_failed(world: World) -> None:
    """Seed 2156: looking for claimable attempts was forgotten when the commit of that look failed."""
    tasks: list[dict[str, Any]] = []
    start(world)
    worker = Actor("worker", "w1", channel="worker")
    world.faults.commit_error = 1.0
    answer = ask(world, "offer", worker, {"pools": ["default"], "free": 1}, origin="worker", context=tasks.append)
    assert answer["error"] == "Unavailable"
    world.faults.stop()
    ask(world, "offer", worker, {"pools": ["default"], "free": 1}, origin="worker", context=tasks.append)
    assert len(tasks) == 1


def test_deciders_differ_even_where_two_approvals_are_open_together() -> None:
    """Seed 1524: the second approval was open already when the first was decided, by the same person."""
    doc = document(
        approval("p", ("pair",)),
        activity("a"),
        approval("q", ("pair",), join="any", deciders_differ_from=["p"]),
        edges="p>q a>q",
    )
    both = KitWorld(doc)
    both.claim("a")
    both.ok(both.completion("a"))
    both.ok(both.vote("p", "ann"))
    assert both.no(both.vote("q", "ann")).code == "decided_before"
    both.ok(both.vote("q", "bob"))
    assert both.run == "succeeded"


def test_an_approval_that_lost_its_deciders_to_another_one_says_so() -> None:
    """The same, where the quorum needs everybody who has just decided elsewhere."""
    doc = document(
        approval("p", ("pair",)),
        activity("a"),
        approval("q", ("pair",), required=2, join="any", deciders_differ_from=["p"]),
        edges="p>q a>q",
    )
    both = KitWorld(doc)
    both.claim("a")
    both.ok(both.completion("a"))
    both.ok(both.vote("p", "ann"))
    assert both.step("q").status == "failed"
    assert both.step("q").error.code == "no_approver"
    assert both.run == "stalled"


def test_the_writer_looks_again_after_a_commit_that_failed(world: World) -> None:
    """Seed 3602: nobody looked for claimable attempts after a failed commit until somebody wanted something."""
    world.faults.commit_error = 1.0
    out = world.engine.process([Request("lease", "", TIMERS, {}, print, origin="engine")])
    assert not out.lease_later  # nothing was to be written
    bad = Request("save_person", TENANT, TIMERS, world.account("ann", True), print, origin="engine")
    assert world.engine.process([bad]).lease_later
    world.faults.stop()
    assert not world.engine.process([bad, bad]).lease_later


def test_the_writer_waits_a_moment_and_looks_again() -> None:
    seen: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    class Broken:
        journal = mock.Mock()

        def process(self, batch: list[Request]) -> Outbound:
            seen.put([r.do for r in batch])
            return Outbound(lease_later=batch[0].do == "broken")

    writer = Writer(cast("Any", Broken), print)
    with mock.patch.object(writer_module, "AFTER_FAILURE_S", 0.01):
        writer.start()
        writer.submit(Request("broken", TENANT, TIMERS, {}, print))
        assert seen.get(timeout=10) == ["broken"]
        assert seen.get(timeout=10) == ["lease"]
        writer.close()
    assert seen.empty()


def test_an_outcome_repeated_after_a_new_offer_frees_no_second_slot() -> None:
    """Seed 145: the worker had offered anew without the task; its answer came once more and freed a slot too many."""
    dispatcher = Dispatcher()
    dispatcher.offer(WorkerSlot("w", ("default",), 2, print))
    slot = dispatcher.take("default")
    assert slot is not None
    dispatcher.give(slot, CLAIM)
    assert dispatcher.give_back("w", CLAIM) is slot
    dispatcher.offer(WorkerSlot("w", ("default",), 2, print))
    assert dispatcher.give_back("w", CLAIM) is None
    assert dispatcher.free("default") == 2


def test_a_task_on_its_way_takes_the_slot_that_the_worker_offers() -> None:
    """Seed 6177: a batch was done one by one, its first request leased a task, and an offer made before it was last.

    The worker got more tasks than it has slots.
    """
    dispatcher = Dispatcher()
    send = print
    dispatcher.offer(WorkerSlot("w", ("default",), 1, send), (), (0, 0))
    slot = dispatcher.take("default")
    assert slot is not None
    epoch, number = dispatcher.give(slot, CLAIM)
    dispatcher.offer(WorkerSlot("w", ("default",), 1, send), (), (0, 0))
    assert dispatcher.free("default") == 0, "it is still on its way"
    dispatcher.offer(WorkerSlot("w", ("default",), 1, send), (), (epoch + 1, number))
    assert dispatcher.free("default") == 0, "what an engine before this one has sent says nothing"
    dispatcher.offer(WorkerSlot("w", ("default",), 0, send), [CLAIM], (epoch, number))
    assert dispatcher.free("default") == 0
    dispatcher.offer(WorkerSlot("w", ("default",), 1, send), (), (epoch, number))
    assert dispatcher.free("default") == 1, "it had it and has it no more: its lease was lost"


def test_a_task_on_a_connection_that_broke_takes_no_slot() -> None:
    """Beside seed 6177: what was sent to the old connection never came."""
    dispatcher = Dispatcher()
    dispatcher.offer(WorkerSlot("w", ("default",), 1, print), (), (0, 0))
    slot = dispatcher.take("default")
    assert slot is not None
    dispatcher.give(slot, CLAIM)
    dispatcher.offer(WorkerSlot("w", ("default",), 1, repr), (), (0, 0))
    assert dispatcher.free("default") == 1
    dispatcher.withdraw("w", print)
    assert dispatcher.free("default") == 1, "the end of the old connection says nothing about the new one"
    dispatcher.withdraw("w", repr)
    assert dispatcher.find("w") is None
