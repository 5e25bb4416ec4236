"""After an attempt that gave no result: try or ask again, probe whether a lost call happened, or ask a person."""

from __future__ import annotations

from datetime import timedelta

from signoff.core import events as e
from signoff.core.decide.advance import after, fail_step, settle_run
from signoff.core.decide.build import Build
from signoff.core.decide.inputs import resolved
from signoff.core.definition import ActivityConfig, EffectContract
from signoff.core.expression import ExpressionError
from signoff.core.flow import scope_of
from signoff.core.polling import next_poll_at
from signoff.core.retry import pause_s, retry_due
from signoff.core.states import ErrorInfo, idempotency_key

OUTCOME_UNKNOWN = "outcome_unknown"
UNKNOWN_CODES = ("worker_lost", "run_timeout", OUTCOME_UNKNOWN)
"""Errors after which nobody knows whether the call took effect."""


def _config(build: Build, step_id: str) -> ActivityConfig:
    config = build.plan.steps[step_id].config
    assert isinstance(config, ActivityConfig)
    return config


def try_again_or_fail(build: Build, step_id: str, error: ErrorInfo) -> None:
    """Arm the next attempt where the policy allows one more, else end the step as failed."""
    config, step = _config(build, step_id), build.state.steps[step_id]
    due = None
    if not build.state.stopping:
        due = retry_due(
            config.retry,
            config.effect,
            error,
            attempt=step.tries,
            first_scheduled_at=step.first_scheduled_at,
            now=build.now,
            jitter=build.facts.jitter,
        )
    if due is not None:
        build.emit(
            e.RetryArmed(at=build.now, step=step_id, generation=step.generation, attempt=step.attempt + 1, due=due)
        )
        settle_run(build)
    else:
        fail_step(build, step_id, error)
        after(build, step_id)


def not_yet(build: Build, step_id: str) -> None:
    """What a poll waits for is not true yet: ask again, until the deadline."""
    config, step = _config(build, step_id), build.state.steps[step_id]
    assert config.poll is not None
    due = None if build.state.stopping else next_poll_at(config.poll, step, build.plan.worktime, build.now)
    build.emit(
        e.PollAnswered(
            at=build.now,
            step=step_id,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence,
            due=due,
        )
    )
    if due is not None:
        settle_run(build)
        return
    times = "once" if step.polls == 0 else f"{step.polls + 1} times"
    message = f"It was asked {times}, and '{config.poll.until}' did not become true in time."
    fail_step(build, step_id, ErrorInfo("poll_deadline", message, False))
    after(build, step_id)


def answer_lost(build: Build, step_id: str, error: ErrorInfo) -> None:
    """The answer of a call that may not be repeated blindly was lost: a probe looks, or a person is asked."""
    config = _config(build, step_id)
    if config.effect is EffectContract.CHECK_FIRST and config.probe and not build.state.stopping:
        _arm_probe(build, step_id, 1)
    else:
        _nobody_knows(build, step_id, error)


def probe_failed(build: Build, step_id: str, error: ErrorInfo) -> None:
    """A probe gave no answer: as many follow as the policy lets a call be tried, then a person is asked."""
    config, step = _config(build, step_id), build.state.steps[step_id]
    if error.retryable and step.probe < config.retry.max_attempts and not build.state.stopping:
        _arm_probe(build, step_id, step.probe + 1)
        return
    first = step.error.message if step.error else "Its answer was lost."
    _nobody_knows(build, step_id, ErrorInfo(OUTCOME_UNKNOWN, f"{first} The probe failed too: {error.message}", False))


def _arm_probe(build: Build, step_id: str, number: int) -> None:
    step = build.state.steps[step_id]
    due = build.now + timedelta(seconds=pause_s(_config(build, step_id).retry, number, build.facts.jitter))
    build.emit(
        e.RetryArmed(
            at=build.now,
            step=step_id,
            generation=step.generation,
            attempt=step.attempt + 1,
            due=due,
            probe=number,
        )
    )
    settle_run(build)


def _nobody_knows(build: Build, step_id: str, error: ErrorInfo) -> None:
    """Only a person can say; in a run that is being stopped nobody is asked any more."""
    said = f"It is not known whether the call took effect. {error.message}"
    error = ErrorInfo(OUTCOME_UNKNOWN, said, False)
    if build.state.stopping:
        fail_step(build, step_id, error)
        after(build, step_id)
        return
    generation = build.state.steps[step_id].generation
    build.emit(e.OutcomeUnknown(at=build.now, step=step_id, generation=generation, error=error))
    settle_run(build)


def schedule_probe(build: Build, step_id: str) -> None:
    """Let a worker take the probe that was armed; where its input cannot be made, a person is asked."""
    config, step = _config(build, step_id), build.state.steps[step_id]
    key = idempotency_key(build.state.run_id, step_id, step)
    try:
        scope = {**scope_of(build.state), "call": {"key": key}}
        given = resolved(build.plan.probes[step_id].ask, scope, build.plan.label(step_id))
    except ExpressionError as problem:
        probe_failed(build, step_id, ErrorInfo("mapping_error", str(problem), False))
        return
    queue_s = config.timeouts.queue_s
    build.emit(
        e.ActivityScheduled(
            at=build.now,
            step=step_id,
            generation=step.generation,
            attempt=step.attempt + 1,
            key=f"{key}/probe",
            input=given,
            queue_due=build.now + timedelta(seconds=queue_s) if queue_s else None,
            probe=step.probe,
        )
    )
