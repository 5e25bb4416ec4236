"""Submission of one new task (the hot path); ``resubmission`` has everything that is not usual."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.resubmission import prepare, refuse_edge, settle
from signoff.scheduler.states import READY, SUCCEEDED
from signoff.scheduler.table import ENDED

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
    table = core.table
    index, after, awaited = table.index, table.after, table.awaited
    place = index.get(task)
    special = core.unusual or optional or generation is not None or (place is not None and (place >= 0 or core.started))
    if special and (known := prepare(core, task, dependencies, optional, generation)) is not None:
        return known
    slot = table.size
    if slot == table.capacity:
        table.grow(core.timings)
    if place is not None and task in dependencies:
        raise refuse_edge(core, slot, task, task, ())
    missing, bad, find = len(dependencies), -1, index.get
    for dependency in dependencies:
        source = find(dependency)
        if source is None:
            if dependency == task or not core.accept_unknown:
                raise refuse_edge(core, slot, task, dependency, dependencies)
            index[dependency] = ~len(awaited)
            awaited.append(slot)
            continue
        holder = after
        if source < 0:
            holder, source = awaited, ~source
        targets = holder[source]
        if targets is None:
            holder[source] = slot
        elif type(targets) is list and targets[-1] != slot:
            targets.append(slot)
        elif type(targets) is int and targets != slot:
            holder[source] = pair = [targets, slot, slot, slot]
            del pair[2:]  # leaves room for two more: appending to a list of two would make room for six
        else:
            missing -= 1
            if bad < 0 and targets == ENDED and table.state[source] > SUCCEEDED:
                bad = source
    index[task], table.ids[slot], table.size = slot, task, slot + 1
    if dependencies:
        table.dependencies[slot] = dependencies
        table.missing[slot] += missing
    if place is not None or bad >= 0 or core.unusual:
        settle(core, task, slot, place, bad)
    elif not missing:
        table.state[slot] = READY
        core.fresh.append(slot)
        if core.timings:
            table.since[slot] = core.clock()
    return slot
