"""What is said about an open approval or form: who is asked, since when, what happens next and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.plan import Plan
from signoff.core.quorum import counted, given
from signoff.core.states import ApprovalState, Rung, StepState
from signoff.core.wording import clock, listed


def asking_words(
    plan: Plan, step_id: str, step: StepState, waits_for: tuple[str, ...], names: Mapping[str, str]
) -> tuple[str, str]:
    """What is, and what happens by itself."""
    assert step.approval is not None
    label = f"'{plan.label(step_id)}'"
    following = _next(plan, step_id, step)
    have = f" ({given(step.approval)} of {step.approval.required} approvals given)"
    have = "" if step.approval.required == 1 else f" ({of_quotas(step.approval)})" if step.approval.quotas else have
    have += f", in round {step.round}" if step.round > 1 else ""
    known = listed(waits_for, "or")
    more = _escalated(step.approval, names)
    if isinstance(plan.steps[step_id].config, FormConfig):
        who = known or "somebody, but nobody is left who may"
        return f"{label} has waited for {who} to fill it in since {clock(step.since)}{have}.{more}", following
    if not waits_for:
        said = f"{label} is open since {clock(step.since)}{have}, but nobody is left who may decide.{more}"
        return said, following
    return f"{label} has waited for a decision of {known} since {clock(step.since)}{have}.{more}", following


def of_quotas(asked: ApprovalState) -> str:
    """How far each quota is: `finance 1 of 2, legal 0 of 1`; in a sequence with the one that is asked now."""
    said = [f"{q.name} {len(have)} of {q.required}" for q, have in zip(asked.quotas, counted(asked), strict=True)]
    return f"{', then '.join(said)}" if asked.in_sequence else ", ".join(said)


def _escalated(asked: ApprovalState, names: Mapping[str, str]) -> str:
    """Who came in because nobody had decided in time."""
    if not asked.escalated:
        return ""
    who = listed([names.get(p, p) for p in asked.escalated])
    instead = f" instead of {listed([names.get(p, p) for p in asked.released])}" if asked.released else " as well"
    return f" It was escalated: {who} {'is' if len(asked.escalated) == 1 else 'are'} asked{instead}."


def _next(plan: Plan, step_id: str, step: StepState) -> str:
    assert step.approval is not None
    expiry = f"It expires at {clock(step.expires)}." if step.expires else ""
    ladder = step.approval.ladder
    if not ladder:
        return expiry
    reminder = next((r for r in ladder if r.kind == "reminder"), None)
    escalation = next((r for r in ladder if r.kind == "escalation"), None)
    said = [f"A reminder is sent at {clock(reminder.due)}."] if reminder else []
    said += [_escalates(plan, step_id, escalation)] if escalation else []
    return " ".join([*said, *([expiry] if expiry else [])])


def _escalates(plan: Plan, step_id: str, rung: Rung) -> str:
    config = plan.steps[step_id].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    wanted = config.escalation[rung.number - 1]
    named = [*(f"group '{g}'" for g in wanted.groups), *wanted.people]
    return f"At {clock(rung.due)} {listed(named)} {'takes over' if wanted.hand_over else 'is asked as well'}."


def due_of(step: StepState) -> datetime | None:
    """When a step must be over, as people understand it: the expiry of one that asks, else when its timer fires."""
    return step.expires if step.approval is not None else step.due
