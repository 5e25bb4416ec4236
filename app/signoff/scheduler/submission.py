"""Submission of one task: a new id (the hot path) or a new generation of a known one."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.endings import spread
from signoff.scheduler.errors import (
    DependencyCycle,
    DuplicateTask,
    GenerationConflict,
    SchedulerClosed,
    SchedulerError,
    UnknownDependency,
)
from signoff.scheduler.propagation import path_between
from signoff.scheduler.states import BLOCKED, READY, RUNNING, SUCCEEDED, TaskState
from signoff.scheduler.table import FIRST_GENERATION


def as_ids(task: Hashable, dependencies: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Check that dependencies are a collection of ids and not one id by mistake.

    Raises:
        TypeError: a string or bytes was given where a collection of ids is expected.
    """
    if isinstance(dependencies, str | bytes):
        raise TypeError(
            f"Expected the dependencies of task {task!r} as a collection of ids, but got the single value "
            f"{dependencies!r}. Write ({dependencies!r},)."
        )
    return tuple(dependencies)


def add(
    core: SchedulerCore,
    task: Any,
    dependencies: tuple[Any, ...],
    optional: tuple[Any, ...],
    generation: int | None,
) -> int:
    """Register one task version and its edges; returns its slot, or that of the known one (repeated submission).

    A new id with required dependencies costs one pass over them and nothing else. All checks that can refuse
    come before the first change, except the unknown dependency, whose links are taken back.
    """
    table = core.table
    index, awaited = table.index, table.awaited
    if core.closing:
        raise core.refuse(SchedulerClosed(f"submit task {task!r}"))
    if task in index or optional or generation is not None or (core.started and _is_awaited(core, task)):
        known = _prepare(core, task, dependencies, optional, generation)
        if known is not None:
            return known
    slot = table.size
    if slot == table.capacity:
        table.grow()
    find, state, after = index.get, table.state, table.after
    missing = table.missing[slot]
    bad = -1
    for dependency in dependencies:
        source = find(dependency)
        if source is None:
            if not core.accept_unknown or dependency == task:
                _undo(core, slot, dependencies)
                raise core.refuse(_refused_edge(task, dependency))
            targets = awaited.get(dependency)
            if targets is None:
                awaited[dependency] = [slot]
                missing += 1
            elif targets[-1] != slot:
                targets.append(slot)
                missing += 1
        elif (code := state[source]) < SUCCEEDED:
            targets = after[source]
            if targets is None:
                after[source] = [slot]
                missing += 1
            elif targets[-1] != slot:
                targets.append(slot)
                missing += 1
        elif code != SUCCEEDED and bad < 0:
            bad = source
    index[task] = slot
    table.ids[slot] = task
    table.size = slot + 1
    if dependencies:
        table.dependencies[slot] = dependencies
    if missing:
        table.missing[slot] = missing
    elif bad < 0:
        state[slot] = READY
        core.fresh.append(slot)
        if core.timings:
            table.since[slot] = core.clock()
    if awaited or table.optional_awaited:
        _adopt(core, task, slot, missing)
    if bad >= 0:
        table.blocked_via[slot] = bad
        state[slot] = BLOCKED
    if core.feed.listeners:
        core.note(slot, None, table.state_of(slot))
    if bad >= 0:
        spread(core, slot)
    return slot


def check_again(core: SchedulerCore, task: Any, generation: int | None) -> tuple[int, int | None]:
    """Decide what a second submission of an id means.

    Returns:
        the generation number it gets (or has), and the slot if it is the known one again, else None.

    Raises:
        ValueError: a generation below 1.
        GenerationConflict: the named generation is an older one, or the current one is running.
        DuplicateTask: strict scheduler.
    """
    if generation is not None and generation < FIRST_GENERATION:
        raise ValueError(f"Expected a generation of {FIRST_GENERATION} or more for task {task!r}, not {generation}.")
    table = core.table
    slot = table.index.get(task)
    if slot is None:
        return (FIRST_GENERATION if generation is None else generation), None
    current = table.generation_of(slot)
    if generation == current:
        return current, slot
    if generation is not None and generation < current:
        core.meter.counts["late_callbacks"] += 1
        raise GenerationConflict(task, "submit", generation, current)
    code = table.state[slot]
    if code == RUNNING:
        obstacle = f"generation {current} is running and a running version is never overwritten"
        remedy = "Wait until it ends, or cancel it, and submit again."
        raise core.refuse(GenerationConflict(task, "submit", generation, current, obstacle=obstacle, remedy=remedy))
    if core.strict and (generation is None or code < SUCCEEDED):
        why = f"generation {current} of it is {table.state_of(slot)} and the scheduler is strict"
        remedy = f"Use another id; to retry one that has ended, submit it with generation={current + 1}."
        raise core.refuse(DuplicateTask(task, why, remedy))
    return (current + 1 if generation is None else generation), None


def _prepare(
    core: SchedulerCore,
    task: Any,
    dependencies: tuple[Any, ...],
    optional: tuple[Any, ...],
    generation: int | None,
) -> int | None:
    """Do for the slot to come what the hot path does not know: generations, replacement, optional edges.

    Returns:
        the known slot if this submission was made before, else None.
    """
    table = core.table
    number, known = check_again(core, task, generation)
    if known is not None:
        core.meter.counts["duplicate_submissions"] += 1
        return known
    if not core.trusted:
        _check_edges(core, task, (*dependencies, *optional))
    if table.size == table.capacity:
        table.grow()
    slot = table.size
    if number != FIRST_GENERATION:
        table.generation[slot] = number
    old = table.index.get(task)
    if old is not None:
        _replace(core, old, slot, number)
    if optional:
        required = set(dependencies)
        kept = tuple(dict.fromkeys(dep for dep in optional if dep not in required))
        table.optional[slot] = kept
        table.missing[slot] = sum(link_optional(core, slot, dep) for dep in kept)
    return None


def _check_edges(core: SchedulerCore, task: Any, dependencies: tuple[Any, ...]) -> None:
    """Refuse unknown dependencies of a closed graph and edges that would close a cycle."""
    table = core.table
    goals = set()
    for dependency in dependencies:
        source = table.index.get(dependency)
        if dependency == task or (source is None and not core.accept_unknown):
            raise core.refuse(_refused_edge(task, dependency))
        if source is not None:
            goals.add(source)
    old = table.index.get(task)
    if old is not None:
        starts = table.targets(old)
    else:
        starts = [*table.awaited.get(task, ()), *table.optional_awaited.get(task, ())]
    if starts and goals:
        path = path_between(table, starts, goals)
        if path is not None:
            raise core.refuse(DependencyCycle([[task, *(table.ids[slot] for slot in path), task]]))


def _replace(core: SchedulerCore, old: int, new: int, number: int) -> None:
    """Take the old version out of the graph; a version that has not started counts as cancelled."""
    table = core.table
    code = table.state[old]
    if code <= READY:
        if core.feed.listeners:
            core.note(old, table.state_of(old), TaskState.CANCELLED)
        core.meter.counts["replaced"] += 1
        core.stale += code == READY
        table.unlink(old)
        table.cause[old] = core.cause(old, TaskState.CANCELLED, f"replaced by generation {number}")
    table.hand_over(old, new)


def link_optional(core: SchedulerCore, slot: int, dependency: Any) -> int:
    """Register one optional edge; returns 1 if it is still to be waited for, else 0."""
    table = core.table
    source = table.index.get(dependency)
    if source is None:
        table.optional_awaited.setdefault(dependency, []).append(slot)
        return 1
    if table.state[source] < SUCCEEDED:
        table.optional_after.setdefault(source, []).append(slot)
        return 1
    core.meter.counts["optional_failures"] += table.state[source] != SUCCEEDED
    return 0


def _is_awaited(core: SchedulerCore, task: Any) -> bool:
    return task in core.table.awaited or task in core.table.optional_awaited


def _adopt(core: SchedulerCore, task: Any, slot: int, missing: int) -> None:
    """Connect a new task with those that were waiting for it to be submitted."""
    table = core.table
    waiters = table.awaited.pop(task, None)
    if waiters:
        table.after[slot] = waiters
    optional_waiters = table.optional_awaited.pop(task, None) if table.optional_awaited else None
    if optional_waiters:
        table.optional_after[slot] = optional_waiters
    if not waiters and not optional_waiters:
        return
    if missing and not core.started and not core.trusted:
        core.suspect = True
    if core.feed.listeners:
        for waiter in (*(waiters or ()), *(optional_waiters or ())):
            if table.state_of(waiter) is TaskState.PENDING:
                core.note(waiter, TaskState.WAITING, TaskState.PENDING)


def _refused_edge(task: Any, dependency: Any) -> SchedulerError:
    if dependency == task:
        return DependencyCycle([[task, task]])
    return UnknownDependency(task, dependency)


def _undo(core: SchedulerCore, slot: int, dependencies: tuple[Any, ...]) -> None:
    """Take back the links a refused submission has made so far."""
    table = core.table
    for dependency in dependencies:
        source = table.index.get(dependency)
        targets = table.awaited.get(dependency) if source is None else table.after[source]
        if targets and targets[-1] == slot:
            targets.pop()
            if not targets and source is None:
                del table.awaited[dependency]
            elif not targets and source is not None:
                table.after[source] = None
