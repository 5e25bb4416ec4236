"""Claims, results and losses of activities. Anything stale is refused and becomes evidence (semantics §6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import after, settle_run
from signoff.core.decide.build import Build
from signoff.core.decide.item_answers import claim_item, is_for_each, item_answered, item_of, stale_item
from signoff.core.decide.lost import (
    OUTCOME_UNKNOWN,
    UNKNOWN_CODES,
    answer_lost,
    not_yet,
    probe_failed,
    try_again_or_fail,
)
from signoff.core.decide.undoing import undo_failed, undone
from signoff.core.definition import ActivityConfig, EffectContract, StepKind
from signoff.core.digest import digest_of
from signoff.core.expression import ExpressionError
from signoff.core.flow import resolve_edges, scope_of
from signoff.core.forms import check_values
from signoff.core.payload import plain_json
from signoff.core.rejection import Rejection
from signoff.core.retry import within_total
from signoff.core.states import CLAIMABLE_RUNS, ErrorInfo, StepState, StepStatus, idempotency_key
from signoff.errors import InvalidInput

MAX_ERROR_CHARS = 4_000
MAX_ERROR_CODE_CHARS = 80


def claim(build: Build, command: c.ClaimActivity) -> Rejection | None:
    """Hand the scheduled attempt to one worker, with the next fencing token."""
    step = build.state.steps.get(command.step)
    if step is not None and step.items:
        return claim_item(build, command)
    fits = (
        step is not None
        and step.status is StepStatus.SCHEDULED
        and (step.generation, step.attempt) == (command.generation, command.attempt)
        and build.state.status in CLAIMABLE_RUNS
    )
    if step is None or not fits:
        return Rejection(
            "not_claimable",
            f"Step '{command.step}' is not waiting for a worker.",
            "Claim another task.",
            evidence=False,
        )
    config = build.plan.steps[command.step].config
    assert isinstance(config, ActivityConfig)
    first = None if step.probe else step.first_scheduled_at  # a look is no attempt: the total time is the call's
    build.emit(
        e.ActivityStarted(
            at=build.now,
            step=command.step,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence + 1,
            worker=command.actor.id,
            run_due=within_total(config.retry, first or build.now, build.now, config.timeouts.run_s),
        )
    )
    return None


def _stale(build: Build, command: c.CompleteActivity | c.FailActivity | c.ExpireLease) -> Rejection | None:
    state = build.state
    step = state.steps.get(command.step)
    if step is None or build.plan.steps[command.step].kind is not StepKind.ACTIVITY:
        return Rejection("unknown_step", f"There is no activity '{command.step}' in this run.", "Drop the result.")
    label = build.plan.label(command.step)
    if state.is_terminal:
        return Rejection(
            "run_over",
            f"A result for '{label}' came after the run had ended as {state.status}.",
            "Nothing to do; it is kept as evidence.",
        )
    if getattr(command, "digest", "") not in ("", state.digest):
        return Rejection(
            "wrong_digest",
            f"The result for '{label}' was made by another version of the definition.",
            "Update the worker.",
        )
    if is_for_each(build, command.step):
        return stale_item(build, command)
    given = (command.generation, command.attempt, command.fence)
    if given != (step.generation, step.attempt, step.fence):
        return Rejection(
            "stale_result",
            f"The result for '{label}' is from claim {given[0]}.{given[1]} #{given[2]}, "
            f"but the current one is {step.generation}.{step.attempt} #{step.fence}.",
            "Nothing to do; it is kept as evidence.",
        )
    if step.status is not StepStatus.RUNNING:
        known = _is_repetition(build, command)
        return Rejection(
            "already_known" if known else "stale_result",
            f"The answer of this claim of '{label}' is already known ({step.status})."
            if known
            else f"The result for '{label}' came after its claim was over ({step.status}).",
            "Nothing to do." if known else "Nothing to do; it is kept as evidence.",
            known=known,
        )
    return None


def _is_repetition(build: Build, command: c.CompleteActivity | c.FailActivity | c.ExpireLease) -> bool:
    """True where this very answer was accepted before, so that the sender may forget it."""
    step = build.state.steps[command.step]
    match command:
        case c.CompleteActivity() if step.undo:
            return step.status is StepStatus.COMPENSATED
        case c.CompleteActivity():
            output, error = _checked_output(build, command)
            accepted = step.status is StepStatus.SUCCEEDED
            return accepted and error is None and build.state.outputs.get(command.step) == output
        case c.FailActivity():
            return step.status in (StepStatus.RETRYING, StepStatus.FAILED) and step.error == _storable(command.error)
        case c.ExpireLease():
            return False


def complete(build: Build, command: c.CompleteActivity) -> Rejection | None:
    """Accept the output of the current claim, checked against the step's declared output."""
    if refused := _stale(build, command):
        return refused
    plan, now = build.plan, build.now
    step = build.state.steps[command.step]
    if is_for_each(build, command.step):
        output, error = _checked_output(build, command)
        item_answered(build, command, output, error)
        return None
    if step.probe:
        _probe_answered(build, command)
        return None
    if step.undo:
        undone(build, command)
        settle_run(build)
        return None
    output, error = _checked_output(build, command)
    ready, error = (False, error) if error else _is_ready(build, command.step, output)
    if error:
        _attempt_over(build, command.step, step, error)
        return None
    if not ready:
        not_yet(build, command.step)
        return None
    build.emit(
        e.ActivitySucceeded(
            at=now,
            step=command.step,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence,
            output=output,
            edges=resolve_edges(plan, build.state, command.step, "succeeded", output),
        )
    )
    after(build, command.step)
    return None


def _is_ready(build: Build, step_id: str, output: Any) -> tuple[bool, ErrorInfo | None]:
    """Whether the answer is the one that is waited for; it always is where nothing is polled."""
    until = build.plan.polls.get(step_id)
    try:
        return until is None or until.decide({**scope_of(build.state), "answer": output}), None
    except ExpressionError as problem:
        return False, ErrorInfo("condition_error", f"It cannot be said whether to ask again. {problem}", False)


def _probe_answered(build: Build, command: c.CompleteActivity) -> None:
    """A probe was answered: the lost call happened, or it is tried again, or the answer does not say."""
    plan, step = build.plan, build.state.steps[command.step]
    claim: dict[str, Any] = {
        "step": command.step,
        "generation": step.generation,
        "attempt": step.attempt,
        "fence": step.fence,
    }
    try:
        scope = {**scope_of(build.state), "call": {"key": idempotency_key(build.state.run_id, command.step, step)}}
        happened, found = plan.probes[command.step].judge(scope, plain_json(command.output))
    except ValueError as problem:
        _attempt_over(build, command.step, step, ErrorInfo("unclear_probe", f"The answer does not say. {problem}"))
        return
    if not happened:
        build.emit(e.ProbeFoundNothing(at=build.now, **claim))
        try_again_or_fail(build, command.step, step.error or ErrorInfo(OUTCOME_UNKNOWN, "Its answer was lost."))
        return
    output, error = _checked_output(build, replace(command, output=found))
    if error:
        _attempt_over(build, command.step, step, error)
        return
    edges = resolve_edges(plan, build.state, command.step, "succeeded", output)
    build.emit(e.ActivitySucceeded(at=build.now, **claim, output=output, edges=edges, probed=True))
    after(build, command.step)


def _checked_output(build: Build, command: c.CompleteActivity) -> tuple[Any, ErrorInfo | None]:
    config = build.plan.steps[command.step].config
    assert isinstance(config, ActivityConfig)
    what = f"the output of '{build.plan.label(command.step)}'"
    try:
        output = plain_json(command.output)
    except ValueError as error:
        return None, ErrorInfo("invalid_output", f"Something is wrong with {what}. {error}", False)
    if not config.output:
        return output, None
    clean, problems = check_values(config.output, output, what=what)
    if problems:
        return None, ErrorInfo("invalid_output", " ".join(p.sentence for p in problems), False)
    return clean, None


def fail(build: Build, command: c.FailActivity) -> Rejection | None:
    """Record the failed attempt; try again where the policy allows it."""
    if refused := _stale(build, command):
        return refused
    error = _storable(command.error)
    if is_for_each(build, command.step):
        item_answered(build, command, None, error)
    else:
        _attempt_over(build, command.step, build.state.steps[command.step], error)
    return None


def _storable(error: ErrorInfo) -> ErrorInfo:
    """A worker's error, short enough and of whole characters."""
    code, message = (text.encode(errors="replace").decode() for text in (error.code, error.message))
    return ErrorInfo(code[:MAX_ERROR_CODE_CHARS] or "failed", message[:MAX_ERROR_CHARS], error.retryable)


def expire_lease(build: Build, command: c.ExpireLease) -> Rejection | None:
    """The worker was lost: that counts as an attempt."""
    if refused := _stale(build, command):
        return refused
    if is_for_each(build, command.step):
        worker = item_of(build, command).worker
        lost = ErrorInfo("worker_lost", f"Worker '{worker}' was lost: its lease ran out without a heartbeat.")
        item_answered(build, command, None, lost)
        return None
    step = build.state.steps[command.step]
    message = f"Worker '{step.worker}' was lost: its lease ran out without a heartbeat."
    _attempt_over(build, command.step, step, ErrorInfo("worker_lost", message))
    return None


def attempt_timed_out(build: Build, step_id: str, message: str, code: str) -> None:
    """The attempt took too long (in the queue or at work)."""
    _attempt_over(build, step_id, build.state.steps[step_id], ErrorInfo(code, message))


def _attempt_over(build: Build, step_id: str, step: StepState, error: ErrorInfo) -> None:
    config = build.plan.steps[step_id].config
    assert isinstance(config, ActivityConfig)
    unknown = error.code in UNKNOWN_CODES and not step.probe and not step.undo
    lost = unknown and config.effect in (EffectContract.AT_MOST_ONCE, EffectContract.CHECK_FIRST)
    build.emit(
        e.ActivityFailed(
            at=build.now,
            step=step_id,
            generation=step.generation,
            attempt=step.attempt,
            fence=step.fence,
            error=error,
        )
    )
    if step.undo:
        undo_failed(build, step_id, error)
        settle_run(build)
    elif step.probe:
        probe_failed(build, step_id, error)
    elif lost:
        answer_lost(build, step_id, error)
    else:
        try_again_or_fail(build, step_id, error)


def payload_digest(command: c.Command) -> str:
    """Digest of what a stale result carried, for the evidence."""
    body = getattr(command, "output", None)
    try:
        return digest_of(body)
    except InvalidInput:
        return ""
