"""What the durable scheduler adds to the contract: leases, fences, partitions, pages, closing, restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.errors import InvalidInput
from signoff.scheduler import (
    CapacityExceeded,
    DependencyCycle,
    GenerationConflict,
    SchedulerClosed,
    StateConflict,
    TaskState,
    UnknownDependency,
)
from signoff.scheduler.errors import LeaseLost, SettingsConflict
from signoff.scheduler.stored.version import DURABLE_ALLOWED, Renewal, StoredTask
from tests.scheduler.durable_pair import LEASE_S, Clock, claim_all, names, opened

pytestmark = pytest.mark.usefixtures("store")  # on SQLite and on PostgreSQL


def test_a_graph_outlives_the_process_that_made_it(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as first:
        first.submit("load", payload={"rows": [1, 2]}, kind="read")
        first.submit("clean", ["load"])
        (claim,) = claim_all(first)
        assert claim.payload == {"rows": [1, 2]}
        assert first.complete("load", 1, {"count": 2}, fence=claim.fence) is TaskState.SUCCEEDED
    with opened(tmp_path / "g.db") as second:
        assert second.tasks.info("load").result == {"count": 2}
        assert second.tasks.inputs("clean").results == {"load": {"count": 2}}
        assert names(claim_all(second)) == ["clean"]
        assert second.tasks.counts()[TaskState.RUNNING] == 1


def test_two_graphs_in_one_file_do_not_meet(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", "one") as one, opened(tmp_path / "g.db", "two") as two:
        one.submit("a")
        two.submit("a", payload=2)
        assert names(claim_all(one)) == ["a"]
        assert claim_all(two)[0].payload == 2
        assert claim_all(one) == []


def test_settings_belong_to_the_graph(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "g.db", max_concurrency=2),
        pytest.raises(SettingsConflict, match="created with"),
        opened(tmp_path / "g.db", max_concurrency=3),
    ):
        pass


def test_capacity_is_shared_and_zero_is_legal(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "g.db", max_concurrency=2) as one,
        opened(tmp_path / "g.db", max_concurrency=2) as two,
        opened(tmp_path / "g.db", "none", max_concurrency=0) as none,
    ):
        one.submit_many([(f"t{i}", []) for i in range(5)])
        assert names(claim_all(one, 1)) == ["t0"]
        with pytest.raises(CapacityExceeded):
            two.ready(2, all_or_nothing=True)
        assert names(claim_all(two)) == ["t1"]
        assert claim_all(one) == []
        assert one.metrics().claim_conflicts == 1
        none.submit("a")
        assert claim_all(none) == []
        assert none.tasks.state("a") is TaskState.READY


def test_a_lease_that_runs_out_gives_the_task_on_and_the_first_answer_counts(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as one, opened(tmp_path / "g.db", clock=clock) as two:
        one.submit("a")
        one.submit("b", ["a"])
        (slow,) = claim_all(one)
        assert claim_all(two) == []
        clock.forward(LEASE_S + 1)
        (fast,) = claim_all(two)
        assert (fast.task, fast.generation, fast.fence, fast.expiries) == ("a", 1, slow.fence + 1, 1)
        with pytest.raises(LeaseLost, match="does not hold any more"):
            one.complete("a", 1, "slow", fence=slow.fence)
        assert one.renew([slow]) == [Renewal.LOST]
        assert claim_all(one) == []  # nothing was released
        assert two.complete("a", 1, "fast", fence=fast.fence) is TaskState.SUCCEEDED
        assert one.complete("a", 1, "slow", fence=slow.fence) is TaskState.SUCCEEDED  # known already
        assert one.tasks.info("a").result == "fast"
        assert names(claim_all(one)) == ["b"]
        figures = one.metrics()
        assert (figures.lease_expiries, figures.late_callbacks, figures.duplicate_callbacks) == (1, 1, 1)
        assert figures.run_time.count == 1


def test_a_late_answer_counts_while_nobody_took_the_task_back(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit("a")
        (claim,) = claim_all(scheduler)
        clock.forward(LEASE_S * 5)
        assert scheduler.complete("a", 1, fence=claim.fence) is TaskState.SUCCEEDED
        assert scheduler.metrics().lease_expiries == 0


def test_after_it_was_taken_back_nobody_can_complete_it_unclaimed(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit("a")
        (claim,) = claim_all(scheduler)
        clock.forward(LEASE_S + 1)
        assert not scheduler.advance()
        assert scheduler.tasks.state("a") is TaskState.READY
        with pytest.raises(LeaseLost):
            scheduler.fail("a", 1, "late", fence=claim.fence)
        assert scheduler.tasks.state("a") is TaskState.READY


def test_renewing_keeps_a_claim_and_brings_the_stop(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as worker, opened(tmp_path / "g.db", clock=clock) as operator:
        operator.submit_many([("a", []), ("b", ["a"]), ("c", [])])
        a, c = claim_all(worker)
        for _ in range(4):
            clock.forward(LEASE_S * 0.6)
            assert worker.renew([a, c]) == [Renewal.HELD, Renewal.HELD]
        assert claim_all(operator) == []
        assert operator.cancel("a", reason="not needed", by="ann") is TaskState.RUNNING
        assert operator.tasks.info("a").stop_requested
        assert worker.renew([a, c]) == [Renewal.STOP, Renewal.HELD]
        with pytest.raises(LeaseLost):
            worker.cancel("a", confirmed=True, fence=a.fence + 7)
        assert worker.cancel("a", confirmed=True, fence=a.fence) is TaskState.CANCELLED
        cause = operator.tasks.cause("b")
        assert (cause.task, cause.by, cause.reason, cause.path) == ("a", "ann", "not needed", ("a", "b"))
        assert [claim for claim, _ in operator.tasks.audit()] == [("a", 1), ("b", 1)]


def test_a_stop_nobody_confirms_holds_when_the_lease_runs_out(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit_many([("a", []), ("b", ["a"])])
        claim_all(scheduler)
        scheduler.cancel("a", by="ann")
        clock.forward(LEASE_S + 1)
        assert claim_all(scheduler) == []
        while scheduler.advance():
            pass
        assert (scheduler.tasks.state("a"), scheduler.tasks.state("b")) == (TaskState.CANCELLED, TaskState.BLOCKED)


def test_an_older_generation_is_refused_whatever_its_token(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        scheduler.submit("a")
        (claim,) = claim_all(scheduler)
        with pytest.raises(GenerationConflict, match="never overwritten"):
            scheduler.submit("a")
        scheduler.fail("a", 1, OSError("disk full"), fence=claim.fence)
        assert scheduler.submit("a") == 2
        (again,) = claim_all(scheduler)
        assert (again.generation, again.fence) == (2, 1)
        with pytest.raises(GenerationConflict):
            scheduler.complete("a", 1, fence=claim.fence)
        assert scheduler.tasks.info("a", 1).error == "disk full"
        assert [info.state for info in scheduler.tasks.history("a")] == [TaskState.FAILED, TaskState.RUNNING]
        assert scheduler.metrics().late_callbacks == 1
        assert scheduler.metrics().graph_errors == {"scheduler.generation_conflict": 1}


def test_edges_cross_partitions_and_claims_stay_inside(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        scheduler.submit("north", tenant="x", partition="n")
        scheduler.submit("south", ["north"], tenant="x", partition="s")
        scheduler.submit("other", ["south"], tenant="y", partition="s", optional=["north"])
        assert claim_all(scheduler, tenant="x", partition="s") == []
        assert claim_all(scheduler, tenant="y") == []
        (north,) = claim_all(scheduler, tenant="x", partition="n")
        scheduler.complete("north", 1, fence=north.fence)
        assert claim_all(scheduler, tenant="y", partition="s") == []
        (south,) = claim_all(scheduler, tenant="x", partition="s")
        assert south.partition == "s"
        scheduler.fail("south", 1, fence=south.fence)
        assert scheduler.tasks.cause("other").path == ("south", "other")
        groups = scheduler.metrics().groups
        assert groups["", "y"].states[TaskState.BLOCKED] == 1
        assert groups["", "x"].run_time.count == 2


def test_claims_come_in_submission_order_over_all_partitions(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        scheduler.submit_many([StoredTask(f"t{i}", tenant="xy"[i % 2], partition=str(i % 3)) for i in range(12)])
        assert names(claim_all(scheduler, 3)) == ["t0", "t1", "t2"]
        assert names(claim_all(scheduler, tenant="x", partition="1")) == ["t4", "t10"]
        assert names(claim_all(scheduler, tenant="y")) == ["t3", "t5", "t7", "t9", "t11"]


def test_pages_stay_stable_while_tasks_change(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        scheduler.submit_many([(f"t{i:02}", []) for i in range(20)])
        first = scheduler.tasks.page(limit=7)
        assert [info.task for info in first.tasks] == [f"t{i:02}" for i in range(7)]
        for claim in claim_all(scheduler, 9):
            scheduler.complete(claim.task, 1, fence=claim.fence)
        scheduler.submit("t03")  # seen already; its new generation is at the end
        scheduler.submit("new")
        second = scheduler.tasks.page(first.cursor, 7)
        assert [info.task for info in second.tasks] == [f"t{i:02}" for i in range(7, 14)]
        third = scheduler.tasks.page(second.cursor, 100)
        assert [info.task for info in third.tasks] == [*(f"t{i:02}" for i in range(14, 20)), "t03", "new"]
        assert third.cursor is None
        done = scheduler.tasks.page(state=TaskState.SUCCEEDED)
        assert [info.task for info in done.tasks] == [f"t{i:02}" for i in range(9) if i != 3]
        assert list(scheduler.tasks.ids())[-2:] == ["t03", "new"]


def test_waiting_is_a_state_of_its_own_on_pages_too(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", open_graph=True) as scheduler:
        scheduler.submit("b", ["a"])
        scheduler.submit("c", ["b"])
        assert [info.task for info in scheduler.tasks.page(state=TaskState.WAITING).tasks] == ["b"]
        assert [info.task for info in scheduler.tasks.page(state=TaskState.PENDING).tasks] == ["c"]
        assert scheduler.tasks.unknown() == {"a": ["b"]}
        scheduler.submit("a", ["c"])
        assert scheduler.check() == [["b", "c", "a", "b"]]
        with pytest.raises(DependencyCycle, match="b → c → a → b"):
            scheduler.ready()
        scheduler.submit("a")
        assert names(claim_all(scheduler)) == ["a"]


def test_closing_cancels_or_keeps_and_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", page=2) as scheduler:
        scheduler.submit_many([(f"t{i}", []) for i in range(9)])
        (claim,) = claim_all(scheduler, 1)
        report = scheduler.close(0, "keep")
        assert (report.finished, report.running_count, sum(report.kept.values())) == (False, 1, 8)
        assert claim_all(scheduler) == []
        with pytest.raises(SchedulerClosed):
            scheduler.ready(1, all_or_nothing=True)
        with pytest.raises(SchedulerClosed):
            scheduler.submit("late")
        scheduler.complete("t0", 1, fence=claim.fence)
        report = scheduler.close(0, "cancel")
        assert (report.finished, sum(report.cancelled.values()), report.kept) == (True, 8, {})
        assert scheduler.tasks.cause("t5").reason == "the scheduler was closed"
    with opened(tmp_path / "g.db") as again, pytest.raises(SchedulerClosed):
        again.submit("late")
    with opened(tmp_path / "h.db") as other, pytest.raises(ValueError, match="'cancel' or 'keep'"):
        other.close(0, "drop")


def test_closing_ends_when_the_lease_of_a_dead_worker_does(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit("a")
        claim_all(scheduler)
        clock.forward(LEASE_S + 1)
        report = scheduler.close(5)
        assert report.finished
        assert scheduler.tasks.state("a") is TaskState.CANCELLED


def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        with pytest.raises(UnknownDependency):
            scheduler.submit_many([("a", []), ("b", ["nobody"])])
        with pytest.raises(DependencyCycle):
            scheduler.submit_many({"a": ["b"], "b": ["a"]})
        assert len(scheduler.tasks) == 0
        assert scheduler.metrics().graph_errors == {
            "scheduler.unknown_dependency": 1,
            "scheduler.dependency_cycle": 1,
        }
        assert scheduler.submit_many([("b", ["a"]), ("a", [])]) == [1, 1]
        assert names(claim_all(scheduler)) == ["a"]


@pytest.mark.parametrize("tasks", [[(1, [])], [("a", [2])], [("a", "b")]])
def test_ids_are_texts(tmp_path: Path, tasks: Any) -> None:
    with opened(tmp_path / "g.db") as scheduler, pytest.raises(TypeError):
        scheduler.submit_many(tasks)


def test_complete_many_records_the_good_ones(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock, page=4) as scheduler:
        scheduler.submit_many([(f"t{i}", []) for i in range(5)])
        lost = claim_all(scheduler, 1)
        clock.forward(LEASE_S + 1)
        claims = claim_all(scheduler)
        with pytest.raises(LeaseLost):
            scheduler.complete_many([*lost, *claims])
        assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == 5
        scheduler.submit("x")
        with pytest.raises(StateConflict):
            scheduler.complete("x", 1, fence=1)


def test_every_change_of_state_is_in_the_table() -> None:
    assert (TaskState.RUNNING, TaskState.READY) in DURABLE_ALLOWED
    assert not any(source is not None and source.is_terminal for source, _ in DURABLE_ALLOWED)


def test_bodies_are_json_of_a_bounded_size(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        with pytest.raises(InvalidInput, match="at most 1048576"):
            scheduler.submit("a", payload="x" * 1_100_000)
        with pytest.raises(TypeError):
            scheduler.submit("a", payload=object())
        assert len(scheduler.tasks) == 0
        scheduler.submit("a")
        (claim,) = claim_all(scheduler)
        with pytest.raises(InvalidInput):
            scheduler.complete("a", 1, "x" * 1_100_000, fence=claim.fence)
        assert scheduler.tasks.state("a") is TaskState.RUNNING
