"""Success of running tasks: the hot path of completion. It touches the out-edges of these tasks and nothing else."""

from collections.abc import Iterable
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.propagation import settle_optional
from signoff.scheduler.records import Claim
from signoff.scheduler.states import PENDING, READY, RUNNING, SUCCEEDED, TaskState
from signoff.scheduler.table import ENDED, FIRST_GENERATION


def succeed(core: SchedulerCore, claims: Iterable[Claim]) -> list[Claim]:
    """Mark running versions succeeded and make dependents ready that wait for nothing more.

    Returns:
        the claims that name no running version; nothing was done about them.
    """
    table, fresh = core.table, core.fresh
    find, state, after, missing = table.index.get, table.state, table.after, table.missing
    generations = core.generations
    ended: list[int] | None = [] if core.watched else None
    start = core.clock() if core.watched and core.timings else 0.0
    before, touched, count = len(fresh), 0, 0
    refused: list[Claim] = []
    for task, generation in claims:
        slot = find(task)
        if (
            type(slot) is not int
            or state[slot] != RUNNING
            or generation != (generations.get(slot, FIRST_GENERATION) if generations else FIRST_GENERATION)
        ):
            refused.append((task, generation))
            continue
        state[slot] = SUCCEEDED
        count += 1
        targets: Any = after[slot]
        after[slot] = ENDED
        if type(targets) is int:
            touched += 1
            left = missing[targets] - 1
            missing[targets] = left
            if not left and state[targets] == PENDING:
                state[targets] = READY
                fresh.append(targets)
        elif targets:
            touched += len(targets)
            for target in targets:
                left = missing[target] - 1
                missing[target] = left
                if not left and state[target] == PENDING:
                    state[target] = READY
                    fresh.append(target)
        if ended is not None:
            ended.append(slot)
            touched += settle_optional(table, slot, fresh)
    core.edges_touched += touched
    core.running -= count
    if ended is not None:
        _watch(core, ended, before, start)
    return refused


def _watch(core: SchedulerCore, slots: list[int], before: int, start: float) -> None:
    """Durations, listeners and stop requests of tasks that succeeded; ``before`` is where ``fresh`` ended."""
    table = core.table
    if core.timings:
        core.meter.propagation_s += core.clock() - start
        core.meter.ended(slots, table.since, table.work, start)
        for slot in core.fresh[before:]:
            table.since[slot] = start
    if core.stop_requests or core.stops:
        for slot in slots:
            core.stop_requests.pop(slot, None)
            core.stops.forget(slot)
    if core.feed.listeners:
        for slot in slots:
            core.note(slot, TaskState.RUNNING, TaskState.SUCCEEDED)
        for slot in core.fresh[before:]:
            core.note(slot, TaskState.PENDING, TaskState.READY)
