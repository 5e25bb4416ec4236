"""Completing an activity by hand: somebody did it, says what came of it, and the run goes on (semantics §8)."""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import after
from signoff.core.decide.build import Build
from signoff.core.decide.operators import may_operate, not_changed, substitute_of
from signoff.core.definition import ActivityConfig
from signoff.core.flow import needs_somebody, resolve_edges
from signoff.core.rejection import Rejection
from signoff.core.states import StepState, StepStatus

COMPLETABLE = (
    StepStatus.FAILED,
    StepStatus.SCHEDULED,
    StepStatus.RETRYING,
    StepStatus.WAITING,
    StepStatus.OUTCOME_UNKNOWN,
)


def complete(build: Build, command: c.CompleteByHand) -> Rejection | None:
    """The step succeeded, with the output given; the history says by whom."""
    step = build.state.steps.get(command.step)
    if step is None:
        return Rejection("unknown_step", f"There is no step '{command.step}' in this run.", "Correct the name.")
    label = build.plan.label(command.step)
    wanted = f"complete step '{label}' by hand"
    refused = (
        may_operate(build, command, wanted)
        or not_changed(build, command, step.changed, wanted)
        or _not_now(build, command, step, wanted)
    )
    if refused:
        return refused
    output, wrong = substitute_of(build, command.step, command.output, f"the output of '{label}'", wanted=wanted)
    if wrong:
        return wrong
    build.emit(
        e.StepCompletedByHand(
            at=build.now,
            step=command.step,
            generation=step.generation,
            actor=command.actor,
            reason=command.reason,
            output=output,
            edges=resolve_edges(build.plan, build.state, command.step, "succeeded", output),
        )
    )
    after(build, command.step)
    return None


def _not_now(build: Build, command: c.CompleteByHand, step: StepState, wanted: str) -> Rejection | None:
    if not isinstance(build.plan.steps[command.step].config, ActivityConfig):
        return Rejection(
            "not_an_activity",
            f"Expected to {wanted}, but it is no activity.",
            "Let those who are asked answer it, or skip it.",
        )
    if build.state.stopping:
        return Rejection("stopping", f"Expected to {wanted}, but the run is being stopped.", "Wait for it to end.")
    if step.status is StepStatus.RUNNING:
        return Rejection(
            "effect_under_way",
            f"Expected to {wanted}, but worker '{step.worker}' is at it and it may be done twice.",
            "Wait for its answer, or terminate the run.",
        )
    if step.status not in COMPLETABLE:
        return Rejection(
            "cannot_complete_now",
            f"Expected to {wanted}, but it is {step.status}.",
            "Complete it when it waits or has failed.",
        )
    if step.outcome and not needs_somebody(build.plan, build.state, command.step):
        return Rejection(
            "already_dealt_with",
            f"Expected to {wanted}, but the process already went on from its end ({step.outcome}).",
            "Start a new run if it must be done again.",
        )
    return None
