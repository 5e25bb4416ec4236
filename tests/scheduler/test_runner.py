"""The runner: threads, processes, stop signals, inputs, interrupts, broken pools, progress."""

import os
import threading
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import networkx as nx
import pytest

from signoff.scheduler import DependencyCycle, InputSummary, StopSignal, TaskScheduler, TaskState, TaskStopped


def add(*, inputs: InputSummary, own: int = 1) -> int:
    return own + sum(result or 0 for result in inputs.results.values())


def process_id(inputs: InputSummary) -> tuple[int, list[Any]]:
    return os.getpid(), sorted(inputs.results)


def broken() -> None:
    raise ValueError("no disk")


def die() -> None:
    os._exit(3)


def stop_when_asked(marker: str, stop: StopSignal) -> None:
    open(marker, "x").close()
    while True:
        stop.raise_if_set()


def test_functions_get_the_results_of_their_dependencies() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a", function=add)
    scheduler.submit("b", ["a"], add, kwargs={"own": 10})
    scheduler.submit("gate", ["a", "b"])
    scheduler.submit("c", ["a", "b", "gate"], add)
    report = scheduler.run(2)
    assert (report.succeeded, report.failed, report.unfinished) == (4, {}, 0)
    assert scheduler.tasks.info("c").result == 1 + 1 + 11


def test_a_task_without_a_function_succeeds_at_once() -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many({i: [i - 1] if i else [] for i in range(50)})
    assert scheduler.run(1).succeeded == 50


def test_a_failure_fails_its_task_only() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("bad", function=broken)
    scheduler.submit("after", ["bad"], add)
    scheduler.submit("other", function=add)
    report = scheduler.run(2)
    assert list(report.failed) == ["bad"]
    assert isinstance(report.failed["bad"], ValueError)
    assert scheduler.tasks.state("after") is TaskState.BLOCKED
    assert scheduler.tasks.state("other") is TaskState.SUCCEEDED


def test_never_more_functions_at_once_than_workers_and_slots() -> None:
    lock = threading.Lock()
    counts = {"now": 0, "most": 0}
    both = threading.Barrier(2, timeout=30)

    def work() -> None:
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        both.wait()
        with lock:
            counts["now"] -= 1

    scheduler = TaskScheduler(max_concurrency=2)
    for task in range(10):
        scheduler.submit(task, function=work)
    assert scheduler.run(5).succeeded == 10
    assert counts["most"] == 2


def test_a_stop_signal_reaches_a_running_thread() -> None:
    scheduler = TaskScheduler()
    running = threading.Event()

    def loop(stop: StopSignal) -> None:
        running.set()
        while True:
            stop.raise_if_set()

    def canceller() -> None:
        assert running.wait(30)
        scheduler.cancel("loop", by="ann", reason="enough")

    scheduler.submit("loop", function=loop)
    scheduler.submit("next", ["loop"])
    scheduler.submit("cancel", function=canceller)
    report = scheduler.run(2)
    assert report.cancelled == ("loop",)
    assert report.succeeded == 1
    assert scheduler.tasks.state("next") is TaskState.BLOCKED
    (_, first), _ = scheduler.tasks.audit()
    assert (first.by, first.reason) == ("ann", "enough")


def test_stopping_without_being_asked_is_a_failure() -> None:
    def stop_anyway() -> None:
        raise TaskStopped

    scheduler = TaskScheduler()
    scheduler.submit("a", function=stop_anyway)
    assert isinstance(scheduler.run(1).failed["a"], TaskStopped)


@pytest.mark.process
def test_processes_run_functions_and_see_stop_signals(tmp_path: Any) -> None:
    marker = tmp_path / "begun"
    scheduler = TaskScheduler()
    scheduler.submit("first", function=process_id)
    scheduler.submit("second", ["first"], process_id)
    scheduler.submit("loop", function=stop_when_asked, args=(str(marker),))

    def cancel_when_begun() -> None:
        while not marker.exists():
            pass
        scheduler.cancel("loop", by="ann")

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        canceller = threading.Thread(target=cancel_when_begun)
        canceller.start()
        report = scheduler.run(pool)
        canceller.join(30)
    assert report.cancelled == ("loop",)
    pid, inputs = scheduler.tasks.info("second").result
    assert pid != os.getpid()
    assert inputs == ["first"]


@pytest.mark.process
def test_a_pool_that_dies_fails_what_it_held_and_keeps_the_rest() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("die", function=die)
    for task in range(20):
        scheduler.submit(task, function=os.getpid)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(BrokenExecutor):
        scheduler.run(pool, concurrency=2)
    counts = scheduler.tasks.counts()
    assert counts[TaskState.RUNNING] == 0
    assert scheduler.tasks.state("die") is TaskState.FAILED
    assert counts[TaskState.READY] >= 17
    assert scheduler.run(1).unfinished == 0


class Interrupting(ThreadPoolExecutor):
    """Stands for a user who presses Ctrl-C while the third task is handed over."""

    count = 0

    def submit(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        Interrupting.count += 1
        if Interrupting.count == 3:
            raise KeyboardInterrupt
        return super().submit(*args, **kwargs)


def test_an_interrupt_leaves_nothing_running() -> None:
    def wait(stop: Any) -> None:
        while True:
            stop.raise_if_set()

    scheduler = TaskScheduler()
    for task in range(5):
        scheduler.submit(task, function=wait)
    with Interrupting(1) as pool, pytest.raises(KeyboardInterrupt):
        scheduler.run(pool, concurrency=3)
    counts = scheduler.tasks.counts()
    assert counts[TaskState.RUNNING] == 0
    assert counts[TaskState.CANCELLED] == 3
    assert counts[TaskState.READY] == 2


def test_graphs_of_other_libraries_are_run() -> None:
    seen: list[Any] = []
    scheduler = TaskScheduler()
    scheduler.submit_many(nx.DiGraph([("a", "b"), ("b", "c")]), seen.append)
    scheduler.submit_many({"e": {"d"}, "d": {"c"}}, seen.append)
    assert scheduler.run(1).succeeded == 5
    assert seen == ["a", "b", "c", "d", "e"]
    with pytest.raises(TypeError, match="no direction"):
        scheduler.submit_many(nx.Graph([(1, 2)]))
    with pytest.raises(TypeError, match="but got int"):
        scheduler.submit_many(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pair"):
        scheduler.submit_many(["abc"])  # type: ignore[list-item]


def test_a_cycle_is_refused_before_anything_runs() -> None:
    ran: list[int] = []
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("free", function=ran.append, args=(1,))
    scheduler.submit("a", ["b"])
    scheduler.submit("b", ["a"])
    with pytest.raises(DependencyCycle):
        scheduler.run(1)
    assert ran == []


def test_wrong_numbers_of_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        TaskScheduler().run(0)
    with pytest.raises(ValueError, match="at least 1"):
        TaskScheduler().run(1, concurrency=0)


def test_progress_is_drawn_only_when_wanted_or_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for wanted in (None, True):
        scheduler = TaskScheduler()
        scheduler.submit_many({i: [] for i in range(120)})
        scheduler.run(1, progress=wanted)
        drawn = capsys.readouterr().err
        assert ("tasks" in drawn) is (wanted is True)
