"""Sentences about the deadline of a run."""

from __future__ import annotations

from signoff.core.definition import DeadlinePolicy
from signoff.core.plan import Plan
from signoff.core.states import RunState, RunStatus
from signoff.core.wording import clock


def overdue(state: RunState) -> str:
    """That its deadline has passed, or nothing."""
    return " It is overdue: its deadline has passed." if state.overdue and not state.is_terminal else ""


def deadline(plan: Plan, state: RunState) -> str:
    """When the run must end, and what happens else; nothing where there is no deadline."""
    if state.deadline is None or state.is_terminal or state.stopping:
        return ""
    if state.status is RunStatus.PAUSED:
        return "The deadline of the run moves by the length of the pause."
    if state.capped:
        return f"The run must end by {clock(state.deadline)}, or it is paused: no run may take longer here."
    stops = plan.definition.policies.on_deadline is not DeadlinePolicy.NOTIFY
    return f"The run must end by {clock(state.deadline)}, or it is {'stopped' if stops else 'overdue'}."
