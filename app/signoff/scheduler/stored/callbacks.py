"""Claims under leases, and what comes back: complete, fail, cancel, renew, and leases that run out."""

from collections.abc import Sequence
from typing import Any

from signoff.scheduler.closing import CANCELLED_REASON
from signoff.scheduler.errors import (
    CapacityExceeded,
    GenerationConflict,
    LeaseLost,
    SchedulerClosed,
    SchedulerError,
    StateConflict,
    UnknownTask,
)
from signoff.scheduler.states import TERMINAL, TaskState
from signoff.scheduler.stored.version import LeasedClaim, Renewal, Version
from signoff.scheduler.stored.work import Work


def claimable(work: Work, limit: int | None, all_or_nothing: bool, window: int) -> int:
    """How many tasks to load for a claim; see `DurableTaskScheduler.ready` for the contract."""
    if work.settings.closing:
        if all_or_nothing:
            raise work.refuse(SchedulerClosed("claim tasks"))
        return 0
    ledger = work.tables.ledger
    asked = limit
    if asked is None:
        asked = ledger.count(TaskState.READY) if all_or_nothing else window
    free = window if limit is None else limit
    if work.settings.max_concurrency is not None:
        free = min(free, max(work.settings.max_concurrency - ledger.count(TaskState.RUNNING), 0))
    if all_or_nothing and asked > free:
        raise work.refuse(CapacityExceeded(asked, free), "claim_conflicts")
    return min(asked, free)


def lease(work: Work, versions: Sequence[Version], worker: str, until: int) -> None:
    """Move ready versions to running, each with the next fencing token."""
    for version in versions:
        work.measure("ready_wait", version, version.ready_at)
        work.move(version, TaskState.RUNNING)
        version.fence += 1
        version.worker, version.lease_until, version.claimed_at = worker, until, work.at
    if versions and not work.settings.started:
        work.tables.versions.change_graph(started=True)


def expire(work: Work, limit: int) -> None:
    """Take back claims whose lease ran out: ready again, or cancelled if they were asked to stop."""
    for row in work.tables.versions.expired(work.at, limit):
        version = work.adopt(row)
        work.count("lease_expiries", 1, version.tenant, version.kind)
        version.expiries += 1
        if version.stop:
            work.end(version, TaskState.CANCELLED, version.reason, version.actor)
        else:
            work.move(version, TaskState.READY)
            version.lease_until = 0


def claimed(work: Work, task: str, generation: int, fence: int, wanted: str) -> Version | None:
    """The running version a callback is about; None if that generation has ended already (a repeated callback).

    Raises:
        UnknownTask, GenerationConflict: no such task; another generation is current.
        LeaseLost, StateConflict: the claim was given on; the task was never claimed.
    """
    _, version = work.find(task)
    if version is None:
        raise UnknownTask(task, wanted)
    _same_generation(work, version, generation, wanted)
    if version.state in TERMINAL:
        work.count("duplicate_callbacks", 1, version.tenant, version.kind)
        return None
    if version.state is TaskState.RUNNING and version.fence == fence:
        return version
    if version.fence:
        error = LeaseLost(task, wanted, generation, fence, version.fence, version.state)
        raise work.refuse(error, "late_callbacks")
    raise StateConflict(task, wanted, f"it is {version.state} and was not claimed", "Claim it with ready() first.")


def complete(work: Work, claim: LeasedClaim, result: Any) -> TaskState:
    """Record a success."""
    version = claimed(work, claim.task, claim.generation, claim.fence, "complete")
    if version is not None:
        work.end(version, TaskState.SUCCEEDED)
        if result is not None:
            work.tables.versions.put_result(version.id, result)
    return work.loaded_state(claim.task)


def complete_many(work: Work, claims: Sequence[LeasedClaim]) -> SchedulerError | None:
    """Record every good claim; the first bad one is returned."""
    first: SchedulerError | None = None
    work.find_many([claim.task for claim in claims])
    for claim in claims:
        try:
            complete(work, claim, None)
        except SchedulerError as error:
            first = first or error
    work.keep_refused()
    return first


def fail(work: Work, claim: LeasedClaim, error: object) -> TaskState:
    """Record a failure; everything that requires the task will be blocked."""
    version = claimed(work, claim.task, claim.generation, claim.fence, "fail")
    if version is not None:
        reason = "failed" if error is None else str(error) or type(error).__name__
        work.count("function_failures", 1, version.tenant, version.kind)
        work.end(version, TaskState.FAILED, reason)
        if error is not None:
            work.tables.versions.put_error(version.id, reason)
    return work.loaded_state(claim.task)


def cancel(
    work: Work, task: str, generation: int | None, reason: str, actor: str, confirmed: bool, fence: int | None
) -> TaskState:
    """Cancel, ask to stop, or confirm a stop; see `DurableTaskScheduler.cancel`."""
    _, version = work.find(task)
    if version is None:
        raise UnknownTask(task, "cancel")
    if generation is not None:
        _same_generation(work, version, generation, "cancel")
    if version.state in TERMINAL:
        work.count("duplicate_callbacks", 1, version.tenant, version.kind)
    elif confirmed:
        _confirm_stop(work, version, fence)
    elif version.state is not TaskState.RUNNING:
        work.end(version, TaskState.CANCELLED, reason, actor)
    elif not version.stop:
        work.touch(version)
        version.stop, version.reason, version.actor, version.cause_at = 1, reason, actor, work.at
    return version.state


def _confirm_stop(work: Work, version: Version, fence: int | None) -> None:
    wanted = "confirm the stop of"
    if version.state is not TaskState.RUNNING or not version.stop:
        obstacle = f"it is {version.state} and nobody asked it to stop"
        raise StateConflict(version.task, wanted, obstacle, "Call cancel() without confirmed=True first.")
    if fence != version.fence:
        error = LeaseLost(version.task, wanted, version.generation, fence or 0, version.fence, version.state)
        raise work.refuse(error, "late_callbacks")
    work.end(version, TaskState.CANCELLED, version.reason, version.actor)


def renew(work: Work, claims: Sequence[LeasedClaim], until: int) -> list[Renewal]:
    """Extend the leases that still hold."""
    answers = []
    found = work.find_many([claim.task for claim in claims])
    for claim in claims:
        version = found.get(claim.task, (0, None))[1]
        if (
            version is None
            or version.state is not TaskState.RUNNING
            or (version.generation, version.fence) != (claim.generation, claim.fence)
        ):
            answers.append(Renewal.LOST)
            continue
        work.touch(version)
        version.lease_until = max(version.lease_until, until)
        answers.append(Renewal.STOP if version.stop else Renewal.HELD)
    return answers


def cancel_queued(work: Work, limit: int) -> int:
    """Cancel a page of what has not started, because the graph was closed; nothing is blocked by it."""
    rows = work.tables.versions.queued(limit)
    for row in rows:
        version = work.adopt(row)
        work.move(version, TaskState.CANCELLED)
        version.reason, version.cause_at = CANCELLED_REASON, work.at
    return len(rows)


def _same_generation(work: Work, version: Version, generation: int, wanted: str) -> None:
    if generation != version.generation:
        error = GenerationConflict(version.task, wanted, generation, version.generation)
        raise work.refuse(error, "late_callbacks")
