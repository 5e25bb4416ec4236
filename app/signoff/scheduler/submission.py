"""Submission of one new task (the hot path); ``resubmission`` has everything that is not usual."""

from collections.abc import Hashable, Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.resubmission import prepare, refuse_edge, settle
from signoff.scheduler.states import READY, SUCCEEDED
from signoff.scheduler.table import FEW

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
    waiting = place is not None and type(place) is not int
    if core.unusual or optional or generation is not None or (place is not None and (core.started or not waiting)):
        known = prepare(core, task, dependencies, optional, generation)
        if known is not None:
            return known
    slot = table.size
    if slot == table.capacity:
        table.grow(core.timings)
    after, missing, bad = table.after, 0, -1
    for dependency in dependencies:
        source = index.get(dependency)
        if source is None:
            if not core.accept_unknown or dependency == task:
                raise refuse_edge(core, slot, task, dependency, dependencies)
            index[dependency] = (slot,)
            table.unknown += 1
        elif type(source) is int:
            targets: Any = after[source]
            if targets is None:
                after[source] = slot
            elif type(targets) is int:
                if targets is slot:  # the same object, where this task has registered this edge before
                    continue
                after[source] = (targets, slot)
            elif not targets:
                bad = source if bad < 0 and table.state[source] > SUCCEEDED else bad
                continue
            elif targets[-1] is slot:
                continue
            else:  # `with_target` written out, here and below: a call costs as much as the rest
                if type(targets) is list:
                    targets.append(slot)
                elif len(targets) < FEW:
                    after[source] = targets + (slot,)
                else:
                    after[source] = [*targets, slot]
        elif source is place:
            raise refuse_edge(core, slot, task, dependency, dependencies)
        elif source[-1] is slot:
            continue
        elif type(source) is list:
            source.append(slot)
        elif len(source) < FEW:
            index[dependency] = source + (slot,)
        else:
            index[dependency] = [*source, slot]
        missing += 1
    index[task], table.ids[slot], table.size = slot, task, slot + 1
    if dependencies:
        table.dependencies[slot] = dependencies
        table.missing[slot] += missing
    if waiting:  # what waited for this id waits for the task that has it now; a cycle may have come about
        after[slot] = place if len(place) > 1 else place[0]
        table.unknown -= 1
        core.suspect = not (core.started or core.trusted)
    if bad >= 0 or core.unusual:
        settle(core, task, slot, bad)
    elif not missing:
        _make_ready(core, slot)
    return slot


def _make_ready(core: SchedulerCore, slot: int) -> None:
    """Queue a task that waits for nothing."""
    core.table.state[slot] = READY
    core.fresh.append(slot)
    if core.timings:
        core.table.since[slot] = core.clock()
