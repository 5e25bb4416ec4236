"""Submission of one new task (the hot path); ``resubmission`` has everything that is not usual."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.resubmission import prepare, refuse_edge, settle
from signoff.scheduler.states import READY, SUCCEEDED
from signoff.scheduler.table import ENDED, FEW, TaskTable, with_target

type Ids = tuple[Any, ...]


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


def add(core: SchedulerCore, task: Any, dependencies: Ids, optional: Ids, generation: int | None) -> int:
    """Register one task version and its edges; returns its slot, or the known one if this was submitted before."""
    table, index = core.table, core.table.index
    place: Any = index.get(task)  # `Any` for the checker only, as in the index itself
    is_awkward = place is not None and (type(place) is int or core.started)
    if is_awkward or core.unusual or optional or generation is not None:
        known = prepare(core, task, dependencies, optional, generation)
        if known is not None:
            return known
    if (slot := table.size) == table.capacity:
        table.grow(core.timings)
    unusual, after, missing = core.unusual, table.after, 0
    for dependency in dependencies:
        source = index.get(dependency)
        if type(source) is int:
            targets: Any = after[source]
            if targets is None:
                after[source] = slot
            elif targets is slot:  # the same object, where this task has registered this edge before
                continue
            elif type(targets) is int:
                after[source] = (targets, slot)
            elif not targets or targets[-1] is slot:
                unusual = True
                continue
            elif type(targets) is list:
                targets.append(slot)
            else:
                after[source] = targets + (slot,) if len(targets) < FEW else [*targets, slot]
        elif source is None and core.accept_unknown and dependency != task:
            index[dependency], core.suspect = (slot,), True
        elif source is None or source is place:
            raise refuse_edge(core, slot, task, dependency, dependencies)
        elif source[-1] is slot:
            continue
        else:
            index[dependency] = source + (slot,) if len(source) < FEW else with_target(source, slot)
        missing += 1
    index[task], table.ids[slot], table.size = slot, task, slot + 1
    table.dependencies[slot], table.missing[slot] = dependencies, table.missing[slot] + missing
    if place is not None and type(place) is not int:  # those that waited for the id wait for this version
        after[slot], core.suspect = (place if len(place) > 1 else place[0]), True
    if unusual:
        settle(core, task, slot, _first_bad(table, dependencies))
    elif not missing:
        _make_ready(core, slot)
    return slot


def _make_ready(core: SchedulerCore, slot: int) -> None:
    """Queue a task that waits for nothing."""
    core.table.state[slot] = READY
    core.fresh.append(slot)
    if core.timings:
        core.table.since[slot] = core.clock()


def _first_bad(table: TaskTable, dependencies: Ids) -> int:
    """The slot of the first dependency that has ended and not succeeded, or -1."""
    for dependency in dependencies:
        source = table.find(dependency)
        if source is not None and table.after[source] == ENDED and table.state[source] > SUCCEEDED:
            return source
    return -1
