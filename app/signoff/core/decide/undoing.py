"""Compensation: completed steps are undone one by one, the last one first, each with attempts of its own.

It begins when a run that is stopped with compensation has nothing under way any more. A compensation that failed for
good stalls the run: an operator lets it be tried again, or says that it was done by hand.
"""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.build import Build
from signoff.core.decide.inputs import resolved
from signoff.core.definition import ActivityConfig, Compensation, EffectContract
from signoff.core.expression import ExpressionError
from signoff.core.flow import scope_of
from signoff.core.payload import plain_json
from signoff.core.rejection import Rejection
from signoff.core.retry import retry_due, within_total
from signoff.core.states import ErrorInfo, RunState, RunStatus, StepState, StepStatus, idempotency_key
from signoff.core.wording import sentence


def undo_key(run_id: str, step: str, state: StepState) -> str:
    """The idempotency key of a compensation: the same over all its attempts."""
    return f"{idempotency_key(run_id, step, state)}/undo"


def _compensation(build: Build, step_id: str) -> tuple[ActivityConfig, Compensation]:
    config = build.plan.steps[step_id].config
    assert isinstance(config, ActivityConfig)
    assert config.compensation is not None
    return config, config.compensation


def undo_failures(state: RunState) -> list[str]:
    """Steps whose compensation failed for good."""
    return [i for i, s in state.steps.items() if s.status is StepStatus.FAILED and s.undo]


def still_to_undo(build: Build) -> list[str]:
    """Completed steps with a compensation, the one that completed last first."""
    state = build.state
    found = [
        i
        for i, s in state.steps.items()
        if s.status is StepStatus.SUCCEEDED and getattr(build.plan.steps[i].config, "compensation", None)
    ]
    return sorted(found, key=lambda i: state.steps[i].changed, reverse=True)


def compensate_next(build: Build) -> bool:
    """Undo the next step, or stall where one could not be undone; False where nothing is left to undo."""
    if not undo_failures(build.state):
        todo = still_to_undo(build)
        if not todo:
            return False
        if build.state.status is not RunStatus.COMPENSATING:
            build.emit(e.RunCompensating(at=build.now, steps=tuple(todo)))
        schedule_undo(build, todo[0], 1)
    stuck = undo_failures(build.state)
    if stuck and build.state.status is not RunStatus.STALLED:
        build.emit(e.RunStalled(at=build.now, reason=_why_stuck(build, stuck), steps=tuple(stuck)))
    return True


def _why_stuck(build: Build, stuck: list[str]) -> str:
    said = []
    for i in stuck:
        error = build.state.steps[i].error
        said.append(sentence(f"'{build.plan.label(i)}' could not be undone: {error.message if error else 'it failed'}"))
    return " ".join(said)


def schedule_undo(build: Build, step_id: str, number: int) -> None:
    """Let a worker take the compensation; where its input cannot be made, it has failed."""
    config, compensation = _compensation(build, step_id)
    step = build.state.steps[step_id]
    try:
        given = resolved(build.plan.undos[step_id], scope_of(build.state), build.plan.label(step_id))
    except ExpressionError as problem:
        _gave_up(build, step_id, ErrorInfo("mapping_error", str(problem), False))
        return
    first = step.first_scheduled_at if number > 1 else None
    build.emit(
        e.ActivityScheduled(
            at=build.now,
            step=step_id,
            generation=step.generation,
            attempt=step.attempt + 1,
            key=undo_key(build.state.run_id, step_id, step),
            input=given,
            queue_due=within_total(compensation.retry, first or build.now, build.now, config.timeouts.queue_s),
            undo=number,
        )
    )


def undone(build: Build, command: c.CompleteActivity) -> None:
    """The compensation answered: the step is undone."""
    step = build.state.steps[command.step]
    try:
        output = plain_json(command.output)
    except ValueError as problem:
        message = f"What its compensation gave cannot be stored, so that is not kept. {problem}"
        output = {"note": message}
    build.emit(
        e.StepCompensated(
            at=build.now,
            step=command.step,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence,
            answer=output,
        )
    )


def undo_failed(build: Build, step_id: str, error: ErrorInfo) -> None:
    """An attempt to undo failed or was lost: try again with the same key, else a person is needed."""
    _, compensation = _compensation(build, step_id)
    step = build.state.steps[step_id]
    due = retry_due(
        compensation.retry,
        EffectContract.IDEMPOTENT,
        error,
        attempt=step.undo,
        first_scheduled_at=step.first_scheduled_at,
        now=build.now,
        jitter=build.facts.jitter,
    )
    if due is None:
        _gave_up(build, step_id, error)
        return
    armed = e.RetryArmed(
        at=build.now,
        step=step_id,
        generation=step.generation,
        attempt=step.attempt + 1,
        due=due,
        undo=step.undo + 1,
    )
    build.emit(armed)


def _gave_up(build: Build, step_id: str, error: ErrorInfo) -> None:
    generation = build.state.steps[step_id].generation
    build.emit(e.CompensationFailed(at=build.now, step=step_id, generation=generation, error=error))


def abandon_undo(build: Build, reason: str) -> None:
    """The run is terminated while something is being undone: what became of it is not awaited."""
    for i, s in build.state.steps.items():
        if s.undo and s.status not in (StepStatus.COMPENSATED, StepStatus.FAILED):
            _gave_up(build, i, ErrorInfo("terminated", sentence(f"The run was terminated: {reason}"), False))


def retry_undo(build: Build, command: c.RetryStep) -> None:
    """Try a compensation that failed again."""
    step = build.state.steps[command.step]
    build.emit(
        e.CompensationRetried(
            at=build.now,
            step=command.step,
            generation=step.generation,
            actor=command.actor,
            reason=command.reason,
        )
    )


def undone_by_hand(build: Build, command: c.SkipStep) -> Rejection | None:
    """Somebody undid the step without us."""
    step = build.state.steps[command.step]
    try:
        output = plain_json(command.output)
    except ValueError as error:
        return Rejection("invalid_output", f"What was done cannot be stored. {error}", "Correct it.", evidence=False)
    build.emit(
        e.StepCompensated(
            at=build.now,
            step=command.step,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence,
            answer=output,
            actor=command.actor,
            reason=command.reason,
        )
    )
    return None
