"""Many tasks at once: all of them or none; dependencies may point forward inside the batch."""

from collections.abc import Sequence

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.cycles import batch_cycle_paths
from signoff.scheduler.errors import DependencyCycle, DuplicateTask, SchedulerClosed, UnknownDependency
from signoff.scheduler.records import TaskSpec, Work
from signoff.scheduler.resubmission import check_again
from signoff.scheduler.submission import add, as_ids


def add_batch(core: SchedulerCore, specs: Sequence[TaskSpec]) -> list[int]:
    """Submit every spec or, if one of them cannot be, none; returns their generations in the order given."""
    if core.closing:
        raise core.refuse(SchedulerClosed(f"submit {len(specs)} tasks"))
    edges = [(as_ids(spec.task, spec.dependencies), as_ids(spec.task, spec.optional)) for spec in specs]
    _check(core, specs, edges)
    suspect = core.suspect
    core.accept_unknown = core.trusted = True
    try:
        generations = []
        for spec, (dependencies, optional) in zip(specs, edges, strict=True):
            slot = add(core, spec.task, dependencies, optional, spec.generation)
            remember_work(core, slot, spec)
            generations.append(core.table.generation_of(slot))
        return generations
    finally:
        core.accept_unknown = core.open_graph
        core.trusted = False
        core.suspect = suspect


def remember_work(core: SchedulerCore, slot: int, spec: TaskSpec) -> None:
    """Keep what a runner needs to know about a task, if there is anything to keep."""
    if spec.function is None and not (spec.kind or spec.tenant):
        return
    if slot not in core.table.work:
        core.table.work[slot] = Work(spec.function, tuple(spec.args), dict(spec.kwargs or {}), spec.kind, spec.tenant)


def _check(
    core: SchedulerCore,
    specs: Sequence[TaskSpec],
    edges: Sequence[tuple[tuple[object, ...], tuple[object, ...]]],
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
