"""Edges added to a task after it was submitted (T11)."""

from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.endings import spread
from signoff.scheduler.errors import (
    DependencyCycle,
    GenerationConflict,
    SchedulerClosed,
    StateConflict,
    UnknownDependency,
    UnknownTask,
)
from signoff.scheduler.propagation import path_between
from signoff.scheduler.resubmission import link_optional
from signoff.scheduler.states import BLOCKED, PENDING, SUCCEEDED, TaskState


def add_edge(core: SchedulerCore, task: Any, dependency: Any, optional: bool, generation: int | None) -> bool:
    """Add one dependency to a task that has not become ready; see ``TaskScheduler.add_dependency``."""
    table = core.table
    slot = _open_slot(core, task, generation)
    if dependency in table.dependencies[slot]:
        return False
    known = dependency in table.optional.get(slot, ())
    if known and optional:
        return False
    source = _checked_source(core, slot, task, dependency)
    if known:
        return _make_required(core, slot, dependency)
    before = table.state_of(slot)
    if optional:
        table.optional[slot] = (*table.optional.get(slot, ()), dependency)
        table.missing[slot] += link_optional(core, slot, dependency)
        core.unusual = core.watched = True
    else:
        table.dependencies[slot] = (*table.dependencies[slot], dependency)
        table.missing[slot] += table.link(slot, dependency)
        if source is not None and table.state[source] > SUCCEEDED:
            _block(core, slot, source, before)
    if core.feed.listeners and before is TaskState.PENDING and source is None:
        core.note(slot, before, TaskState.WAITING)
    return True


def _open_slot(core: SchedulerCore, task: Any, generation: int | None) -> int:
    """Find a version that may still get edges."""
    wanted = "add a dependency to"
    table = core.table
    slot = table.find(task)
    if slot is None:
        raise core.refuse(UnknownTask(task, wanted))
    if core.closing:
        raise core.refuse(SchedulerClosed(f"{wanted} task {task!r}"))
    current = table.generation_of(slot)
    if generation is not None and generation != current:
        core.meter.counts["late_callbacks"] += 1
        raise GenerationConflict(task, wanted, generation, current)
    if table.state[slot] != PENDING:
        state = table.state_of(slot)
        remedy = "Submit a new generation with all its dependencies."
        raise core.refuse(StateConflict(task, wanted, f"it is {state} already", remedy))
    return slot


def _checked_source(core: SchedulerCore, slot: int, task: Any, dependency: Any) -> int | None:
    """Slot of the dependency, None if it is awaited; refuses what must not become an edge."""
    table = core.table
    if dependency == task:
        raise core.refuse(DependencyCycle([[task, task]]))
    source = table.find(dependency)
    if source is None:
        if not core.open_graph:
            raise core.refuse(UnknownDependency(task, dependency))
        return None
    path = path_between(table, [slot], {source})
    if path is not None:
        raise core.refuse(DependencyCycle([[*(table.ids[step] for step in path), task]]))
    return source


def _make_required(core: SchedulerCore, slot: int, dependency: Any) -> bool:
    """Turn an optional edge into a required one."""
    table = core.table
    before = table.state_of(slot)
    waited_for = table.drop_optional(slot, dependency)
    table.dependencies[slot] = (*table.dependencies[slot], dependency)
    table.missing[slot] += table.link(slot, dependency) - waited_for
    source = table.find(dependency)
    if source is not None and table.state[source] > SUCCEEDED:
        _block(core, slot, source, before)
    return True


def _block(core: SchedulerCore, slot: int, source: int, before: TaskState) -> None:
    table = core.table
    table.blocked_via[slot] = source
    table.state[slot] = BLOCKED
    if core.feed.listeners:
        core.note(slot, before, TaskState.BLOCKED)
    spread(core, slot)
