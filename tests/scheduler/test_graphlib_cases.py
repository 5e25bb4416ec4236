"""The situations CPython's ``test_graphlib`` covers, put to the scheduler in its own words.

Where graphlib and the scheduler differ on purpose, the test says so.
"""

from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.scheduler import DependencyCycle, StateConflict, TaskScheduler, TaskState, UnknownTask


def layers(graph: Any) -> list[set[Any]]:
    """Claim everything, finish everything, again: what became ready together."""
    scheduler = TaskScheduler()
    scheduler.submit_many(graph)
    found = []
    while claims := scheduler.ready():
        found.append({task for task, _ in claims})
        scheduler.complete_many(claims)
    return found


def graphlib_layers(graph: Any) -> list[set[Any]]:
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    found = []
    while sorter.is_active():
        nodes = sorter.get_ready()
        found.append(set(nodes))
        sorter.done(*nodes)
    return found


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({}, []),
        ({1: {}}, [{1}]),
        ({2: {11}, 9: {11, 8}, 10: {11, 3}, 11: {7, 5}, 8: {7, 3}}, [{3, 5, 7}, {8, 11}, {2, 9, 10}]),
        ({"x": {"y"}, "y": {"z"}}, [{"z"}, {"y"}, {"x"}]),
        ({0: [1, 2], 1: [3], 2: [5, 6], 4: [3], 5: [7], 3: [8]}, [{6, 7, 8}, {3, 5}, {1, 2, 4}, {0}]),
        ({i: range(i) for i in range(6)}, [{i} for i in range(6)]),
    ],
    ids=["empty", "one node", "textbook", "implied nodes", "uneven", "complete"],
)
def test_what_becomes_ready_together(graph: Any, expected: list[set[Any]]) -> None:
    assert layers(graph) == expected
    assert graphlib_layers(graph) == expected


def test_two_graphs_in_one() -> None:
    assert layers({"a": {"b"}, "b": {"c"}, 1: {2}}) == [{"c", 2}, {"b", 1}, {"a"}]


def test_dependencies_named_twice_count_once() -> None:
    assert layers({1: [2, 2, 3, 3], 2: [3, 3]}) == [{3}, {2}, {1}]


def test_dependencies_given_in_pieces() -> None:
    """The standard library adds up repeated ``add`` calls; here a submission says all, and an edge is added by name."""
    scheduler = TaskScheduler()
    for task in (1, 2, 3):
        scheduler.submit(task)
    scheduler.submit(4, [1])
    scheduler.add_dependency(4, 2)
    scheduler.add_dependency(4, 3)
    scheduler.complete_many(scheduler.ready())
    assert scheduler.ready() == [(4, 1)]


@pytest.mark.parametrize(
    ("graph", "length"),
    [
        ({1: {1}}, 1),
        ({1: {2}, 2: {1}}, 2),
        ({1: {2}, 2: {3}, 3: {1}}, 3),
        ({1: {2}, 2: {3}, 3: {1}, 5: {4}, 4: {6}}, 3),
        ({1: {2}, 2: {1}, 3: {4}, 4: {5}, 6: {7}, 7: {6}}, 2),
        ({1: {2}, 2: {3}, 3: {2, 4}, 4: {5}}, 2),
    ],
    ids=["self", "two", "three", "beside a good part", "two cycles", "with a tail"],
)
def test_cycles_are_refused_with_a_real_path(graph: dict[int, set[int]], length: int) -> None:
    with pytest.raises(DependencyCycle) as caught:
        layers(graph)
    path = caught.value.path
    assert len(path) == length + 1
    assert path[0] == path[-1]
    assert all(before in graph[after] for before, after in pairwise(path))


def test_calls_in_the_wrong_order_are_refused() -> None:
    scheduler = TaskScheduler()
    with pytest.raises(UnknownTask):
        scheduler.complete(1, 1)
    scheduler.submit_many({1: {2}, 2: set()})
    with pytest.raises(StateConflict):
        scheduler.complete(1, 1)
    scheduler.ready()
    scheduler.complete(2, 1)
    assert scheduler.complete(2, 1) is TaskState.SUCCEEDED, "graphlib raises here; a repeated callback is legal"


def test_adding_after_the_start_is_legal_here_and_not_in_graphlib() -> None:
    scheduler = TaskScheduler()
    scheduler.submit("a")
    scheduler.ready()
    scheduler.submit("b", ["a"])
    assert scheduler.tasks.state("b") is TaskState.PENDING


def test_unhashable_ids_are_refused() -> None:
    scheduler = TaskScheduler()
    with pytest.raises(TypeError):
        scheduler.submit([])  # type: ignore[arg-type]
    scheduler.submit("a")
    with pytest.raises(TypeError):
        scheduler.submit("b", ["a", {}])  # type: ignore[list-item]
    assert scheduler.tasks.ids() == ["a"]
    scheduler.complete_many(scheduler.ready())
    assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == 1


def test_the_order_is_the_same_in_every_run() -> None:
    graph = {"d": ["c", "b"], "c": ["a"], "b": ["a"], "a": [], "z": []}
    scheduler = TaskScheduler()
    scheduler.submit_many(graph)
    order: list[Any] = []
    while claims := scheduler.ready(1):
        order += [task for task, _ in claims]
        scheduler.complete_many(claims)
    assert order == ["a", "c", "b", "d", "z"]


@given(st.dictionaries(st.integers(0, 15), st.sets(st.integers(0, 15), max_size=4), max_size=16))
def test_layers_are_those_of_graphlib(graph: dict[int, set[int]]) -> None:
    try:
        expected: list[set[int]] | None = graphlib_layers(graph)
    except ValueError:
        expected = None
    if expected is None:
        with pytest.raises(DependencyCycle):
            layers(graph)
    else:
        assert layers(graph) == expected
