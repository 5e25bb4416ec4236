"""What a due timer does. A timer of another generation, attempt or state is obsolete, never fired twice."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from signoff.core import events as e
from signoff.core.commands import FireTimer
from signoff.core.decide.activities import attempt_timed_out
from signoff.core.decide.advance import after, fail_step, schedule, settle_run, stop
from signoff.core.decide.build import Build
from signoff.core.decide.items import fire_items, go_on
from signoff.core.decide.ladder import climb
from signoff.core.decide.limiting import pause_long_run
from signoff.core.decide.lost import schedule_probe
from signoff.core.decide.undoing import schedule_undo
from signoff.core.definition import DeadlinePolicy, FailurePolicy, StepKind
from signoff.core.expression import ExpressionError
from signoff.core.flow import resolve_edges
from signoff.core.rejection import Rejection
from signoff.core.states import ErrorInfo, RunStatus, StepStatus, TimerKind


def fire(build: Build, command: FireTimer) -> Rejection | None:
    """Act on a due timer."""
    if command.timer is TimerKind.DEADLINE:
        return _deadline(build)
    state = build.state
    step = state.steps.get(command.step)
    if (
        step is None
        or state.is_terminal
        or state.status is RunStatus.PAUSED
        or step.timer is not command.timer
        or step.generation != command.generation
        or (command.attempt and step.attempt != command.attempt)
        or step.due is None
    ):
        return Rejection("obsolete_timer", f"The timer of step '{command.step}' is obsolete.", "Nothing to do.")
    if step.due > build.now:
        return Rejection(
            "not_due", f"The timer of step '{command.step}' is due at {step.due.isoformat()}.", "Wait.", evidence=False
        )
    match command.timer:
        case TimerKind.WAIT:
            edges = resolve_edges(build.plan, state, command.step, "elapsed")
            build.emit(
                e.WaitElapsed(at=build.now, step=command.step, generation=step.generation, due=step.due, edges=edges)
            )
            after(build, command.step)
        case TimerKind.EXPIRY:
            _expire(build, command.step, step.due)
        case TimerKind.LADDER if step.expires is not None and step.expires <= build.now:
            _expire(build, command.step, step.expires)
        case TimerKind.LADDER:
            climb(build, command.step)
        case TimerKind.RETRY:
            _try_again(build, command.step)
        case TimerKind.QUEUE:
            attempt_timed_out(build, command.step, "No worker took it in time.", "queue_timeout")
        case TimerKind.RUN if step.items:
            fire_items(build, command.step)
            go_on(build, command.step, fail_step)
            after(build, command.step)
        case TimerKind.RUN:
            attempt_timed_out(build, command.step, "It did not answer within its run time.", "run_timeout")
        case _:
            assert_never(command.timer)
    return None


def _expire(build: Build, step_id: str, due: datetime) -> None:
    """End a step that waited in vain."""
    edges = resolve_edges(build.plan, build.state, step_id, "expired")
    approval = build.plan.steps[step_id].kind is StepKind.APPROVAL
    expired = e.ApprovalExpired if approval else e.StepExpired
    generation = build.state.steps[step_id].generation
    build.emit(expired(at=build.now, step=step_id, generation=generation, due=due, edges=edges))
    after(build, step_id)


def _deadline(build: Build) -> Rejection | None:
    """The run should have ended by now: say so, or stop it, as its definition wants.

    What is to be undone but may or may not have happened needs a person first: such a run is only overdue.
    """
    state, now = build.state, build.now
    due = state.deadline
    if due is None or state.is_terminal or state.status is RunStatus.PAUSED or state.stopping:
        return Rejection("obsolete_timer", "The deadline of the run is obsolete.", "Nothing to do.")
    if due > now:
        return Rejection("not_due", f"The deadline of the run is {due.isoformat()}.", "Wait.", evidence=False)
    if state.capped:
        pause_long_run(build, due)
        return None
    build.emit(e.DeadlinePassed(at=now, due=due))
    policies = build.plan.definition.policies
    undo = policies.failure is FailurePolicy.COMPENSATE
    in_doubt = undo and any(s.status is StepStatus.OUTCOME_UNKNOWN for s in state.steps.values())
    if policies.on_deadline is not DeadlinePolicy.NOTIFY and not in_doubt:
        stop(build, "failed", f"The run did not end within {policies.deadline}.", compensate=undo)
        settle_run(build)
    return None


def _try_again(build: Build, step_id: str) -> None:
    step = build.state.steps[step_id]
    if step.undo:
        schedule_undo(build, step_id, step.undo)
        settle_run(build)
        return
    if step.probe:
        schedule_probe(build, step_id)
        return
    try:
        schedule(build, build.plan.steps[step_id], attempt=build.state.steps[step_id].attempt + 1)
    except ExpressionError as error:
        fail_step(build, step_id, ErrorInfo("mapping_error", str(error), False))
        after(build, step_id)
