"""A person's decision: who, about what, allowed by which authority (semantics §7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.core import events as e
from signoff.core.answering import missing_answers, must_differ
from signoff.core.asking_words import of_quotas
from signoff.core.commands import CheckApprovers, Decide
from signoff.core.decide.advance import after, fail_step
from signoff.core.decide.asking import (
    asked_of,
    authority_of,
    changed_meanwhile,
    delegation,
    may_not_answer,
    not_now,
    voter_of,
)
from signoff.core.decide.build import Build
from signoff.core.decide.confirming import unconfirmed
from signoff.core.decide.forms import wrong_values
from signoff.core.decide.returning import RETURNED, may_not_return, send_back
from signoff.core.definition import ApprovalConfig, FormConfig, RejectionRule
from signoff.core.digest import canonical_json
from signoff.core.flow import resolve_edges
from signoff.core.forms import check_values
from signoff.core.quorum import counted, distinct, find_person, given, same_person, settled_outcome, stage_of
from signoff.core.rejection import Rejection
from signoff.core.showing import form_digest
from signoff.core.states import ApprovalState, ErrorInfo, StepState, StepStatus

MAX_VALUES_BYTES = 16_384
"""What is filled in when deciding stands in every snapshot of the run, once for each who decides."""
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
        or unconfirmed(build, command)
    )
    if refused:
        return refused
    values, refused = _values(build, command)
    if refused:
        return refused
    _record(build, command, values)
    if command.outcome == RETURNED:
        send_back(build, command)
        return None
    after_vote = build.state.steps[command.step]
    asked = asked_of(after_vote)
    at_once = _settles_at_first_rejection(build, command.step, asked)
    outcome = settled_outcome(asked, build.state.started_by, at_first_rejection=at_once)
    if outcome:
        _settle(build, command, after_vote, outcome)
    else:
        _ask_next(build, command.step)
        _fail_if_unreachable(build, command.step)
    for other in must_differ(build.plan, command.step):
        step = build.state.steps[other]
        if step.approval and step.status is StepStatus.WAITING and not build.state.is_terminal:
            _fail_if_unreachable(build, other)
    return None


def _record(build: Build, command: Decide, values: dict[str, Any]) -> None:
    step = build.state.steps[command.step]
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
            values=values,
            definition_digest=build.plan.digest,
            form_digest=form_digest(build.plan, command.step),
            zone=build.plan.definition.policies.zone,
            on_behalf_of=_spelled(build, command),
            delegation=delegation(build, command),
            signed_in=command.signed_in,
        )
    )


def _spelled(build: Build, command: Decide) -> str:
    """Whom it is decided for, as the roster spells them."""
    roster = asked_of(build.state.steps[command.step]).roster
    return (find_person(command.on_behalf_of, roster) or "") if command.on_behalf_of else ""


def _settles_at_first_rejection(build: Build, step_id: str, asked: ApprovalState) -> bool:
    config = build.plan.steps[step_id].config
    assert isinstance(config, ApprovalConfig)
    if config.rejection is RejectionRule.DEFAULT:
        return all(q.required == 1 for q in asked.quotas) if asked.quotas else asked.required == 1
    return config.rejection is RejectionRule.AT_ONCE


def _ask_next(build: Build, step_id: str) -> None:
    """In a sequence the next quota is asked when the one before is filled."""
    step = build.state.steps[step_id]
    asked = asked_of(step)
    if not asked.in_sequence:
        return
    stage, voted = stage_of(asked), distinct(v.person for v in asked.votes)
    before = stage - 1
    if stage == 0 or len(counted(asked)[stage]) or find_person(voted[-1], counted(asked)[before]) is None:
        return
    quota = asked.quotas[stage]
    people = tuple(p for p in quota.people if not find_person(p, voted))
    build.emit(
        e.NextAsked(
            at=build.now,
            step=step_id,
            generation=step.generation,
            stage=stage,
            name=quota.name,
            people=people,
            roster=(*voted, *people),
        )
    )


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
    left = approval.required - given(approval)
    able = f"only {left - missing}" if left > missing else "none"
    wanted = "1 more approval is" if left == 1 else f"{left} more approvals are"
    message = f"No approver: {wanted} needed, but {able} of those asked may still decide."
    if approval.quotas:
        message = f"No approver: {wanted} needed ({of_quotas(approval)}), but {able} can be had, each person once."
    if isinstance(build.plan.steps[step_id].config, FormConfig):
        message = "Nobody of those asked can fill it in any more."
    fail_step(build, step_id, ErrorInfo("no_approver", message, False))
    after(build, step_id)
    return True


def _values(build: Build, command: Decide) -> tuple[dict[str, Any], Rejection | None]:
    """What was filled in when deciding: all that is required to approve; what is given otherwise must fit too."""
    label, config = build.plan.label(command.step), build.plan.steps[command.step].config
    assert isinstance(config, ApprovalConfig)
    fields = config.fields
    if command.outcome != "approved":
        fields = tuple(replace(f, required=False) for f in fields)
    clean, problems = check_values(fields, command.values, what=f"the decision on '{label}'")
    if problems:
        return {}, wrong_values(problems, "invalid_values")
    clean = {name: value for name, value in clean.items() if value is not None}
    size = len(canonical_json(clean))
    if size > MAX_VALUES_BYTES:
        message = f"What was filled in for '{label}' has {size} bytes; at most {MAX_VALUES_BYTES} are allowed."
        return {}, Rejection("invalid_values", message, "Shorten it.", evidence=False)
    return clean, None


def _same_as_before(command: Decide, step: StepState) -> bool:
    votes = step.approval.votes if step.approval else ()
    return any(same_person(v.person, voter_of(command)) and v.outcome == command.outcome for v in votes)


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
    output: dict[str, Any] = {
        "outcome": outcome,
        "decided_by": [v.person for v in deciding],
        "comment": deciding[-1].comment if deciding else "",
    }
    config = build.plan.steps[command.step].config
    if isinstance(config, ApprovalConfig) and config.fields:
        output["values"] = deciding[-1].values if deciding else {}
        output["answers"] = [{"person": v.person, "outcome": v.outcome, "values": v.values} for v in votes]
    edges = resolve_edges(build.plan, build.state, command.step, outcome, output)
    build.emit(
        e.ApprovalSettled(
            at=build.now, step=command.step, generation=step.generation, outcome=outcome, output=output, edges=edges
        )
    )
    after(build, command.step)
