"""Many tasks at once: all of them or none; dependencies may point forward inside the batch."""

from collections.abc import Iterable
from typing import Any

from signoff.core.graph import topological_order
from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.cycles import batch_cycle_paths, is_acyclic
from signoff.scheduler.errors import DependencyCycle, DuplicateTask, SchedulerClosed, UnknownDependency
from signoff.scheduler.graph_input import Batch
from signoff.scheduler.records import TaskSpec, Work
from signoff.scheduler.resubmission import check_again
from signoff.scheduler.submission import add
from signoff.scheduler.table import FIRST_GENERATION


def add_batch(core: SchedulerCore, batch: Batch) -> list[int]:
    """Submit every task or, if one of them cannot be, none; returns their generations in the order given."""
    ids, edges, specs = batch.ids, batch.edges, batch.specs
    if core.closing:
        raise core.refuse(SchedulerClosed(f"submit {len(ids)} tasks"))
    position = dict(zip(ids, range(len(ids)), strict=True))
    if len(position) < len(ids):
        twice = next(task for place, task in enumerate(ids) if position[task] != place)
        raise core.refuse(DuplicateTask(twice, "it occurs twice in one batch", "Submit each id once per batch."))
    touched = core.table.index.keys() & position.keys()
    _check(core, batch, position, touched)
    suspect = core.suspect
    core.accept_unknown = core.trusted = True
    try:
        for place in _entering_order(core, batch, position, touched):
            spec = specs.get(place) if specs else None
            if spec is None:
                add(core, ids[place], edges[place], (), None)
            else:
                slot = add(core, ids[place], edges[place], batch.optional(place), spec.generation)
                remember_work(core, slot, spec)
    finally:
        core.accept_unknown = core.open_graph
        core.trusted = False
        core.suspect = suspect
    table = core.table
    if not table.generation:
        return [FIRST_GENERATION] * len(ids)
    return [table.generation_of(table.index[task]) for task in ids]


def _entering_order(core: SchedulerCore, batch: Batch, position: dict[Any, int], touched: set[Any]) -> Iterable[int]:
    """The order given; with ids submitted before, dependency order, so that edges mean the new generations."""
    if all(core.table.find(task) is None for task in touched):
        return range(len(position))
    successors: dict[int, list[int]] = {place: [] for place in range(len(position))}
    for place, dependencies in enumerate(batch.edges):
        for dependency in (*dependencies, *batch.optional(place)):
            if dependency in position:
                successors[position[dependency]].append(place)
    return topological_order(successors)


def remember_work(core: SchedulerCore, slot: int, spec: TaskSpec) -> None:
    """Keep what a runner needs to know about a task, if there is anything to keep."""
    if spec.function is None and not (spec.kind or spec.tenant):
        return
    if slot not in core.table.work:
        core.table.work[slot] = Work(spec.function, tuple(spec.args), dict(spec.kwargs or {}), spec.kind, spec.tenant)


def _check(core: SchedulerCore, batch: Batch, position: dict[Any, int], touched: set[Any]) -> None:
    """Refuse the whole batch before anything is changed; `touched` are its ids that the table knows or awaits."""
    table = core.table
    known = set()
    for place in sorted({*(position[task] for task in touched), *batch.specs}):
        spec = batch.specs.get(place)
        number = spec.generation if spec else None
        task = batch.ids[place]
        if (task in touched or number is not None) and check_again(core, task, number)[1] is not None:
            known.add(place)
    touches = bool(touched) or not position.keys().isdisjoint(table.optional_awaited)
    if not (_points_forward(core, batch, position, known) or touches):
        return
    if not touches and not batch.specs and is_acyclic(position, batch.edges):
        return
    wanted = {
        task: (*batch.edges[place], *batch.optional(place))
        for place, task in enumerate(batch.ids)
        if place not in known
    }
    paths = batch_cycle_paths(table, wanted)
    if paths:
        raise core.refuse(DependencyCycle(paths))


def _points_forward(core: SchedulerCore, batch: Batch, position: dict[Any, int], known: set[int]) -> bool:
    """Whether some task of the batch depends on itself or on a later one; unknown dependencies are refused."""
    table, find = core.table, position.get
    forward = False
    for place, dependencies in enumerate(batch.edges):
        if place in known:
            continue
        for dependency in (*dependencies, *batch.optional(place)) if batch.specs else dependencies:
            at = find(dependency)
            if at is None:
                if not core.open_graph and table.find(dependency) is None:
                    raise core.refuse(UnknownDependency(batch.ids[place], dependency))
            elif at >= place:
                forward = True
    return forward
