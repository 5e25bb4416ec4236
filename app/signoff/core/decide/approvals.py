"""A person's decision: who, about what, allowed by which authority (semantics §7)."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.answering import missing_answers, must_differ
from signoff.core.commands import CheckApprovers, Decide
from signoff.core.decide.advance import after, fail_step
from signoff.core.decide.asking import (
    asked_of,
    authority_of,
    changed_meanwhile,
    may_not_answer,
    not_now,
)
from signoff.core.decide.build import Build
from signoff.core.decide.returning import RETURNED, may_not_return, send_back
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.flow import resolve_edges
from signoff.core.quorum import same_person, settled_outcome
from signoff.core.rejection import Rejection
from signoff.core.states import ErrorInfo, StepState, StepStatus

OUTCOMES = ("approved", "rejected", RETURNED)
MAX_COMMENT_CHARS = 10_000


def decide(build: Build, command: Decide) -> Rejection | None:
    """Record one vote and settle the approval where it is the one that decides."""
    step = build.state.steps.get(command.step)
    if step is None or not isinstance(build.plan.steps[command.step].config, ApprovalConfig):
        return Rejection("unknown_step", f"There is no approval '{command.step}' in this run.", "Open the inbox.")
    refused = (
        may_not_answer(build, command, step)
        or not_now(build, command, same=_same_as_before(command, step))
        or _bad_form(build, command)
        or changed_meanwhile(build, command, step)
        or may_not_return(build, command, step)
    )
    if refused:
        return refused
    build.emit(
        e.DecisionRecorded(
            at=build.now,
            step=command.step,
            generation=step.generation,
            round=step.round,
            actor=command.actor,
            outcome=command.outcome,
            comment=command.comment,
            shown_digest=command.shown_digest or asked_of(step).shown_digest,
            authority=authority_of(build, command),
            link=command.link,
        )
    )
    if command.outcome == RETURNED:
        send_back(build, command)
        return None
    after_vote = build.state.steps[command.step]
    config = build.plan.steps[command.step].config
    assert isinstance(config, ApprovalConfig)
    at_once = config.settles_at_first_rejection
    outcome = settled_outcome(asked_of(after_vote), build.state.started_by, at_first_rejection=at_once)
    if outcome:
        _settle(build, command, after_vote, outcome)
    else:
        _fail_if_unreachable(build, command.step)
    for other in must_differ(build.plan, command.step):
        step = build.state.steps[other]
        if step.approval and step.status is StepStatus.WAITING and not build.state.is_terminal:
            _fail_if_unreachable(build, other)
    return None


def check_approvers(build: Build, command: CheckApprovers) -> Rejection | None:
    """Compare an open approval or form with the people who exist now; without enough it fails as `no_approver`."""
    step = build.state.steps.get(command.step)
    if step is None or step.approval is None or step.status is not StepStatus.WAITING or build.state.is_terminal:
        message = f"Step '{command.step}' of this run asks nobody now."
        return Rejection("not_open", message, "Nothing to do.", evidence=False)
    if not _fail_if_unreachable(build, command.step):
        message = f"'{build.plan.label(command.step)}' can still be decided."
        return Rejection("still_decidable", message, "Nothing to do.", evidence=False)
    return None


def _fail_if_unreachable(build: Build, step_id: str) -> bool:
    """A quorum is never clamped: where too few are left to reach it, the step says so and needs an operator."""
    approval = asked_of(build.state.steps[step_id])
    missing = missing_answers(build.plan, build.state, step_id, build.facts.directory.people)
    if missing <= 0:
        return False
    left = approval.required - sum(v.outcome == "approved" for v in approval.votes)
    able = f"only {left - missing}" if left > missing else "none"
    wanted = "1 more approval is" if left == 1 else f"{left} more approvals are"
    message = f"No approver: {wanted} needed, but {able} of those asked may still decide."
    if isinstance(build.plan.steps[step_id].config, FormConfig):
        message = "Nobody of those asked can fill it in any more."
    fail_step(build, step_id, ErrorInfo("no_approver", message, False))
    after(build, step_id)
    return True


def _same_as_before(command: Decide, step: StepState) -> bool:
    votes = step.approval.votes if step.approval else ()
    return any(same_person(v.person, command.actor.id) and v.outcome == command.outcome for v in votes)


def _bad_form(build: Build, command: Decide) -> Rejection | None:
    label = build.plan.label(command.step)
    config = build.plan.steps[command.step].config
    assert isinstance(config, ApprovalConfig)
    if command.outcome not in OUTCOMES:
        return Rejection(
            "unknown_outcome",
            f"'{command.outcome[:40]}' is no decision for '{label}'.",
            "Approve or reject.",
            evidence=False,
        )
    if len(command.comment) > MAX_COMMENT_CHARS:
        message = f"The comment on '{label}' is longer than {MAX_COMMENT_CHARS} characters."
        return Rejection("bad_comment", message, "Shorten it.", evidence=False)
    if command.outcome in (*config.comment_required_on, RETURNED) and not command.comment.strip():
        return Rejection(
            "comment_missing", f"'{label}' needs a comment when it is {command.outcome}.", "Say why.", evidence=False
        )
    return None


def _settle(build: Build, command: Decide, step: StepState, outcome: str) -> None:
    votes = asked_of(step).votes
    deciding = [v for v in votes if v.outcome == outcome]
    output = {
        "outcome": outcome,
        "decided_by": [v.person for v in deciding],
        "comment": deciding[-1].comment if deciding else "",
    }
    edges = resolve_edges(build.plan, build.state, command.step, outcome, output)
    build.emit(
        e.ApprovalSettled(
            at=build.now, step=command.step, generation=step.generation, outcome=outcome, output=output, edges=edges
        )
    )
    after(build, command.step)
