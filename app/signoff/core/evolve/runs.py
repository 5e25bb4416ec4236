"""How facts about the whole run change the state."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from signoff.core import events as e
from signoff.core import items as lists
from signoff.core.altered import altered
from signoff.core.plan import Plan
from signoff.core.states import ACTIVE_STEPS, ApprovalState, RunState, RunStatus, StepState


def started(plan: Plan, state: RunState, event: e.RunStarted) -> RunState:
    """The first event of every run."""
    return RunState(
        run_id=event.run_id,
        tenant=event.tenant,
        digest=event.digest,
        version=event.definition_version,
        status=RunStatus.RUNNING,
        sequence=state.sequence,
        since=event.at,
        started_at=event.at,
        started_by=event.actor.id,
        business_key=event.business_key,
        input=event.input,
        deadline=event.deadline,
        parent=event.parent,
        parent_step=event.parent_step,
        parent_generation=event.parent_generation,
        depth=event.depth,
        capped=event.capped,
        steps={i: StepState(since=event.at, changed=state.sequence) for i in plan.steps},
        edges={},
        outputs={},
    )


def deadline_passed(plan: Plan, state: RunState, event: e.DeadlinePassed) -> RunState:
    """The run is overdue, or at the end of what its tenant may use; what follows says whether it goes on."""
    return altered(state, deadline=event.then, capped="", overdue=state.overdue or not event.capped)


def paused(plan: Plan, state: RunState, event: e.RunPaused) -> RunState:
    """Clocks stop; due times keep their value and are shifted on resume."""
    return altered(state, status=RunStatus.PAUSED, since=event.at, reason=event.reason, paused_at=event.at)


def resumed(plan: Plan, state: RunState, event: e.RunResumed) -> RunState:
    """Clocks go on. Where nothing can, `run.stalled` follows in the same commit."""
    state = _clocks_go_on(state, event.at)
    return altered(state, status=RunStatus.RUNNING, since=event.at, reason="")


def _clocks_go_on(state: RunState, at: datetime) -> RunState:
    """After a pause every due time moves by the part of the pause in which its clock would have run."""
    if state.paused_at is None:
        return state
    began = state.paused_at
    steps = {}
    for i, s in state.steps.items():
        if s.status not in ACTIVE_STEPS:
            steps[i] = s
            continue
        if s.items:
            items = lists.shifted(s.items, began, at)
            steps[i] = altered(s, items=items, due=lists.clock_of(items)[1])
            continue
        stood = at - max(began, s.since or began)
        first = s.first_scheduled_at
        steps[i] = altered(
            s,
            due=s.due + stood if s.due else None,
            first_scheduled_at=first + (at - max(began, first)) if first else None,
            approval=_ladder_later(s.approval, stood) if s.approval else None,
        )
    deadline = state.deadline + (at - began) if state.deadline else None
    return altered(state, paused_at=None, steps=steps, deadline=deadline)


def _ladder_later(asked: ApprovalState, stood: timedelta) -> ApprovalState:
    if not asked.ladder:
        return asked
    ladder = tuple(replace(r, due=r.due + stood) for r in asked.ladder)
    return altered(asked, ladder=ladder, expires=asked.expires + stood if asked.expires else None)


def stalled(plan: Plan, state: RunState, event: e.RunStalled) -> RunState:
    """A person is needed."""
    return altered(state, status=RunStatus.STALLED, since=event.at, reason=event.reason)


def stopping(plan: Plan, state: RunState, event: e.RunStopping) -> RunState:
    """No new work; what is under way is awaited. A pause ends here."""
    state = _clocks_go_on(state, event.at)
    return altered(
        state,
        status=RunStatus.CANCELLING,
        since=event.at,
        reason=event.reason,
        stopping=event.outcome,
        undo=event.compensate,
    )


def ended(plan: Plan, state: RunState, event: e.RunEnded) -> RunState:
    """A terminal state, for ever."""
    return altered(
        state,
        status=RunStatus(event.outcome),
        since=event.at,
        reason=event.reason,
        stopping="",
        paused_at=None,
        deadline=None,
        steps={i: altered(s, timer=None, due=None) if s.timer else s for i, s in state.steps.items()},
    )


def input_edited(plan: Plan, state: RunState, event: e.InputEdited) -> RunState:
    """The mended input."""
    return altered(state, input=event.input, input_changed=state.sequence)


def unchanged(plan: Plan, state: RunState, event: e.Event) -> RunState:
    """Evidence changes nothing but the sequence."""
    return state
