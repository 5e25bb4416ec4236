"""Crashes around a commit and in the middle of a propagation; the bound on what one transaction touches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from signoff.scheduler import TaskState
from signoff.scheduler.errors import StateConflict
from signoff.scheduler.stored.version import StoredTask
from tests.scheduler.durable_pair import LEASE_S, Clock, claim_all, frontier, names, opened

pytestmark = pytest.mark.usefixtures("store")  # on SQLite and on PostgreSQL


class Crash(BaseException):
    """The process ends here."""


class CrashAt:
    """A commit hook that ends the process at the nth commit."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self) -> None:
        self.left -= 1
        if not self.left:
            raise Crash


def test_a_crash_before_the_commit_changes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit_many([("a", []), ("b", ["a"])])
        (claim,) = claim_all(scheduler)
        scheduler.store.before_commit = CrashAt(1)
        with pytest.raises(Crash):
            scheduler.complete("a", 1, "done", fence=claim.fence)
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        assert scheduler.tasks.state("a") is TaskState.RUNNING
        assert scheduler.tasks.state("b") is TaskState.PENDING
        assert scheduler.complete("a", 1, "again", fence=claim.fence) is TaskState.SUCCEEDED
        assert names(claim_all(scheduler)) == ["b"]


def test_a_crash_after_the_commit_is_answered_with_the_known_end(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db") as scheduler:
        scheduler.submit_many([("a", []), ("b", ["a"])])
        (claim,) = claim_all(scheduler)
        scheduler.store.after_commit = CrashAt(1)
        with pytest.raises(Crash):
            scheduler.complete("a", 1, "done", fence=claim.fence)
    with opened(tmp_path / "g.db") as scheduler:
        assert scheduler.complete("a", 1, "again", fence=claim.fence) is TaskState.SUCCEEDED
        assert scheduler.tasks.info("a").result == "done"
        assert scheduler.metrics().duplicate_callbacks == 1
        assert names(claim_all(scheduler)) == ["b"]


def test_a_claim_lost_in_a_crash_comes_back_when_its_lease_ends(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        scheduler.submit("a")
        scheduler.store.after_commit = CrashAt(1)
        with pytest.raises(Crash):
            scheduler.ready()
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        assert claim_all(scheduler) == []
        clock.forward(LEASE_S + 1)
        assert [(c.task, c.fence) for c in claim_all(scheduler)] == [("a", 2)]


@pytest.mark.parametrize("crash_at", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("after", [False, True])
def test_a_failure_spreads_in_pages_and_goes_on_after_a_crash(tmp_path: Path, crash_at: int, after: bool) -> None:
    """One root, 40 children, each with a grandchild; pages of 5 edges; a crash at any commit of the propagation."""
    children = [StoredTask(f"c{i}", ["root"]) for i in range(40)]
    grandchildren = [StoredTask(f"g{i}", [f"c{i}"]) for i in range(40)]
    with opened(tmp_path / "g.db", page=5) as scheduler:
        scheduler.submit_many([StoredTask("root"), *children, *grandchildren, StoredTask("last", [], None, ["root"])])
        (claim,) = claim_all(scheduler)
        scheduler.most_loaded = 0
        setattr(scheduler.store, "after_commit" if after else "before_commit", CrashAt(crash_at))
        with pytest.raises(Crash):
            scheduler.fail("root", 1, "broken", fence=claim.fence)
        assert scheduler.most_loaded <= 2 * 5 + 1
    with opened(tmp_path / "g.db", page=5) as scheduler:
        if crash_at == 1 and not after:
            assert scheduler.tasks.state("root") is TaskState.RUNNING
            scheduler.fail("root", 1, "broken", fence=claim.fence)
        else:
            assert frontier(scheduler.store)
        while scheduler.tasks.counts()[TaskState.BLOCKED] < 80:
            assert names(claim_all(scheduler, 1)) in ([], ["last"])  # a worker that asks for work helps along
            assert scheduler.tasks.state("c39") in (TaskState.PENDING, TaskState.BLOCKED)
        while scheduler.advance():
            pass
        assert scheduler.tasks.cause("g39").path == ("root", "c39", "g39")
        assert frontier(scheduler.store) == []
        assert scheduler.tasks.state("last") in (TaskState.READY, TaskState.RUNNING)


def test_a_retry_waits_for_the_propagation_of_the_old_end(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", page=3) as scheduler:
        scheduler.submit_many([StoredTask("root"), *(StoredTask(f"c{i}", ["root"]) for i in range(20))])
        (claim,) = claim_all(scheduler)
        scheduler.store.after_commit = CrashAt(1)
        with pytest.raises(Crash):
            scheduler.fail("root", 1, fence=claim.fence)
        scheduler.store.after_commit = lambda: None
        assert scheduler.tasks.counts()[TaskState.PENDING] > 0
        assert scheduler.submit("root") == 2
        assert scheduler.tasks.counts()[TaskState.BLOCKED] == 20
        scheduler.submit("c0", ["root"])
        (again,) = claim_all(scheduler)
        scheduler.complete("root", 2, fence=again.fence)
        assert names(claim_all(scheduler)) == ["c0"]


def test_what_is_submitted_during_a_propagation_is_right_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", page=3) as scheduler:
        scheduler.submit_many([StoredTask("root"), *(StoredTask(f"c{i}", ["root"]) for i in range(20))])
        (claim,) = claim_all(scheduler)
        scheduler.store.after_commit = CrashAt(1)
        with pytest.raises(Crash):
            scheduler.fail("root", 1, fence=claim.fence)
        scheduler.store.after_commit = lambda: None
        scheduler.submit("late", ["root"])
        scheduler.submit("later", ["c19"])
        scheduler.submit("free", optional=["root"])
        assert scheduler.tasks.state("late") is TaskState.BLOCKED
        assert names(claim_all(scheduler)) == ["free"]
        while scheduler.advance():
            pass
        assert scheduler.tasks.cause("later").path == ("root", "c19", "later")


def test_a_close_that_was_cut_off_is_finished_by_the_next_one_to_come(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", page=4) as scheduler:
        scheduler.submit_many([(f"t{i}", []) for i in range(30)])
        scheduler.store.after_commit = CrashAt(3)
        with pytest.raises(Crash):
            scheduler.close(0)
    with opened(tmp_path / "g.db", page=4) as scheduler:
        assert 0 < scheduler.tasks.counts()[TaskState.READY] < 30
        assert claim_all(scheduler) == []
        while scheduler.advance():
            pass
        assert scheduler.tasks.counts()[TaskState.CANCELLED] == 30


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_every_commit_of_a_whole_drain(tmp_path: Path, after: bool) -> None:
    """Crash at the 1st, 2nd, 3rd … commit, open again, go on: everything succeeds, and runs once more at most."""
    clock = Clock()
    ran: Counter[str] = Counter()
    with opened(tmp_path / "g.db", clock=clock, page=2) as scheduler:
        scheduler.submit_many(
            [(f"t{i}", [f"t{j}" for j in (i - 3, i - 2) if j >= 0]) for i in range(30)],
        )
    for crash_at in range(1, 60):
        with opened(tmp_path / "g.db", clock=clock, page=2) as scheduler:
            setattr(scheduler.store, "after_commit" if after else "before_commit", CrashAt(1 + crash_at % 7))
            try:
                while claims := claim_all(scheduler, 2):
                    for claim in claims:
                        ran[claim.task] += 1
                        assert all(
                            d.state is TaskState.SUCCEEDED for d in scheduler.tasks.inputs(claim.task).dependencies
                        )
                        scheduler.complete(claim.task, claim.generation, fence=claim.fence)
            except Crash:
                clock.forward(LEASE_S + 1)
    with opened(tmp_path / "g.db", clock=clock) as scheduler:
        assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == 30
        assert scheduler.metrics().run_time.count == 30  # each succeeded once, however often it ran
        assert set(ran) == {f"t{i}" for i in range(30)}
        with pytest.raises(StateConflict):
            scheduler.add_dependency("t3", "t1")
