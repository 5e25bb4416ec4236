"""Real task graphs that nobody here wrote: scientific workflows, packages, lock files."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from signoff.core.graph import all_cycle_paths, topological_order
from signoff.scheduler import DependencyCycle, TaskScheduler, TaskState
from tests.conftest import SHARED_MISSING, shared_folder

SHARED = shared_folder()
FOLDER = SHARED / "corpus" / "dags" / "edges" if SHARED else Path("absent")
FILES = sorted(FOLDER.glob("*.json.gz"))

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not FILES, reason=SHARED_MISSING)]


def load(path: Path) -> tuple[dict[Any, list[Any]], dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data = json.load(file)
    nodes = data["nodes"]
    names = range(nodes) if isinstance(nodes, int) else nodes
    graph: dict[Any, list[Any]] = {node: [] for node in names}
    for dependency, task in data["edges"]:
        graph[task].append(dependency)
    return graph, data


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_a_real_graph_runs_in_a_valid_order_or_its_cycles_are_reported(path: Path) -> None:
    graph, data = load(path)
    oracle = nx.DiGraph((dep, task) for task, dependencies in graph.items() for dep in dependencies)
    oracle.add_nodes_from(graph)
    cyclic = [
        part
        for part in nx.strongly_connected_components(oracle)
        if len(part) > 1 or oracle.has_edge(*(2 * tuple(part)))
    ]
    assert bool(cyclic) == bool(data["cyclic"])
    if cyclic:
        check_cycles(graph, [frozenset(part) for part in cyclic])
    else:
        check_order(graph)


def check_order(graph: dict[Any, list[Any]]) -> None:
    scheduler = TaskScheduler()
    scheduler.submit_many(graph)
    done: set[Any] = set()
    while claims := scheduler.ready():
        for task, _ in claims:
            assert done.issuperset(graph[task])
        scheduler.complete_many(claims)
        done.update(task for task, _ in claims)
    assert len(done) == len(graph)
    assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == len(graph)
    assert scheduler.metrics().edges_touched == sum(len(set(deps)) for deps in graph.values())
    order = {task: place for place, task in enumerate(topological_order(successors_of(graph)))}
    assert all(order[dep] < order[task] for task, dependencies in graph.items() for dep in dependencies)


def check_cycles(graph: dict[Any, list[Any]], components: list[frozenset[Any]]) -> None:
    with pytest.raises(DependencyCycle) as caught:
        TaskScheduler().submit_many(graph)
    scheduler = TaskScheduler(open_graph=True)
    for task, dependencies in graph.items():  # a task that needs itself is refused at once, so leave that out
        scheduler.submit(task, [dependency for dependency in dependencies if dependency != task])
    found = scheduler.check()
    for paths in (caught.value.paths, all_cycle_paths(successors_of(graph)), found):
        for path in paths:
            assert path[0] == path[-1]
            assert all(before in graph[after] for before, after in pairwise(path)), "not a real path"
    reported = {frozenset(path) for path in caught.value.paths}
    for component in components:
        assert any(path <= component for path in reported), "a cycle was missed"
    assert len(caught.value.paths) == len(components)
    assert len(found) == sum(len(component) > 1 for component in components)


def successors_of(graph: dict[Any, list[Any]]) -> dict[Any, list[Any]]:
    successors: dict[Any, list[Any]] = {task: [] for task in graph}
    for task, dependencies in graph.items():
        for dependency in dependencies:
            successors[dependency].append(task)
    return successors
