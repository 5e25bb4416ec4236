"""Bad endings: failure, cancellation, closing; and the answers to callbacks that come late or twice."""

from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.errors import GenerationConflict, SchedulerError, StateConflict, UnknownTask
from signoff.scheduler.propagation import block_dependents
from signoff.scheduler.records import Claim
from signoff.scheduler.states import CANCELLED, FAILED, READY, RUNNING, STATE_OF_CODE, TaskState
from signoff.scheduler.table import ENDED


def fail(core: SchedulerCore, slot: int, error: object) -> None:
    """Mark a running task failed and block what requires it."""
    core.table.error[slot] = error
    core.meter.counts["function_failures"] += 1
    _leave_running(core, slot)
    reason = "failed" if error is None else str(error) or type(error).__name__
    _end_badly(core, slot, FAILED, reason, "")


def cancel(core: SchedulerCore, task: Any, generation: int | None, reason: str, by: str, confirmed: bool) -> None:
    """Cancel, ask to stop, or confirm a stop; see ``TaskScheduler.cancel`` for the contract."""
    table = core.table
    slot = table.find(task)
    if slot is None:
        raise UnknownTask(task, "cancel")
    current = table.generation_of(slot)
    if generation is not None and generation != current:
        core.meter.counts["late_callbacks"] += 1
        raise GenerationConflict(task, "cancel", generation, current)
    code = table.state[slot]
    if code > RUNNING:
        core.meter.counts["duplicate_callbacks"] += 1
    elif confirmed:
        _confirm_stop(core, task, slot)
    elif code == RUNNING:
        if slot not in core.stop_requests:
            core.watched = True
            core.stop_requests[slot] = core.cause(slot, TaskState.RUNNING, reason, by)
            core.stops.ask(slot)
    else:
        core.stale += code == READY
        _end_badly(core, slot, CANCELLED, reason, by)


def _confirm_stop(core: SchedulerCore, task: Any, slot: int) -> None:
    """A running task that was asked to stop did stop: cancelled, by whoever asked and for their reason."""
    request = core.stop_requests.get(slot)
    if request is None:
        state = core.table.state_of(slot)
        raise StateConflict(
            task,
            "confirm the stop of",
            f"it is {state} and nobody asked it to stop",
            "Call cancel() without confirmed=True first.",
        )
    _leave_running(core, slot)
    _end_badly(core, slot, CANCELLED, request.reason, request.by)


def running_slot(core: SchedulerCore, task: Any, generation: int, wanted: str) -> int | None:
    """Find the slot a callback is about; None if that version has ended already (a repeated callback).

    Raises:
        UnknownTask, GenerationConflict, StateConflict: see ``known_end``.
    """
    slot = core.table.find(task)
    if slot is not None and core.table.state[slot] == RUNNING and core.table.generation_of(slot) == generation:
        return slot
    known_end(core, task, generation, wanted)
    return None


def known_end(core: SchedulerCore, task: Any, generation: int, wanted: str) -> TaskState:
    """Answer a callback for something that is not running: the known end of that version.

    Raises:
        UnknownTask: no such task.
        GenerationConflict: the callback names a generation that is not the current one.
        StateConflict: the version was never claimed.
    """
    table = core.table
    slot = table.find(task)
    if slot is None:
        raise UnknownTask(task, wanted)
    current = table.generation_of(slot)
    if generation != current:
        core.meter.counts["late_callbacks"] += 1
        raise GenerationConflict(task, wanted, generation, current)
    state = STATE_OF_CODE[table.state[slot]]
    if not state.is_terminal:
        raise StateConflict(
            task,
            wanted,
            f"it is {table.state_of(slot)} and was not claimed",
            "Claim it with ready() first.",
        )
    core.meter.counts["duplicate_callbacks"] += 1
    return state


def first_conflict(core: SchedulerCore, claims: list[Claim], wanted: str) -> SchedulerError | None:
    """Answer callbacks for versions that are not running; repeated ones are fine, of the others the first counts."""
    first: SchedulerError | None = None
    for task, generation in claims:
        try:
            known_end(core, task, generation, wanted)
        except SchedulerError as error:
            first = first or error
    return first


def cancel_all_queued(core: SchedulerCore, reason: str) -> dict[Any, str]:
    """Cancel everything that has not started, each with the reason; nothing is blocked by it. O(V)."""
    table = core.table
    done: dict[Any, str] = {}
    for slot in list(table.current_slots()):
        if table.state[slot] <= READY:
            if core.feed.listeners:
                core.note(slot, table.state_of(slot), TaskState.CANCELLED)
            table.cause[slot] = core.cause(slot, TaskState.CANCELLED, reason)
            table.state[slot] = CANCELLED
            table.after[slot] = ENDED
            done[table.ids[slot]] = reason
    table.optional_after.clear()
    core.fresh.clear()
    core.queue.clear()
    core.stale = 0
    return done


def _leave_running(core: SchedulerCore, slot: int) -> None:
    core.running -= 1
    core.stop_requests.pop(slot, None)
    core.stops.forget(slot)
    if core.timings:
        core.meter.ended((slot,), core.table.since, core.table.work, core.clock())


def _end_badly(core: SchedulerCore, slot: int, code: int, reason: str, by: str) -> None:
    """Mark a version failed or cancelled with its cause, then spread it."""
    table = core.table
    source = table.state_of(slot)
    table.state[slot] = code
    target = STATE_OF_CODE[code]
    table.cause[slot] = core.cause(slot, target, reason, by)
    if core.feed.listeners:
        core.note(slot, source, target)
    spread(core, slot)


def spread(core: SchedulerCore, slot: int) -> None:
    """Block everything that requires a version that just ended badly, and settle optional edges."""
    table = core.table
    before = len(core.fresh)
    start = core.clock() if core.timings else 0.0
    blocked, touched, failed_optional = block_dependents(table, slot, core.fresh)
    core.edges_touched += touched
    core.meter.counts["optional_failures"] += failed_optional
    if core.timings:
        core.meter.propagation_s += core.clock() - start
        for released in core.fresh[before:]:
            table.since[released] = start
    if core.feed.listeners:
        for target in blocked:
            source = TaskState.WAITING if table.has_unknown(target) else TaskState.PENDING
            core.note(target, source, TaskState.BLOCKED)
        for released in core.fresh[before:]:
            core.note(released, TaskState.PENDING, TaskState.READY)
