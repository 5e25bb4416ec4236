"""What submission does beyond a new id with required edges: generations, replacement, optional edges, waiting tasks."""

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
from signoff.scheduler.states import BLOCKED, PENDING, READY, RUNNING, SUCCEEDED, TaskState
from signoff.scheduler.table import FIRST_GENERATION, without_target


def check_again(core: SchedulerCore, task: Any, generation: int | None) -> tuple[int, int | None]:
    """Decide what a submission means that names a generation or an id submitted before.

    Returns:
        the generation number it gets (or has), and the slot if it is the known one again, else None.

    Raises:
        ValueError: a generation below 1.
        GenerationConflict: the named generation is an older one, or the current one is running.
        DuplicateTask: strict scheduler.
    """
    if generation is not None and generation < FIRST_GENERATION:
        raise ValueError(f"Expected a generation of {FIRST_GENERATION} or more for {task!r}, not {generation}.")
    table = core.table
    slot = table.find(task)
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
        error = GenerationConflict(task, "submit", generation, current, obstacle=obstacle, remedy=remedy)
        raise core.refuse(error)
    if core.strict and (generation is None or code < SUCCEEDED):
        why = f"generation {current} of it is {table.state_of(slot)} and the scheduler is strict"
        remedy = f"Use another id; to retry one that has ended, submit it with generation={current + 1}."
        raise core.refuse(DuplicateTask(task, why, remedy))
    return (current + 1 if generation is None else generation), None


def prepare(
    core: SchedulerCore,
    task: Any,
    dependencies: tuple[Any, ...],
    optional: tuple[Any, ...],
    generation: int | None,
) -> int | None:
    """Do for the slot to come what the hot path does not know; every refusal happens before the first change.

    Returns:
        the known slot if this submission was made before, else None.
    """
    table = core.table
    if core.closing:
        raise core.refuse(SchedulerClosed(f"submit task {task!r}"))
    number, known = check_again(core, task, generation)
    if known is not None:
        core.meter.counts["duplicate_submissions"] += 1
        return known
    if not core.trusted:
        _check_edges(core, task, (*dependencies, *optional))
    if table.size == table.capacity:
        table.grow(core.timings)
    slot = table.size
    if number != FIRST_GENERATION:
        table.generation[slot] = number
    old = table.find(task)
    if old is not None:
        _replace(core, old, slot, number)
    if optional:
        required = set(dependencies)
        kept = tuple(dict.fromkeys(dep for dep in optional if dep not in required))
        table.optional[slot] = kept
        table.missing[slot] = sum(link_optional(core, slot, dep) for dep in kept)
        core.unusual = core.watched = True
    return None


def settle(core: SchedulerCore, task: Any, slot: int, bad: int) -> None:
    """Finish a submission that is blocked at once, that somebody watches, or in a graph with optional edges."""
    table = core.table
    if task in table.optional_awaited:
        table.optional_after[slot] = table.optional_awaited.pop(task)
        core.suspect = True
    if bad >= 0:
        table.blocked_via[slot] = bad
        table.state[slot] = BLOCKED
    elif not table.missing[slot]:
        table.state[slot] = READY
        core.fresh.append(slot)
        if core.timings:
            table.since[slot] = core.clock()
    if core.feed.listeners:
        core.note(slot, None, table.state_of(slot))
        for waiter in table.targets(slot) if slot not in table.previous else ():
            if table.state_of(waiter) is TaskState.PENDING:
                core.note(waiter, TaskState.WAITING, TaskState.PENDING)
    if bad >= 0:
        spread(core, slot)


def link_optional(core: SchedulerCore, slot: int, dependency: Any) -> int:
    """Register one optional edge; returns 1 if it is still to be waited for, else 0."""
    table = core.table
    source = table.find(dependency)
    if source is None:
        table.optional_awaited.setdefault(dependency, []).append(slot)
        return 1
    if table.state[source] < SUCCEEDED:
        table.optional_after.setdefault(source, []).append(slot)
        return 1
    core.meter.counts["optional_failures"] += table.state[source] != SUCCEEDED
    return 0


def refuse_edge(
    core: SchedulerCore, slot: int, task: Any, dependency: Any, dependencies: tuple[Any, ...]
) -> SchedulerError:
    """Take back the links a submission has made so far and give the error to raise."""
    table = core.table
    for made in dependencies:
        source = table.index.get(made)
        if isinstance(source, int):
            targets = table.after[source]
            if isinstance(targets, list) and targets[-1] == slot:
                targets.pop()
            elif targets == slot or (isinstance(targets, tuple) and targets[-1:] == (slot,)):
                table.after[source] = without_target(targets, slot)
        elif source is not None and slot in source:
            table.leave_unknown(made, source, slot)
    return core.refuse(_edge_error(task, dependency))


def _check_edges(core: SchedulerCore, task: Any, dependencies: tuple[Any, ...]) -> None:
    """Refuse unknown dependencies of a closed graph and edges that would close a cycle."""
    table = core.table
    goals = set()
    for dependency in dependencies:
        source = table.find(dependency)
        if dependency == task or (source is None and not core.accept_unknown):
            raise core.refuse(_edge_error(task, dependency))
        if source is not None:
            goals.add(source)
    old = table.find(task)
    starts = table.unknown_targets(task) if old is None else table.targets(old)
    starts = [slot for slot in starts if table.state[slot] == PENDING]
    if starts and goals and (old is not None or core.started):
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


def _edge_error(task: Any, dependency: Any) -> SchedulerError:
    if dependency == task:
        return DependencyCycle([[task, task]])
    return UnknownDependency(task, dependency)
