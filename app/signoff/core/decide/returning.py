"""Send-back, the one form of loop: an approval or a form returns the work to an earlier step (semantics §5)."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.commands import Decide, ReturnForm
from signoff.core.decide.advance import advance
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.graph import reachable_from
from signoff.core.plan import successors_of
from signoff.core.rejection import Rejection
from signoff.core.standing_in import delegation_of
from signoff.core.states import StepState, StepStatus

RETURNED = "returned"
Returning = Decide | ReturnForm


def _target(build: Build, command: Returning) -> str:
    config = build.plan.steps[command.step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    if command.to:
        return command.to if command.to in config.returns_to else ""
    return config.returns_to[0] if len(config.returns_to) == 1 else ""


def _begin_again(build: Build, target: str) -> list[str]:
    """The target and everything reachable from it, in the order of the plan."""
    reached = reachable_from(successors_of(build.plan.definition), [target])
    return [i for i in build.plan.steps if i in reached]


def may_not_return(build: Build, command: Returning, step: StepState) -> Rejection | None:
    """Why the work cannot be returned now, or None. Other outcomes are not its business."""
    if isinstance(command, Decide) and command.outcome != RETURNED:
        return None
    config = build.plan.steps[command.step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    label = build.plan.label(command.step)
    instead = "Approve or reject." if isinstance(config, ApprovalConfig) else "Fill it in."
    if not config.returns_to:
        message = f"'{label}' does not offer to send the work back."
        return Rejection("not_returnable", message, instead, evidence=False)
    target = _target(build, command)
    if not target:
        known = ", ".join(f"'{build.plan.label(i)}'" for i in config.returns_to)
        message = f"Expected to return '{label}' to a step that it offers."
        return Rejection("unknown_target", message, f"Choose one of: {known}.", evidence=False)
    if step.round >= config.max_rounds:
        message = f"'{label}' is in round {step.round}, the last of {config.max_rounds}."
        return Rejection("no_more_rounds", message, instead, evidence=False)
    for i in _begin_again(build, target):
        if build.state.steps[i].status is StepStatus.OUTCOME_UNKNOWN or build.state.steps[i].probe:
            message = f"Expected to return '{label}', but it is not known whether '{build.plan.label(i)}' took effect."
            return Rejection("effect_under_way", message, "Wait until that is known, then return it.", evidence=False)
        if build.state.steps[i].status is StepStatus.RUNNING:
            message = (
                f"Expected to return '{label}', but '{build.plan.label(i)}' is being done and its effect may happen."
            )
            return Rejection("effect_under_way", message, "Wait for its answer, then return it.", evidence=False)
    return None


def send_back(build: Build, command: Returning, *, shown_digest: str = "", authority: str = "") -> None:
    """Begin a new round from the target on."""
    target = _target(build, command)
    again = _begin_again(build, target)
    steps = build.state.steps
    build.emit(
        e.WorkReturned(
            at=build.now,
            step=command.step,
            generation=steps[command.step].generation,
            to=target,
            actor=command.actor,
            comment=command.comment,
            rounds=tuple((i, steps[i].generation + 1, steps[i].round + 1) for i in again),
            shown_digest=shown_digest,
            authority=authority,
            on_behalf_of=command.on_behalf_of,
            delegation=delegation_of(build.facts.directory, command.actor.id, command.on_behalf_of, build.now)
            if command.on_behalf_of
            else None,
            signed_in=command.signed_in if isinstance(command, ReturnForm) else None,
            link=command.link if isinstance(command, ReturnForm) else "",
        )
    )
    advance(build, again)
