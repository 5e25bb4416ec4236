"""Metrics, listeners and the transition table."""

import itertools
import logging
import threading
from typing import Any

import pytest

from signoff.scheduler import StateChange, TaskScheduler, TaskSpec, TaskState, UnknownDependency
from signoff.scheduler.states import ALLOWED, TERMINAL, TRANSITIONS, state_diagram


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_durations_are_measured_by_type_and_tenant() -> None:
    clock = Clock()
    scheduler = TaskScheduler(clock=clock)
    scheduler.submit("a", kind="mail", tenant="north")
    scheduler.submit("b", ["a"], kind="mail", tenant="south")
    scheduler.submit("c", ["a"])
    clock.now = 2.0
    scheduler.ready()
    clock.now = 5.0
    scheduler.complete("a", 1)
    clock.now = 6.0
    scheduler.ready(1)
    clock.now = 9.0
    scheduler.ready()
    scheduler.complete_many([("b", 1)])
    scheduler.fail("c", 1)
    metrics = scheduler.metrics()
    assert (metrics.ready_wait.count, metrics.ready_wait.total_s, metrics.ready_wait.longest_s) == (3, 7.0, 4.0)
    assert (metrics.run_time.count, metrics.run_time.total_s, metrics.run_time.longest_s) == (3, 6.0, 3.0)
    assert metrics.ready_wait.mean_s == 7.0 / 3
    assert set(metrics.groups) == {("mail", "north"), ("mail", "south"), ("", "")}
    assert metrics.groups["mail", "north"].run_time.total_s == 3.0
    assert metrics.groups["mail", "south"].ready_wait.total_s == 1.0
    assert metrics.groups["", ""].states[TaskState.FAILED] == 1
    assert metrics.states == scheduler.tasks.counts()


def test_one_group_when_no_task_has_a_type() -> None:
    scheduler = TaskScheduler()
    assert scheduler.metrics().groups == {}
    scheduler.submit("a")
    scheduler.ready()
    assert scheduler.metrics().groups["", ""].ready_wait.count == 1


def test_propagation_is_measured_per_edge() -> None:
    ticks = itertools.count()
    scheduler = TaskScheduler(clock=lambda: float(next(ticks)))
    scheduler.submit_many({"a": [], "b": ["a"], "c": ["a"]})
    scheduler.ready()
    scheduler.complete("a", 1)
    metrics = scheduler.metrics()
    assert metrics.edges_touched == 2
    assert metrics.propagation_s > 0
    assert metrics.propagation_per_edge_s == metrics.propagation_s / 2


def test_without_timings_no_clock_is_read() -> None:
    def no_clock() -> float:
        raise AssertionError("the clock was read")

    scheduler = TaskScheduler(clock=no_clock, timings=False)
    scheduler.submit_many({"a": [], "b": ["a"], "x": [], "y": ["x"]})
    scheduler.ready()
    scheduler.complete("a", 1)
    scheduler.fail("x", 1)
    assert scheduler.metrics().run_time.count == 0
    assert scheduler.metrics().propagation_per_edge_s == 0


def test_graph_errors_are_counted_apart_from_function_failures() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    for _ in range(2):
        with pytest.raises(UnknownDependency):
            scheduler.submit("b", ["ghost"])
    scheduler.fail(*scheduler.ready()[0])
    metrics = scheduler.metrics()
    assert metrics.graph_errors == {"scheduler.unknown_dependency": 2}
    assert metrics.function_failures == 1
    assert metrics.lease_expiries == 0


def test_listeners_hear_every_change_in_order_and_may_use_the_scheduler() -> None:
    scheduler = TaskScheduler()
    heard: list[StateChange] = []

    def listen(change: StateChange) -> None:
        heard.append(change)
        if (change.task, change.target) == ("a", TaskState.SUCCEEDED):
            scheduler.submit("more", ["b"])

    unsubscribe = scheduler.subscribe(listen)
    scheduler.submit_many([TaskSpec("a"), TaskSpec("b", ["a"])])
    scheduler.complete(*scheduler.ready()[0])
    assert [(change.task, change.source, change.target) for change in heard] == [
        ("a", None, "ready"),
        ("b", None, "pending"),
        ("a", "ready", "running"),
        ("a", "running", "succeeded"),
        ("b", "pending", "ready"),
        ("more", None, "pending"),
    ]
    unsubscribe()
    unsubscribe()
    scheduler.submit("silent")
    assert len(heard) == 6


def test_a_listener_that_fails_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    def bad(change: StateChange) -> None:
        raise RuntimeError("listener broke")

    scheduler = TaskScheduler()
    heard: list[Any] = []
    scheduler.subscribe(bad)
    scheduler.subscribe(heard.append)
    with caplog.at_level(logging.ERROR):
        scheduler.submit("a")
    assert "listener broke" in caplog.text
    assert len(heard) == 1
    assert scheduler.metrics().listener_errors == 1


def test_listeners_are_called_outside_the_lock() -> None:
    scheduler = TaskScheduler()
    answers: list[TaskState] = []

    def ask_from_another_thread(change: StateChange) -> None:
        asking = threading.Thread(target=lambda: answers.append(scheduler.tasks.state("a")))
        asking.start()
        asking.join(30)

    scheduler.subscribe(ask_from_another_thread)
    scheduler.submit("a")
    assert answers == [TaskState.READY]


def test_the_transition_table_goes_forward_only() -> None:
    for change in TRANSITIONS:
        assert change.source not in TERMINAL
    rank = {state: place for place, state in enumerate(TaskState)}
    backward = {(a, b) for a, b in ALLOWED if a is not None and rank[b] <= rank[a]}
    assert backward == {(TaskState.PENDING, TaskState.WAITING)}, "add_dependency on an id not submitted yet"
    assert {target for _, target in ALLOWED} == set(TaskState)


def test_the_diagram_shows_every_transition() -> None:
    diagram = state_diagram()
    for change in TRANSITIONS:
        source = change.source.value if change.source else "[*]"
        assert f"{source} --> {change.target.value}: " in diagram
    assert diagram.count("-->") == len(TRANSITIONS) + len(TERMINAL)


def test_an_inspection_answers_for_unknown_dependencies_and_old_generations() -> None:
    scheduler = TaskScheduler(open_graph=True)
    scheduler.submit("a", ["ghost"], optional=["wish"])
    scheduler.submit("a", ["ghost"], optional=["wish"])
    inputs = scheduler.tasks.inputs("a")
    assert [(item.task, item.state, item.required) for item in inputs.dependencies] == [
        ("ghost", None, True),
        ("wish", None, False),
    ]
    assert inputs.failed_optional == ()
    assert scheduler.tasks.unknown() == {"ghost": ["a"], "wish": ["a"]}
    old = scheduler.tasks.info("a", 1)
    assert old.cause is not None
    assert old.cause.reason == "replaced by generation 2"
    assert scheduler.tasks.generation("a") == 2
    assert "ghost" not in scheduler.tasks
    with pytest.raises(Exception, match="generation 3"):
        scheduler.tasks.info("a", 3)
