"""Submission of one new task (the hot path); ``resubmission`` has everything that is not usual."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.resubmission import prepare, refuse_edge, settle
from signoff.scheduler.states import READY, SUCCEEDED
from signoff.scheduler.table import Targets

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
    place = index.get(task)
    if place is not None or core.unusual or optional or generation is not None:
        known = _known(core, task, dependencies, optional, generation, place)
        if known is not None:
            return known
    slot = table.size
    if slot == table.capacity:
        table.grow(core.timings)
    after, missing, bad = table.after, 0, -1
    for dependency in dependencies:
        source = index.get(dependency)
        if source is None:
            _await_first(core, task, dependency, slot, dependencies)
            missing += 1
            continue
        if source < 0:
            missing += _await_too(table.awaited, ~source, slot)
            continue
        targets = after[source]
        if targets is None:
            after[source] = slot
        elif type(targets) is list:
            if targets[-1] == slot:
                continue
            targets.append(slot)
        elif type(targets) is int:
            if targets == slot:
                continue
            after[source] = pair = [targets, slot, slot, slot]
            del pair[2:]  # leaves room for two more: appending to a list of two would make room for six
        else:
            if bad < 0 and table.state[source] > SUCCEEDED:
                bad = source
            continue
        missing += 1
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


def _known(
    core: SchedulerCore, task: Any, dependencies: Ids, optional: Ids, generation: int | None, place: int | None
) -> int | None:
    """The slot of a submission that is known already, after everything that is out of the ordinary was looked at."""
    special = core.unusual or optional or generation is not None or (place is not None and place >= 0)
    if (special or core.started) and (known := prepare(core, task, dependencies, optional, generation)) is not None:
        return known
    if place is not None and task in dependencies:
        raise refuse_edge(core, core.table.size, task, task, ())
    return None


def _await_first(core: SchedulerCore, task: Any, dependency: Any, slot: int, dependencies: Ids) -> None:
    """Link a task to a dependency that nobody has submitted or waited for yet."""
    if dependency == task or not core.accept_unknown:
        raise refuse_edge(core, slot, task, dependency, dependencies)
    core.table.index[dependency] = ~len(core.table.awaited)
    core.table.awaited.append(slot)


def _await_too(awaited: list[Targets], place: int, slot: int) -> int:
    """Link a task to a dependency others wait for already; returns 1, or 0 if it is linked already."""
    targets = awaited[place]
    if targets is None:
        awaited[place] = slot
    elif type(targets) is int:
        if targets == slot:
            return 0
        awaited[place] = _pair(targets, slot)
    elif isinstance(targets, list):
        if targets[-1] == slot:
            return 0
        targets.append(slot)
    return 1


def _pair(first: int, second: int) -> list[int]:
    """A list of two with room for two more; appending to a list made of two would make room for six."""
    pair = [first, second, second, second]
    del pair[2:]
    return pair
