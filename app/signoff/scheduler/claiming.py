"""Claiming: ready tasks become running ones, earliest submission first, never more than there are free slots."""

from heapq import heapify, heappop, heappush

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.cycles import cycle_paths
from signoff.scheduler.errors import CapacityExceeded, DependencyCycle, SchedulerClosed
from signoff.scheduler.records import Claim
from signoff.scheduler.states import READY, RUNNING, TaskState
from signoff.scheduler.table import FIRST_GENERATION


def claim(core: SchedulerCore, limit: int | None, all_or_nothing: bool) -> list[Claim]:
    """Move up to ``limit`` ready tasks to running; see ``TaskScheduler.ready`` for the contract."""
    if core.suspect and not (core.started or core.closing):
        refuse_cycles(core)
    if limit is None and core.max_concurrency is None and not (core.queue or core.stale or core.closing):
        if len(core.fresh) == 1 and not core.watched:  # chains: every claim is one task
            slot = core.fresh.pop()
            core.table.state[slot] = RUNNING
            core.running += 1
            core.started = True
            given = core.generations.get(slot, FIRST_GENERATION) if core.generations else FIRST_GENERATION
            return [(core.table.ids[slot], given)]
        slots, core.fresh = core.fresh, []
        slots.sort()
    else:
        slots = _choose(core, limit, all_or_nothing)
    table = core.table
    state, ids, generations = table.state, table.ids, table.generation
    core.running += len(slots)
    if core.watched:
        _watch(core, slots)
    if slots:
        core.started = True
    for slot in slots:
        state[slot] = RUNNING
    if generations:
        return [(ids[slot], generations.get(slot, FIRST_GENERATION)) for slot in slots]
    return [(ids[slot], FIRST_GENERATION) for slot in slots]


def _choose(core: SchedulerCore, limit: int | None, all_or_nothing: bool) -> list[int]:
    """Take as many ready slots off the queue as the limit, the free slots and the all-or-nothing rule allow."""
    if core.closing:
        if all_or_nothing:
            raise core.refuse(SchedulerClosed("claim tasks"))
        return []
    available = len(core.fresh) + len(core.queue) - core.stale
    asked = available if limit is None else limit
    count = min(asked, available)
    if core.max_concurrency is not None:
        free = max(core.max_concurrency - core.running, 0)
        if all_or_nothing and asked > free:
            core.meter.counts["claim_conflicts"] += 1
            raise CapacityExceeded(asked, free)
        count = min(count, free)
    if count <= 0 or (all_or_nothing and count < asked):
        return []
    return _take_all(core) if count == available else _take(core, count)


def _watch(core: SchedulerCore, slots: list[int]) -> None:
    """Durations and listeners of a claim."""
    if core.timings and slots:
        now = core.clock()
        since = core.table.since
        core.meter.claimed(slots, since, core.table.work, now)
        for slot in slots:
            since[slot] = now
    if core.feed.listeners:
        for slot in slots:
            core.note(slot, TaskState.READY, TaskState.RUNNING)


def refuse_cycles(core: SchedulerCore) -> None:
    """Make sure that no cycle exists before anything runs.

    Raises:
        DependencyCycle: with the path of every cycle found.
    """
    paths = cycle_paths(core.table)
    if paths:
        raise core.refuse(DependencyCycle(paths))
    core.suspect = False


def _take_all(core: SchedulerCore) -> list[int]:
    """Take every ready slot; a sort of mostly sorted numbers, cheaper than a heap."""
    slots = core.queue + core.fresh
    core.queue.clear()
    core.fresh.clear()
    if core.stale:
        state = core.table.state
        slots = [slot for slot in slots if state[slot] == READY]
        core.stale = 0
    slots.sort()
    return slots


def _take(core: SchedulerCore, count: int) -> list[int]:
    """Pop the ``count`` earliest ready slots; O(log V) each, a slot enters the heap once."""
    queue, fresh, state = core.queue, core.fresh, core.table.state
    if len(fresh) > len(queue):
        queue += fresh
        heapify(queue)
    else:
        for slot in fresh:
            heappush(queue, slot)
    fresh.clear()
    slots: list[int] = []
    while len(slots) < count:
        slot = heappop(queue)
        if state[slot] == READY:
            slots.append(slot)
        else:
            core.stale -= 1
    return slots
