"""The contract line by line: T1-T14 and the cases T19 names."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from signoff.errors import SignoffError
from signoff.scheduler import (
    CapacityExceeded,
    DependencyCycle,
    DuplicateTask,
    GenerationConflict,
    SchedulerClosed,
    StateConflict,
    TaskScheduler,
    TaskSpec,
    TaskState,
    UnknownDependency,
    UnknownTask,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def drain(scheduler: TaskScheduler) -> list[Any]:
    order = []
    while claims := scheduler.ready():
        order += [task for task, _ in claims]
        scheduler.complete_many(claims)
    return order


def test_an_empty_graph_has_nothing_to_do() -> None:
    scheduler = TaskScheduler()
    assert scheduler.ready() == []
    assert scheduler.check() == []
    assert scheduler.close(0).finished
    assert set(scheduler.tasks.counts().values()) == {0}


def test_independent_tasks_come_in_submission_order_whatever_their_ids() -> None:
    scheduler = TaskScheduler()
    for task in ["z", 3, ("t",), "a", None]:
        scheduler.submit(task)
    assert scheduler.ready(2) == [("z", 1), (3, 1)]
    assert scheduler.ready() == [(("t",), 1), ("a", 1), (None, 1)]


def test_submission_order_counts_and_not_the_moment_of_becoming_ready() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("root")
    scheduler.submit("early", ["root"])
    scheduler.submit("late")
    scheduler.complete(*scheduler.ready(1)[0])
    assert scheduler.ready(1) == [("early", 1)]
    assert scheduler.ready(1) == [("late", 1)]


def test_a_long_chain_runs_in_order() -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many({i: [i - 1] if i else [] for i in reversed(range(5000))})
    assert drain(scheduler) == list(range(5000))


def test_two_dependencies_completing_release_the_dependent_once() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.submit("b")
    scheduler.submit("c", ["a", "b"])
    first, second = scheduler.ready()
    scheduler.complete(*first)
    assert scheduler.tasks.state("c") is TaskState.PENDING
    scheduler.complete(*second)
    scheduler.complete(*second)
    assert scheduler.ready() == [("c", 1)]


def test_an_unknown_dependency_of_a_closed_graph_is_named_and_nothing_changes() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    with pytest.raises(UnknownDependency, match=r"'b' to depend on 'ghost'") as caught:
        scheduler.submit("b", ["a", "ghost"])
    assert (caught.value.task, caught.value.dependency) == ("b", "ghost")
    assert isinstance(caught.value, SignoffError)
    assert "b" not in scheduler.tasks
    assert drain(scheduler) == ["a"]
    assert scheduler.metrics().graph_errors == {"scheduler.unknown_dependency": 1}
    assert scheduler.metrics().edges_touched == 0


def test_a_task_of_an_open_graph_waits_for_a_dependency_nobody_submitted() -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("b", ["a"])
    assert scheduler.tasks.state("b") is TaskState.WAITING
    assert scheduler.tasks.unknown() == {"a": ["b"]}
    assert scheduler.ready() == []
    scheduler.submit("a")
    assert scheduler.tasks.state("b") is TaskState.PENDING
    assert drain(scheduler) == ["a", "b"]


def test_repeated_dependencies_are_folded_into_one_edge() -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("b", ["x", "a", "a", "x"], optional=["a", "y", "y"])
    scheduler.submit("a")
    scheduler.submit("x")
    scheduler.submit("y")
    info = scheduler.tasks.info("b")
    assert info.dependencies == ("x", "a")
    assert info.optional == ("y",)
    assert drain(scheduler) == ["a", "x", "y", "b"]
    assert scheduler.metrics().edges_touched == 3


def test_a_string_is_not_a_list_of_dependencies() -> None:
    with pytest.raises(TypeError, match=r"Write \('ab',\)"):
        TaskScheduler().submit("c", "ab")


@pytest.mark.parametrize("open_graph", [False, True])
def test_a_task_that_waits_for_itself_is_a_cycle_of_one(open_graph: bool) -> None:
    scheduler = TaskScheduler(open_graph=open_graph)
    scheduler.submit("x")
    with pytest.raises(DependencyCycle, match="a → a") as caught:
        scheduler.submit("a", ["x", "a"])
    assert caught.value.path == ["a", "a"]
    assert drain(scheduler) == ["x"]


def test_a_cycle_of_an_open_graph_is_found_before_anything_runs_and_can_be_repaired() -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("free")
    scheduler.submit("a", ["c"])
    scheduler.submit("b", ["a"])
    scheduler.submit("c", ["b"])
    assert scheduler.check() == [["a", "b", "c", "a"]]
    with pytest.raises(DependencyCycle, match="a → b → c → a"):
        scheduler.ready()
    assert scheduler.tasks.state("free") is TaskState.READY
    scheduler.submit("c")
    assert scheduler.check() == []
    assert drain(scheduler) == ["free", "c", "a", "b"]
    assert scheduler.metrics().cycles == 2


def test_after_the_start_an_edge_that_closes_a_cycle_is_refused_at_once() -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("go")
    scheduler.submit("a", ["b"])
    scheduler.ready()
    with pytest.raises(DependencyCycle) as caught:
        scheduler.submit("b", ["a"])
    assert caught.value.path == ["b", "a", "b"]
    assert scheduler.tasks.state("a") is TaskState.WAITING


def test_a_batch_with_a_cycle_or_an_unknown_dependency_changes_nothing() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("old")
    for batch, error in [
        ([("a", ["b"]), ("b", ["c"]), ("c", ["a"])], DependencyCycle),
        ([("a", []), ("b", ["ghost"])], UnknownDependency),
        ([("a", []), ("a", [])], DuplicateTask),
        ([("x", ["old"]), ("old", ["x"])], DependencyCycle),
    ]:
        with pytest.raises(error):
            scheduler.submit_many(batch)
        assert scheduler.tasks.ids() == ["old"]
    assert scheduler.submit_many([TaskSpec("b", ["a"]), TaskSpec("a")]) == [1, 1]
    assert drain(scheduler) == ["old", "a", "b"]


def test_a_failure_blocks_all_that_requires_it_and_names_the_first_cause() -> None:
    scheduler = TaskScheduler(now=lambda: NOON)
    scheduler.submit_many({"a": [], "b": ["a"], "c": ["b"], "free": [], "d": ["c", "free"]})
    scheduler.ready()
    assert scheduler.fail("a", 1, ValueError("no disk")) is TaskState.FAILED
    assert [scheduler.tasks.state(t).value for t in "bcd"] == ["blocked"] * 3
    cause = scheduler.tasks.cause("d")
    assert cause is not None
    assert (cause.task, cause.reason, cause.at) == ("a", "no disk", NOON)
    assert cause.path == ("a", "b", "c", "d")
    scheduler.complete("free", 1)
    assert scheduler.ready() == []
    assert scheduler.metrics().function_failures == 1
    assert scheduler.metrics().blocked == 3
    scheduler.submit("later", ["d"])
    assert scheduler.tasks.state("later") is TaskState.BLOCKED


def test_cancelling_blocks_descendants_and_leaves_other_branches_alone() -> None:
    scheduler = TaskScheduler(now=lambda: NOON)
    scheduler.submit_many({"a": [], "b": ["a"], "c": ["b"], "free": []})
    assert scheduler.cancel("b", by="ann", reason="not needed") is TaskState.CANCELLED
    assert scheduler.tasks.state("c") is TaskState.BLOCKED
    assert drain(scheduler) == ["a", "free"]
    (b, b_cause), (c, c_cause) = scheduler.tasks.audit()
    assert (b, c) == (("b", 1), ("c", 1))
    assert (b_cause.by, b_cause.reason, b_cause.at, b_cause.path) == ("ann", "not needed", NOON, ("b",))
    assert (c_cause.by, c_cause.path) == ("ann", ("b", "c"))


def test_a_running_task_is_cancelled_only_when_its_function_confirms() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.submit("b", ["a"])
    (claim,) = scheduler.ready()
    asked: list[str] = []
    scheduler.attach_stop(claim, lambda: asked.append("stop"))
    with pytest.raises(StateConflict, match="nobody asked it to stop"):
        scheduler.cancel("a", confirmed=True)
    assert scheduler.cancel("a", by="bo", reason="late") is TaskState.RUNNING
    assert scheduler.cancel("a", by="cy", reason="other") is TaskState.RUNNING
    assert asked == ["stop"]
    assert scheduler.tasks.info("a").stop_requested
    assert scheduler.tasks.state("b") is TaskState.PENDING
    assert scheduler.cancel("a", generation=1, confirmed=True) is TaskState.CANCELLED
    assert scheduler.tasks.state("b") is TaskState.BLOCKED
    cause = scheduler.tasks.cause("a")
    assert cause is not None
    assert (cause.by, cause.reason) == ("bo", "late")


def test_a_running_task_asked_to_stop_may_still_succeed() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    (claim,) = scheduler.ready()
    scheduler.cancel("a")
    assert scheduler.complete(*claim) is TaskState.SUCCEEDED
    assert scheduler.tasks.cause("a") is None


def test_optional_dependencies_must_only_end_and_failed_ones_are_listed() -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many([TaskSpec("need"), TaskSpec("nice"), TaskSpec("sum", ["need"], optional=["nice"])])
    scheduler.ready()
    scheduler.complete("need", 1, 42)
    assert scheduler.tasks.state("sum") is TaskState.PENDING
    scheduler.fail("nice", 1, "gone")
    assert scheduler.ready() == [("sum", 1)]
    inputs = scheduler.tasks.inputs("sum")
    assert inputs.results == {"need": 42}
    assert inputs.failed_optional == ("nice",)
    assert scheduler.metrics().optional_failures == 1


def test_edges_can_be_added_while_pending_and_not_later() -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many({"a": [], "x": [], "b": ["a"], "c": ["b"]})
    assert scheduler.add_dependency("b", "x")
    assert not scheduler.add_dependency("b", "x")
    with pytest.raises(DependencyCycle, match="b → c → b"):
        scheduler.add_dependency("b", "c")
    with pytest.raises(UnknownDependency):
        scheduler.add_dependency("b", "ghost")
    with pytest.raises(StateConflict, match="it is ready already"):
        scheduler.add_dependency("a", "x")
    scheduler.complete(*scheduler.ready(1)[0])
    assert scheduler.tasks.state("b") is TaskState.PENDING
    with pytest.raises(UnknownTask):
        scheduler.add_dependency("ghost", "a")
    assert drain(scheduler) == ["x", "b", "c"]


def test_a_second_submission_replaces_a_task_that_has_not_started() -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many({"a": [], "x": [], "b": ["a"], "c": ["b"]})
    assert scheduler.submit("b", ["x"]) == 2
    a, x = scheduler.ready()
    scheduler.complete(*a)
    assert scheduler.metrics().edges_touched == 0, "the old edge is gone"
    assert scheduler.tasks.state("b") is TaskState.PENDING
    scheduler.complete(*x)
    assert scheduler.ready() == [("b", 2)]
    with pytest.raises(GenerationConflict) as caught:
        scheduler.complete("b", 1)
    assert (caught.value.generation, caught.value.current) == (1, 2)
    assert scheduler.metrics().late_callbacks == 1
    assert scheduler.tasks.state("c") is TaskState.PENDING
    assert [info.state.value for info in scheduler.tasks.history("b")] == ["cancelled", "running"]
    scheduler.complete("b", 2)
    assert drain(scheduler) == ["c"]


def test_a_replaced_ready_task_is_claimed_once_and_in_its_new_place() -> None:
    scheduler = TaskScheduler()
    for task in "abc":
        scheduler.submit(task)
    scheduler.submit("a")
    assert scheduler.ready(2) == [("b", 1), ("c", 1)]
    assert scheduler.ready() == [("a", 2)]


def test_a_running_version_is_never_overwritten() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.ready()
    with pytest.raises(GenerationConflict, match="a running version is never overwritten"):
        scheduler.submit("a")
    assert scheduler.complete("a", 1) is TaskState.SUCCEEDED


def test_a_retry_is_a_new_generation_with_a_fresh_check() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.submit("b", ["a"])
    scheduler.ready()
    scheduler.fail("a", 1)
    assert scheduler.submit("a") == 2
    assert scheduler.tasks.state("b") is TaskState.BLOCKED, "a terminal state never comes back"
    assert scheduler.submit("b", ["a"]) == 2
    assert drain(scheduler) == ["a", "b"]
    assert scheduler.tasks.info("b", 1).state is TaskState.BLOCKED


def test_a_submission_that_names_its_generation_is_idempotent() -> None:
    scheduler = TaskScheduler()
    assert scheduler.submit("a", generation=4) == 4
    assert scheduler.submit("a", generation=4) == 4
    assert scheduler.ready() == [("a", 4)]
    assert scheduler.submit("a", generation=4) == 4
    with pytest.raises(GenerationConflict):
        scheduler.submit("a", generation=3)
    with pytest.raises(ValueError, match="generation of 1 or more"):
        scheduler.submit("b", generation=0)
    assert scheduler.metrics().duplicate_submissions == 2


def test_a_strict_scheduler_refuses_duplicates_but_not_a_named_retry() -> None:
    scheduler = TaskScheduler(strict=True)
    scheduler.submit("a")
    for again in (lambda: scheduler.submit("a"), lambda: scheduler.submit("a", generation=2)):
        with pytest.raises(DuplicateTask):
            again()
    scheduler.fail(*scheduler.ready()[0])
    with pytest.raises(DuplicateTask, match="generation=2"):
        scheduler.submit("a")
    assert scheduler.submit("a", generation=2) == 2


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_repeated_callbacks_get_the_known_state(end: str) -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.submit("b", ["a"])
    scheduler.ready()
    calls: dict[str, Callable[[], TaskState]] = {
        "complete": lambda: scheduler.complete("a", 1),
        "fail": lambda: scheduler.fail("a", 1),
        "cancel": lambda: scheduler.cancel("a"),
    }
    if end == "cancel":
        scheduler.cancel("a")
        known = scheduler.cancel("a", confirmed=True)
    else:
        known = calls[end]()
    before = scheduler.tasks.counts()
    assert [call() for call in calls.values()] == [known] * 3
    assert scheduler.tasks.counts() == before
    assert scheduler.metrics().duplicate_callbacks == 3


def test_callbacks_for_what_was_never_claimed_are_refused() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    with pytest.raises(StateConflict, match="it is ready and was not claimed"):
        scheduler.complete("a", 1)
    with pytest.raises(UnknownTask, match="'ghost'"):
        scheduler.fail("ghost", 1)
    with pytest.raises(UnknownTask):
        scheduler.tasks.state("ghost")


def test_a_batch_of_callbacks_records_the_good_ones_and_names_the_first_bad_one() -> None:
    scheduler = TaskScheduler()
    for task in "abc":
        scheduler.submit(task)
    a, b, c = scheduler.ready()
    with pytest.raises(GenerationConflict, match="'b'"):
        scheduler.complete_many([a, ("b", 7), ("ghost", 1), c, c])
    assert [scheduler.tasks.state(t).value for t in "abc"] == ["succeeded", "running", "succeeded"]
    assert scheduler.metrics().duplicate_callbacks == 1
    scheduler.complete_many([b])
    assert scheduler.close(0).finished


def test_claims_never_exceed_the_free_slots() -> None:
    scheduler = TaskScheduler(max_concurrency=2)
    for task in "abcd":
        scheduler.submit(task)
    assert scheduler.ready(10) == [("a", 1), ("b", 1)]
    assert scheduler.ready() == []
    scheduler.complete("a", 1)
    with pytest.raises(CapacityExceeded) as caught:
        scheduler.ready(2, all_or_nothing=True)
    assert (caught.value.requested, caught.value.free) == (2, 1)
    assert scheduler.metrics().claim_conflicts == 1
    assert scheduler.ready(1, all_or_nothing=True) == [("c", 1)]
    scheduler.complete("b", 1)
    scheduler.complete("c", 1)
    assert scheduler.ready(2, all_or_nothing=True) == [], "only one is ready: none is handed out"
    assert scheduler.tasks.state("d") is TaskState.READY


def test_capacity_zero_hands_out_nothing_and_negative_numbers_are_refused() -> None:
    scheduler = TaskScheduler(max_concurrency=0)
    scheduler.submit("a")
    assert scheduler.ready() == []
    with pytest.raises(CapacityExceeded):
        scheduler.ready(1, all_or_nothing=True)
    with pytest.raises(ValueError, match="not -1"):
        TaskScheduler(max_concurrency=-1)
    with pytest.raises(ValueError, match="not -2"):
        scheduler.ready(-2)


@pytest.mark.parametrize("queued", ["cancel", "keep"])
def test_close_refuses_claims_and_submissions_and_drops_nothing_silently(queued: Any) -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit_many({"run": [], "next": ["run"]})
    scheduler.ready()
    scheduler.submit("free")
    scheduler.submit("waits", ["ghost"])
    report = scheduler.close(timeout=0, queued=queued)
    assert not report.finished
    assert report.running == (("run", 1),)
    queue = report.cancelled if queued == "cancel" else report.kept
    assert list(queue) == ["next", "free", "waits"]
    assert all("closed" in reason for reason in queue.values())
    assert scheduler.ready() == []
    with pytest.raises(SchedulerClosed):
        scheduler.ready(1, all_or_nothing=True)
    for refused in (lambda: scheduler.submit("new"), lambda: scheduler.submit_many([("new", [])])):
        with pytest.raises(SchedulerClosed):
            refused()
    assert scheduler.complete("run", 1) is TaskState.SUCCEEDED
    assert scheduler.tasks.state("next") is (TaskState.CANCELLED if queued == "cancel" else TaskState.READY)
    again = scheduler.close()
    assert again.finished
    assert scheduler.tasks.counts()[TaskState.READY] == 0
    with pytest.raises(ValueError, match="'cancel' or 'keep'"):
        scheduler.close(0, queued="burn")  # type: ignore[arg-type]


def test_edges_of_a_batch_mean_the_generations_of_the_batch() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.fail(*scheduler.ready()[0])
    with pytest.raises(DependencyCycle):
        scheduler.submit_many([("b", ["a"]), ("a", ["b"])])
    assert scheduler.submit_many([("b", ["a"]), ("a", [])]) == [1, 2]
    assert scheduler.tasks.state("b") is TaskState.PENDING
    assert drain(scheduler) == ["a", "b"]
