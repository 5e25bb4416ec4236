"""Submission into a stored graph: new tasks, new generations, batches, and edges added later."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from signoff.core.graph import topological_order
from signoff.scheduler.errors import (
    DependencyCycle,
    DuplicateTask,
    GenerationConflict,
    SchedulerClosed,
    SchedulerError,
    StateConflict,
    UnknownDependency,
    UnknownTask,
)
from signoff.scheduler.graph_input import read_tasks
from signoff.scheduler.states import TERMINAL, TaskState
from signoff.scheduler.stored.paths import batch_cycles, path_between
from signoff.scheduler.stored.version import StoredTask, Version
from signoff.scheduler.stored.work import StillSpreading, Work
from signoff.scheduler.submission import as_ids

BAD = TERMINAL - {TaskState.SUCCEEDED}
type Edge = tuple[str, bool]


def read_batch(tasks: Any) -> list[StoredTask]:
    """Stored tasks from any form `TaskScheduler.submit_many` takes, or from `StoredTask`s.

    Raises:
        TypeError: none of these forms, or a task with a function, which cannot be stored.
    """
    if isinstance(tasks, Iterable) and not hasattr(tasks, "keys") and not hasattr(tasks, "is_directed"):
        tasks = list(tasks)
        if all(isinstance(task, StoredTask) for task in tasks):
            return [task for task in tasks if isinstance(task, StoredTask)]
    specs = read_tasks(tasks, None, lambda _: False)
    for spec in specs:
        if spec.function is not None or spec.args or spec.kwargs:
            raise TypeError(
                f"Expected task {spec.task!r} without a function, which cannot be stored. Give it a kind and a "
                "payload (StoredTask), and let the worker choose the function by kind."
            )
    return [
        StoredTask(_text(s.task), s.dependencies, None, s.optional, s.kind, s.tenant, "", s.generation) for s in specs
    ]


def edges_of(task: str, dependencies: Iterable[Any], optional: Iterable[Any]) -> list[Edge]:
    """(dependency, required) in the order given, repeated ones folded, required winning over optional."""
    _text(task)
    required = dict.fromkeys(_text(d) for d in as_ids(task, dependencies))
    weak = dict.fromkeys(_text(d) for d in as_ids(task, optional))
    return [(d, True) for d in required] + [(d, False) for d in weak if d not in required]


def add(work: Work, spec: StoredTask, edges: Sequence[Edge], *, batched: bool = False) -> int:
    """Submit one task; ``batched``: its edges were checked with the batch. Returns its generation."""
    if work.settings.closing:
        raise work.refuse(SchedulerClosed(f"submit task {spec.task!r}"))
    found = work.find_many([spec.task, *(dependency for dependency, _ in edges)])
    node, old = found.get(spec.task, (None, None))
    number, known = check_again(work, spec.task, old, spec.generation)
    if known:
        work.count("duplicate_submissions")
        return number
    if not batched:
        _check_edges(work, spec.task, node, old, edges, found)
    if old is not None:
        _replace(work, old, number)
    if node is None:
        node = work.tables.versions.add_node(spec.task)
    elif old is None and not (batched or work.settings.started) and work.tables.edges.has_open(node):
        work.tables.versions.change_graph(suspect=1)
    _insert(work, spec, number, node, edges, found)
    return number


def _insert(
    work: Work,
    spec: StoredTask,
    number: int,
    node: int,
    edges: Sequence[Edge],
    found: dict[str, tuple[int, Version | None]],
) -> None:
    rows: list[tuple[int, int, int, int]] = []
    via: int | None = None
    unmet = 0
    for position, (dependency, required) in enumerate(edges):
        source, version = found.get(dependency) or (work.tables.versions.add_node(dependency), None)
        waits = version is None or version.state not in TERMINAL
        unmet += waits
        rows.append((source, int(required), int(waits), position))
        if version is not None and version.state in BAD:
            if not required:
                work.count("optional_failures", 1, spec.tenant, spec.kind)
            elif via is None:
                via = version.id
    state = TaskState.BLOCKED if via is not None else TaskState.PENDING if unmet else TaskState.READY
    row = (number, state.value, unmet, spec.tenant, spec.partition, spec.kind, work.at, work.at, via)
    key = work.tables.versions.add(node, row, spec.payload)
    work.tables.edges.add([(source, key, required, waits, position) for source, required, waits, position in rows])
    _, version = work.find(spec.task)
    assert version is not None
    work.retally(version, 1)
    if via is not None:
        work.spread_from(version)


def check_again(work: Work, task: str, old: Version | None, generation: int | None) -> tuple[int, bool]:
    """What a submission of this generation means: (its number, whether it is known already)."""
    if generation is not None and generation < 1:
        raise ValueError(f"Expected a generation of 1 or more for {task!r}, not {generation}.")
    if old is None:
        return generation or 1, False
    if generation == old.generation:
        return old.generation, True
    if generation is not None and generation < old.generation:
        raise work.refuse(GenerationConflict(task, "submit", generation, old.generation), "late_callbacks")
    if old.state is TaskState.RUNNING:
        obstacle = f"generation {old.generation} is running and a running version is never overwritten"
        remedy = "Wait until it ends, or cancel it, and submit again."
        raise work.refuse(
            GenerationConflict(task, "submit", generation, old.generation, obstacle=obstacle, remedy=remedy)
        )
    if work.settings.strict and (generation is None or old.state not in TERMINAL):
        why = f"generation {old.generation} of it is {old.state} and the scheduler is strict"
        remedy = f"Use another id; to retry one that has ended, submit it with generation={old.generation + 1}."
        raise work.refuse(DuplicateTask(task, why, remedy))
    if work.tables.ledger.is_spreading(old.id):
        raise StillSpreading
    return generation or old.generation + 1, False


def _replace(work: Work, old: Version, number: int) -> None:
    """Take the old version out; one that has not started counts as cancelled, its dependents wait for the new one."""
    work.retally(old, -1)
    if old.state in TERMINAL:
        return
    work.touch(old)
    old.state, old.reason, old.cause_at = TaskState.CANCELLED, f"replaced by generation {number}", work.at
    work.tables.edges.close_into(old.id)
    work.count("replaced")


def _check_edges(
    work: Work,
    task: str,
    node: int | None,
    old: Version | None,
    edges: Sequence[Edge],
    found: dict[str, tuple[int, Version | None]],
) -> None:
    goals = set()
    for dependency, _ in edges:
        source, version = found.get(dependency, (None, None))
        if dependency == task or (version is None and not work.settings.open_graph):
            raise work.refuse(edge_error(task, dependency))
        if source is not None and version is not None:
            goals.add(source)
    if goals and node is not None and (old is not None or work.settings.started):
        path = path_between(work.tables, node, goals)
        if path is not None:
            raise work.refuse(DependencyCycle([[task, *path, task]]))


def edge_error(task: str, dependency: str) -> SchedulerError:
    """Why an edge is refused: to itself, or to something nobody submitted."""
    return DependencyCycle([[task, task]]) if dependency == task else UnknownDependency(task, dependency)


def add_batch(work: Work, specs: Sequence[StoredTask]) -> list[int]:
    """Submit every task or, because the transaction is rolled back, none."""
    if work.settings.closing:
        raise work.refuse(SchedulerClosed(f"submit {len(specs)} tasks"))
    edges = {spec.task: edges_of(spec.task, spec.dependencies, spec.optional) for spec in specs}
    if len(edges) < len(specs):
        twice = Counter(spec.task for spec in specs).most_common(1)[0][0]
        raise work.refuse(DuplicateTask(twice, "it occurs twice in one batch", "Submit each id once per batch."))
    names = dict.fromkeys([*edges, *(dependency for listed in edges.values() for dependency, _ in listed)])
    found = work.find_many(list(names))
    batch: dict[str, list[str]] = {}
    for spec in specs:
        _, old = found.get(spec.task, (None, None))
        if check_again(work, spec.task, old, spec.generation)[1]:
            continue
        batch[spec.task] = [dependency for dependency, _ in edges[spec.task]]
        for dependency in batch[spec.task]:
            known = dependency in edges or found.get(dependency, (None, None))[1] is not None
            if not known and not work.settings.open_graph:
                raise work.refuse(UnknownDependency(spec.task, dependency))
    cycles = batch_cycles(work.tables, batch, {task: node for task, (node, _) in found.items()})
    if cycles:
        raise work.refuse(DependencyCycle(cycles))
    again = any(found.get(spec.task, (None, None))[1] is not None for spec in specs)
    given = {spec.task: add(work, spec, edges[spec.task], batched=True) for spec in _entering(specs, edges, again)}
    return [given[spec.task] for spec in specs]


def _entering(specs: Sequence[StoredTask], edges: dict[str, list[Edge]], again: bool) -> Sequence[StoredTask]:
    """The order given; with ids submitted before, dependency order, so that edges mean the new generations."""
    if not again:
        return specs
    rows = {spec.task: spec for spec in specs}
    successors: dict[str, list[str]] = {task: [] for task in rows}
    for task, listed in edges.items():
        for dependency, _ in listed:
            if dependency in rows:
                successors[dependency].append(task)
    return [rows[task] for task in topological_order(successors)]


def add_edge(work: Work, task: str, dependency: str, optional: bool, generation: int | None) -> bool:
    """Add one dependency to a task that has not become ready; see `DurableTaskScheduler.add_dependency`."""
    version = _open_version(work, task, generation)
    into = {name: (required, is_open) for _, name, required, is_open, _ in work.tables.edges.into(version.id)}
    required, is_open = into.get(dependency, (0, 0))
    if required or (dependency in into and optional):
        return False
    source, wanted = work.find(_text(dependency))
    if dependency == task or (wanted is None and not work.settings.open_graph):
        raise work.refuse(edge_error(task, dependency))
    if source is not None:
        path = path_between(work.tables, version.node, {source})
        if path is not None:
            raise work.refuse(DependencyCycle([[task, *path, task]]))
    else:
        source = work.tables.versions.add_node(dependency)
    ended = wanted is not None and wanted.state in TERMINAL
    if dependency in into:
        work.tables.edges.require(source, version.id, len(into))
    else:
        work.tables.edges.add([(source, version.id, int(not optional), int(not ended), len(into))])
        if not ended:
            work.touch(version)
            version.unmet += 1
    if wanted is not None and wanted.state in BAD and not is_open:
        if optional:
            work.count("optional_failures", 1, version.tenant, version.kind)
        else:
            work.end(version, TaskState.BLOCKED, via=wanted.id)
    return True


def _open_version(work: Work, task: str, generation: int | None) -> Version:
    _, version = work.find(_text(task))
    if version is None:
        raise work.refuse(UnknownTask(task, "add a dependency to"))
    if work.settings.closing:
        raise work.refuse(SchedulerClosed(f"add a dependency to task {task!r}"))
    if generation is not None and generation != version.generation:
        raise work.refuse(
            GenerationConflict(task, "add a dependency to", generation, version.generation), "late_callbacks"
        )
    if version.state is not TaskState.PENDING:
        raise work.refuse(
            StateConflict(
                task,
                "add a dependency to",
                f"it is {version.state}",
                "Add edges before its last dependency ends, or submit a new generation.",
            )
        )
    return version


def _text(task: Any) -> str:
    """Ids of a stored graph are text.

    Raises:
        TypeError: something else.
    """
    if not isinstance(task, str):
        raise TypeError(f"Expected a text as id of a task in a stored graph, not {task!r}. Write it as a string.")
    return task
