"""Many tasks at once: all of them or none; dependencies may point forward inside the batch."""

from collections.abc import Iterable, Sequence
from typing import Any

from signoff.core.graph import topological_order
from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.cycles import batch_cycle_paths
from signoff.scheduler.errors import DependencyCycle, DuplicateTask, SchedulerClosed, UnknownDependency
from signoff.scheduler.records import TaskSpec, Work
from signoff.scheduler.resubmission import check_again
from signoff.scheduler.submission import Ids, add, as_ids


def add_batch(core: SchedulerCore, specs: Sequence[TaskSpec]) -> list[int]:
    """Submit every spec or, if one of them cannot be, none; returns their generations in the order given."""
    if core.closing:
        raise core.refuse(SchedulerClosed(f"submit {len(specs)} tasks"))
    edges = [(as_ids(spec.task, spec.dependencies), as_ids(spec.task, spec.optional)) for spec in specs]
    _check(core, specs, edges)
    suspect = core.suspect
    core.accept_unknown = core.trusted = True
    try:
        for spec, dependencies, optional in _entering_order(core, specs, edges):
            slot = add(core, spec.task, dependencies, optional, spec.generation)
            remember_work(core, slot, spec)
    finally:
        core.accept_unknown = core.open_graph
        core.trusted = False
        core.suspect = suspect
    table = core.table
    return [table.generation_of(table.index[spec.task]) for spec in specs]


def _entering_order(
    core: SchedulerCore, specs: Sequence[TaskSpec], edges: Sequence[tuple[Ids, Ids]]
) -> Iterable[tuple[TaskSpec, Ids, Ids]]:
    """The order given; with ids submitted before, dependency order, so that edges mean the new generations."""
    rows = {spec.task: (spec, *pair) for spec, pair in zip(specs, edges, strict=True)}
    if any(core.table.find(task) is not None for task in rows):
        successors: dict[Any, list[Any]] = {task: [] for task in rows}
        for task, (_, dependencies, optional) in rows.items():
            for dependency in (*dependencies, *optional):
                if dependency in rows:
                    successors[dependency].append(task)
        return [rows[task] for task in topological_order(successors)]
    return rows.values()


def remember_work(core: SchedulerCore, slot: int, spec: TaskSpec) -> None:
    """Keep what a runner needs to know about a task, if there is anything to keep."""
    if spec.function is None and not (spec.kind or spec.tenant):
        return
    if slot not in core.table.work:
        core.table.work[slot] = Work(spec.function, tuple(spec.args), dict(spec.kwargs or {}), spec.kind, spec.tenant)


def _check(
    core: SchedulerCore,
    specs: Sequence[TaskSpec],
    edges: Sequence[tuple[Ids, Ids]],
) -> None:
    """Refuse the whole batch before anything is changed."""
    table = core.table
    index = table.index
    position = {spec.task: place for place, spec in enumerate(specs)}
    if len(position) < len(specs):
        twice = next(spec.task for place, spec in enumerate(specs) if position[spec.task] != place)
        raise core.refuse(DuplicateTask(twice, "it occurs twice in one batch", "Submit each id once per batch."))
    known = set()
    could_cycle = not position.keys().isdisjoint(table.optional_awaited)
    for place, (spec, (dependencies, optional)) in enumerate(zip(specs, edges, strict=True)):
        if spec.task in index or spec.generation is not None:
            could_cycle = True
            if check_again(core, spec.task, spec.generation)[1] is not None:
                known.add(spec.task)
                continue
        for dependency in (*dependencies, *optional) if optional else dependencies:
            at = position.get(dependency)
            if at is None:
                if not core.open_graph and table.find(dependency) is None:
                    raise core.refuse(UnknownDependency(spec.task, dependency))
            elif at >= place:
                could_cycle = True
    if could_cycle:
        batch = {
            spec.task: (*dependencies, *optional)
            for spec, (dependencies, optional) in zip(specs, edges, strict=True)
            if spec.task not in known
        }
        paths = batch_cycle_paths(table, batch)
        if paths:
            raise core.refuse(DependencyCycle(paths))
