"""Submission of one new task (the hot path); ``resubmission`` has everything that is not usual."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.resubmission import prepare, refuse_edge, settle
from signoff.scheduler.states import READY, SUCCEEDED
from signoff.scheduler.table import ENDED, FEW, Place, Several, TaskTable, with_target

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
    if place is not None or core.unusual or optional or generation is not None:
        known = _known(core, task, dependencies, optional, generation, place)
        if known is not None:
            return known
    slot, unusual = table.size, core.unusual
    if slot == table.capacity:
        table.grow(core.timings)
    after, missing = table.after, 0
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
            elif len(targets) < FEW and type(targets) is tuple:
                after[source] = targets + (slot,)
            else:
                after[source] = with_target(targets, slot)
        elif source is None:
            if not core.accept_unknown or dependency == task:
                raise refuse_edge(core, slot, task, dependency, dependencies)
            index[dependency] = (slot,)
            table.unknown += 1
        elif source is place:
            raise refuse_edge(core, slot, task, dependency, dependencies)
        elif source[-1] is slot:
            continue
        else:
            index[dependency] = with_target(source, slot)
        missing += 1
    index[task], table.ids[slot], table.size = slot, task, slot + 1
    table.dependencies[slot], table.missing[slot] = dependencies, table.missing[slot] + missing
    if place is not None and type(place) is not int:
        _take_over(core, slot, place)
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


def _take_over(core: SchedulerCore, slot: int, waiting: Several) -> None:
    """What waited for an id waits for the task that has it now; a cycle may have come about."""
    core.table.after[slot] = waiting if len(waiting) > 1 else waiting[0]
    core.table.unknown -= 1
    core.suspect = not (core.started or core.trusted)


def _known(
    core: SchedulerCore, task: Any, dependencies: Ids, optional: Ids, generation: int | None, place: Place | None
) -> int | None:
    """The slot of a submission that is known already, after everything that is out of the ordinary was looked at."""
    if core.started or type(place) is int or core.unusual or optional or generation is not None:
        return prepare(core, task, dependencies, optional, generation)
    return None


def _first_bad(table: TaskTable, dependencies: Ids) -> int:
    """The slot of the first dependency that has ended and not succeeded, or -1."""
    for dependency in dependencies:
        source = table.find(dependency)
        if source is not None and table.after[source] == ENDED and table.state[source] > SUCCEEDED:
            return source
    return -1
