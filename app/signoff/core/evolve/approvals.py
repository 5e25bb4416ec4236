"""How facts about approvals and forms change the state."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.evolve.steps import begun_again, with_step
from signoff.core.plan import Plan
from signoff.core.quorum import find_person, same_person
from signoff.core.states import ApprovalState, Rung, RunState, StepStatus, TimerKind, Vote


def opened(plan: Plan, state: RunState, event: e.ApprovalOpened) -> RunState:
    """People are asked; the step waits."""
    approval = ApprovalState(
        event.roster,
        event.required,
        event.shown_digest,
        event.requester_may_decide,
        excluded=event.excluded,
        quotas=event.quotas,
        in_sequence=event.in_sequence,
        groups=event.groups if "groups" in event.reckoned else (),
    )
    return _with_ladder(state, event, approval, event.ladder, event.due, status=StepStatus.WAITING)


def _with_ladder(
    state: RunState,
    event: e.StepEvent,
    approval: ApprovalState,
    ladder: tuple[Rung, ...],
    expires: datetime | None,
    **changes: Any,
) -> RunState:
    """The step with its one timer on what comes next: the next rung of the ladder, or the expiry."""
    timer = TimerKind.LADDER if ladder else TimerKind.EXPIRY if expires else None
    due = ladder[0].due if ladder else expires
    if ladder or approval.ladder:
        approval = altered(approval, ladder=ladder, expires=expires if ladder else None)
    return with_step(state, event.step, event.at, approval=approval, timer=timer, due=due, **changes)


def reminded(plan: Plan, state: RunState, event: e.ReminderSent) -> RunState:
    """That many were sent; the timer goes on to what comes next."""
    approval = state.steps[event.step].approval
    assert approval is not None
    left = tuple(r for r in approval.ladder if not (r.kind == "reminder" and r.number <= event.number))
    approval_then = altered(approval, reminded=event.number)
    return _with_ladder(state, event, approval_then, left, state.steps[event.step].expires)


def escalated(plan: Plan, state: RunState, event: e.PeopleEscalated) -> RunState:
    """Others are asked; the timer goes on to what comes next."""
    approval = state.steps[event.step].approval
    assert approval is not None
    left = tuple(r for r in approval.ladder if not (r.kind == "escalation" and r.number <= event.number))
    approval_then = altered(
        approval,
        roster=event.roster,
        escalated=(*(p for p in approval.escalated if p not in event.removed), *event.added),
        released=(*approval.released, *event.removed),
        quotas=event.quotas or approval.quotas,
    )
    return _with_ladder(state, event, approval_then, left, state.steps[event.step].expires)


def decided(plan: Plan, state: RunState, event: e.DecisionRecorded) -> RunState:
    """One more vote; the step's clock goes on."""
    step = state.steps[event.step]
    assert step.approval is not None
    person, name, by = _voter(event, step.approval)
    vote = Vote(person, name, event.outcome, event.comment, event.at, event.actor.channel, event.values, by)
    approval = altered(step.approval, votes=(*step.approval.votes, vote))
    return with_step(state, event.step, event.at, approval=approval, timer=step.timer, due=step.due)


def _voter(event: e.DecisionRecorded | e.FormSubmitted, asked: ApprovalState) -> tuple[str, str, str]:
    """Whose vote it is as the roster spells them, the name that is shown, and who gave it for them ("" themselves)."""
    if not event.delegation:
        return find_person(event.actor.id, asked.roster) or event.actor.id, event.actor.shown, ""
    person = find_person(event.on_behalf_of, asked.roster) or event.on_behalf_of
    return person, f"{event.actor.shown} (for {event.delegation.name})", event.actor.id


def vote_withdrawn(plan: Plan, state: RunState, event: e.VoteWithdrawn) -> RunState:
    """One vote fewer; the step's clock goes on."""
    step = state.steps[event.step]
    assert step.approval is not None
    left = tuple(v for v in step.approval.votes if not same_person(v.human, event.actor.id))
    return with_step(
        state, event.step, event.at, approval=altered(step.approval, votes=left), timer=step.timer, due=step.due
    )


def reassigned(plan: Plan, state: RunState, event: e.PeopleReassigned) -> RunState:
    """Other people are asked; the step's clock goes on."""
    step = state.steps[event.step]
    assert step.approval is not None
    kept = tuple(p for p in step.approval.assigned if p not in event.removed)
    approval = altered(
        step.approval,
        roster=event.roster,
        assigned=(*kept, *event.added),
        escalated=tuple(p for p in step.approval.escalated if p not in event.removed),
        released=tuple(p for p in step.approval.released if p not in event.added),
        quotas=event.quotas or step.approval.quotas,
    )
    return with_step(state, event.step, event.at, approval=approval, timer=step.timer, due=step.due)


def next_asked(plan: Plan, state: RunState, event: e.NextAsked) -> RunState:
    """The next quota of a sequence is asked, those before no more; the step's clock goes on."""
    step = state.steps[event.step]
    assert step.approval is not None
    gone = tuple(p for p in step.approval.roster if p not in event.roster)
    approval = altered(step.approval, roster=event.roster, released=(*step.approval.released, *gone))
    return with_step(state, event.step, event.at, approval=approval, timer=step.timer, due=step.due)


def form_opened(plan: Plan, state: RunState, event: e.FormOpened) -> RunState:
    """People are asked for values: an approval that one submission settles, whoever on the roster gives it."""
    asked = ApprovalState(event.roster, 1, event.shown_digest, requester_may_decide=True)
    return _with_ladder(state, event, asked, event.ladder, event.due, status=StepStatus.WAITING)


def submitted(plan: Plan, state: RunState, event: e.FormSubmitted) -> RunState:
    """The step has its output; who gave it is kept like a vote."""
    asked = state.steps[event.step].approval
    assert asked is not None
    person, name, by = _voter(event, asked)
    vote = Vote(person, name, "submitted", "", event.at, event.actor.channel, by=by)
    state = altered(state, outputs={**state.outputs, event.step: event.output})
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SUCCEEDED,
        outcome="submitted",
        approval=altered(asked, votes=(*asked.votes, vote)),
        edges=event.edges,
    )


def settled(plan: Plan, state: RunState, event: e.ApprovalSettled) -> RunState:
    """Approved or rejected."""
    status = StepStatus.SUCCEEDED if event.outcome == "approved" else StepStatus.REJECTED
    state = altered(state, outputs={**state.outputs, event.step: event.output})
    return with_step(state, event.step, event.at, status=status, outcome=event.outcome, edges=event.edges)


def voided(plan: Plan, state: RunState, event: e.ApprovalVoided | e.FormVoided) -> RunState:
    """Pending again in a new generation of the same round; people are asked again in the same commit."""
    old = state.steps[event.step]
    fresh = begun_again(state, old, event.generation, event.at)
    return altered(state, steps={**state.steps, event.step: fresh})


def returned(plan: Plan, state: RunState, event: e.WorkReturned) -> RunState:
    """A new round: these steps are pending again, with nothing resolved behind them. Outputs stay readable."""
    steps, again = dict(state.steps), set()
    for step, generation, number in event.rounds:
        old = steps[step]
        again.add(step)
        steps[step] = begun_again(state, old, generation, event.at, round=number)
    edges = {k: v for k, v in state.edges.items() if plan.edges[k].source not in again}
    return altered(state, steps=steps, edges=edges)


def expired(plan: Plan, state: RunState, event: e.ApprovalExpired) -> RunState:
    """Time ran out."""
    return with_step(state, event.step, event.at, status=StepStatus.EXPIRED, outcome="expired", edges=event.edges)
