"""Deadlines: of a whole run, and the total time of an activity over all its attempts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from signoff.core import commands as c
from signoff.core.implied import implied_deadline
from signoff.core.states import TimerKind
from tests.core.kit import CLOCK, JSON, START, World, activity, approval, checked, definition_of, document, once, wait

DEADLINE = c.FireTimer(actor=CLOCK, step="", timer=TimerKind.DEADLINE, generation=0)


def with_deadline(*steps: JSON, edges: str = "", **policies: str) -> JSON:
    return document(*steps, edges=edges, policies={"deadline": "P2D", **policies})


def test_an_overdue_run_says_so_and_goes_on() -> None:
    world = World(with_deadline(approval("a")))
    assert world.state.deadline == START + timedelta(days=2)
    assert "must end by" in world.explain().next
    world.later(days=2)
    world.ok(DEADLINE)
    assert (world.run, world.state.overdue) == ("running", True)
    assert "overdue" in world.explain().sentence
    assert world.no(DEADLINE).code == "obsolete_timer"
    world.approve("a", "ann")
    assert world.run == "succeeded"
    assert "overdue" not in world.explain().sentence


def test_a_deadline_can_stop_the_run_and_waits_for_work_under_way() -> None:
    world = World(with_deadline(once("a"), approval("b"), wait("c"), edges="a>c", on_deadline="fail"))
    world.claim("a")
    world.later(days=2)
    world.ok(DEADLINE)
    assert (world.run, world.statuses["b"]) == ("cancelling", "cancelled")
    world.ok(world.completion("a"))
    assert world.run == "failed"
    assert "P2D" in world.state.reason


def test_a_run_that_ends_in_time_has_no_deadline_left() -> None:
    world = World(with_deadline(approval("a"), on_deadline="fail"))
    world.approve("a", "ann")
    assert world.run == "succeeded"
    assert implied_deadline(world.state) is None
    world.later(days=3)
    assert world.no(DEADLINE).code == "obsolete_timer"


def test_it_does_not_fire_early_and_a_pause_stops_its_clock() -> None:
    world = World(with_deadline(approval("a")))
    world.later(hours=47)
    assert world.no(DEADLINE).code == "not_due"
    world.pause()
    assert implied_deadline(world.state) is None
    world.later(days=5)
    assert world.no(DEADLINE).code == "obsolete_timer"
    world.resume()
    assert world.state.deadline == START + timedelta(days=7)
    world.later(hours=1)
    world.ok(DEADLINE)
    assert world.state.overdue


@pytest.mark.parametrize("on_deadline", ["notify", "fail"])
def test_a_stalled_run_meets_its_deadline_too(on_deadline: str) -> None:
    world = World(with_deadline(once("a"), on_deadline=on_deadline))
    world.breaks("a")
    assert world.run == "stalled"
    world.later(days=2)
    world.ok(DEADLINE)
    assert world.run == {"notify": "stalled", "fail": "failed"}[on_deadline]


@pytest.mark.parametrize(
    "policies", [{"deadline": "soon"}, {"deadline": "PT0S"}, {"deadline": "", "on_deadline": "fail"}]
)
def test_deadlines_that_are_refused(policies: JSON) -> None:
    with pytest.raises(AssertionError, match=r"deadline"):
        definition_of(document(wait("a"), policies=policies))


def test_the_total_time_ends_waiting_for_a_worker_and_work() -> None:
    retry = {"max_attempts": 9, "initial_s": 10.0, "jitter": 0.0, "total_s": 100.0}
    world = World(document(activity("a", retry=retry, timeouts={"run_s": 60.0})))
    assert world.step("a").due == START + timedelta(seconds=100)
    world.later(seconds=50)
    world.claim("a")
    assert world.step("a").due == START + timedelta(seconds=100), "not 110: the total time comes first"
    world.ok(world.failure("a"))
    world.fire("a")
    assert world.now == START + timedelta(seconds=60)
    world.fire("a")
    assert (world.statuses["a"], world.now) == ("failed", START + timedelta(seconds=100))


def test_without_a_total_time_nothing_waits_for_a_worker_in_vain() -> None:
    world = World(document(activity("a")))
    assert world.step("a").due is None


def test_the_total_time_covers_each_item_of_a_list_while_it_waits_and_while_it_runs() -> None:
    retry = {"max_attempts": 9, "initial_s": 10.0, "jitter": 0.0, "total_s": 100.0}
    each = {"items": "input.rows", "parallel": 1}
    step = activity("a", for_each=each, retry=retry, timeouts={"run_s": 60.0}, input={"row": "=item"})
    world = World(document(step, input=[{"name": "rows", "type": "list"}]), {"rows": [1, 2]})
    assert world.step("a").due == START + timedelta(seconds=100)
    world.later(seconds=50)
    world.claim_item("a", 0)
    assert world.step("a").due == START + timedelta(seconds=100), "not 110: the total time comes first"
    world.item_done("a", 0)
    assert world.step("a").due == START + timedelta(seconds=150), "each item has its own"
    world.later(seconds=30)
    world.claim_item("a", 1)
    world.ok(world.item_failure("a", 1))
    world.fire("a")
    assert world.step("a").due == START + timedelta(seconds=150), "its second attempt waits no longer either"
    world.fire("a")
    assert (world.statuses["a"], world.now) == ("failed", START + timedelta(seconds=150))


def test_a_probe_may_look_after_the_total_time() -> None:
    retry = {"max_attempts": 3, "initial_s": 10.0, "jitter": 0.0, "total_s": 100.0}
    world = World(document(checked("pay", retry=retry, timeouts={"run_s": 60.0})))
    world.claim("pay")
    world.later(seconds=99)
    world.ok(world.lost("pay"))
    world.fire("pay")
    world.later(seconds=30)
    world.claim("pay")
    due = world.step("pay").due
    assert due == world.now + timedelta(seconds=60)
    world.later(seconds=59)
    world.ok(world.completion("pay", {"found": True, "result": {"id": "P-7"}}))
    assert world.statuses["pay"] == "succeeded"
