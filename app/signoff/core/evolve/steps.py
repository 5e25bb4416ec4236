"""How facts about steps change the state."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.plan import Plan
from signoff.core.states import RunState, RunStatus, StepState, StepStatus, TimerKind


def with_step(
    state: RunState,
    step: str,
    at: datetime,
    *,
    edges: e.Edges = (),
    timer: TimerKind | None = None,
    due: datetime | None = None,
    **changes: Any,
) -> RunState:
    """The state with one step changed; a timer not named here is disarmed."""
    old = state.steps[step]
    if changes.get("status", old.status) is not old.status:
        changes["since"] = at
    new = altered(old, changed=state.sequence, timer=timer, due=due, **changes)
    steps = {**state.steps, step: new}
    return altered(state, steps=steps, edges={**state.edges, **dict(edges)} if edges else state.edges)


def begun_again(
    state: RunState, old: StepState, generation: int, at: datetime, *, round: int = 0, effect: int = 0
) -> StepState:
    """The step pending again in a new generation: round, effect and fencing tokens go on unless told otherwise."""
    return StepState(
        generation=generation,
        round=round or old.round,
        effect=effect or old.effect,
        fence=old.fence,
        changed=state.sequence,
        since=at,
    )


def with_output(state: RunState, step: str, output: Any) -> RunState:
    """The state with the output of one step."""
    return altered(state, outputs={**state.outputs, step: output})


def without_partial(state: RunState, step: str) -> RunState:
    """The state without the list of a step and the results so far, where it has one."""
    if step not in state.partial:
        return state
    return altered(state, partial={i: x for i, x in state.partial.items() if i != step})


def scheduled(plan: Plan, state: RunState, event: e.ActivityScheduled) -> RunState:
    """The attempt may be claimed."""
    old = state.steps[event.step]
    first = event.at if event.attempt == 1 or event.undo == 1 else old.first_scheduled_at
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SCHEDULED,
        attempt=event.attempt,
        first_scheduled_at=first,
        timer=TimerKind.QUEUE if event.queue_due else None,
        due=event.queue_due,
        error=old.error if event.probe else None,
        worker="",
        probe=event.probe,
        uncounted=old.uncounted + bool(event.probe or event.undo),
        undo=event.undo,
    )


def started(plan: Plan, state: RunState, event: e.ActivityStarted) -> RunState:
    """A worker holds the claim."""
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.RUNNING,
        fence=event.fence,
        worker=event.worker,
        timer=TimerKind.RUN,
        due=event.run_due,
    )


def succeeded(plan: Plan, state: RunState, event: e.ActivitySucceeded) -> RunState:
    """The step has its output."""
    state = with_output(state, event.step, event.output)
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SUCCEEDED,
        outcome="succeeded",
        edges=event.edges,
        error=None,
        probe=0,
    )


def attempt_failed(plan: Plan, state: RunState, event: e.ActivityFailed) -> RunState:
    """The attempt is over; what follows decides where the step goes, so only the error is kept.

    That of a failed probe is in the history: the step keeps the error of the call that was lost.
    """
    old = state.steps[event.step]
    error = old.error if old.probe else event.error
    return with_step(state, event.step, event.at, status=StepStatus.RETRYING, error=error, worker="")


def retry_armed(plan: Plan, state: RunState, event: e.RetryArmed) -> RunState:
    """The next attempt has a time."""
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.RETRYING,
        timer=TimerKind.RETRY,
        due=event.due,
        probe=event.probe,
        undo=event.undo,
    )


def failed(plan: Plan, state: RunState, event: e.StepFailed) -> RunState:
    """The step failed for good."""
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.FAILED,
        outcome="failed",
        error=event.error,
        edges=event.edges,
        worker="",
        probe=0,
        items=None,
    )


def wait_armed(plan: Plan, state: RunState, event: e.WaitArmed) -> RunState:
    """The wait has a due time."""
    return with_step(state, event.step, event.at, status=StepStatus.WAITING, timer=TimerKind.WAIT, due=event.due)


def elapsed(plan: Plan, state: RunState, event: e.WaitElapsed) -> RunState:
    """The wait is over."""
    return with_step(state, event.step, event.at, status=StepStatus.SUCCEEDED, outcome="elapsed", edges=event.edges)


def signal_awaited(plan: Plan, state: RunState, event: e.SignalAwaited) -> RunState:
    """The step waits for a message with this key."""
    timer = TimerKind.EXPIRY if event.due else None
    return with_step(state, event.step, event.at, status=StepStatus.WAITING, key=event.key, timer=timer, due=event.due)


def signal_received(plan: Plan, state: RunState, event: e.SignalReceived) -> RunState:
    """The message is the step's output."""
    state = with_output(state, event.step, event.output)
    return with_step(state, event.step, event.at, status=StepStatus.SUCCEEDED, outcome="received", edges=event.edges)


def subflow_started(plan: Plan, state: RunState, event: e.SubflowStarted) -> RunState:
    """The step waits for its child."""
    timer = TimerKind.EXPIRY if event.due else None
    return with_step(
        state, event.step, event.at, status=StepStatus.WAITING, child=event.child, timer=timer, due=event.due
    )


def subflow_ended(plan: Plan, state: RunState, event: e.SubflowEnded) -> RunState:
    """The step ends as its child did."""
    state = with_output(state, event.step, event.output)
    status = StepStatus(event.outcome)
    return with_step(
        state, event.step, event.at, status=status, outcome=event.outcome, error=event.error, edges=event.edges
    )


def expired(plan: Plan, state: RunState, event: e.StepExpired) -> RunState:
    """Time ran out."""
    return with_step(state, event.step, event.at, status=StepStatus.EXPIRED, outcome="expired", edges=event.edges)


def blocked(plan: Plan, state: RunState, event: e.StepBlocked) -> RunState:
    """The step cannot be reached until its cause is mended."""
    return with_step(state, event.step, event.at, status=StepStatus.BLOCKED, cause=event.cause, edges=event.edges)


def not_taken(plan: Plan, state: RunState, event: e.StepNotTaken) -> RunState:
    """No way into the step was live."""
    return with_step(state, event.step, event.at, status=StepStatus.NOT_TAKEN, edges=event.edges)


def cancelled(plan: Plan, state: RunState, event: e.StepCancelled) -> RunState:
    """The step will not be done any more."""
    return with_step(state, event.step, event.at, status=StepStatus.CANCELLED, edges=event.edges, worker="", items=None)


def skipped(plan: Plan, state: RunState, event: e.StepSkipped) -> RunState:
    """An operator went past the step; what it had blocked is open again, and the run goes on."""
    state = reopen_after(plan, state, event.step, event.at)
    state = with_output(state, event.step, event.output)
    state = without_partial(state, event.step)
    state = with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SKIPPED,
        outcome="skipped",
        edges=event.edges,
        error=None,
        worker="",
        items=None,
    )
    return run_goes_on(state, event.at)


def retried(plan: Plan, state: RunState, event: e.StepRetried) -> RunState:
    """A new generation: pending again, with nothing resolved behind it."""
    state = reopen_after(plan, state, event.step, event.at)
    old = state.steps[event.step]
    effect = old.effect + 1 if event.new_effect else old.effect
    fresh = begun_again(state, old, event.generation, event.at, effect=effect)
    edges = {k: v for k, v in state.edges.items() if plan.edges[k].source != event.step}
    edges.update(event.edges)
    state = altered(state, steps={**state.steps, event.step: fresh}, edges=edges)
    return run_goes_on(state, event.at)


def reopen_after(plan: Plan, state: RunState, step: str, at: datetime) -> RunState:
    """Set steps behind `step` that never ran (blocked, not taken) back to pending, in a new generation."""
    never_ran = (StepStatus.BLOCKED, StepStatus.NOT_TAKEN)
    steps, edges = dict(state.steps), dict(state.edges)
    todo = [step]
    while todo:
        for edge in plan.outgoing[todo.pop()]:
            edges.pop(edge.key, None)
            old = steps[edge.target]
            if old.status in never_ran:
                todo.append(edge.target)
                steps[edge.target] = begun_again(state, old, old.generation + 1, at)
    return altered(state, steps=steps, edges=edges)


def run_goes_on(state: RunState, at: datetime) -> RunState:
    """A stall ends when a person has done something about it."""
    if state.status is RunStatus.STALLED:
        return altered(state, status=RunStatus.RUNNING, since=at, reason="")
    return state
