"""Who may answer an open approval or form now, and if not, why not (semantics §7).

One rule for everybody who asks: a decision that is sent, the inbox, explanations, trial runs and the verifier. What
depends on what somebody read (its generation, what was shown) or wants (a return, a comment) is in `decide`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.plan import Plan
from signoff.core.quorum import distinct, find_person, lacking, person_key, same_person, stage_of, usable_roster
from signoff.core.rejection import Rejection
from signoff.core.states import ApprovalState, RunState, RunStatus, StepStatus
from signoff.core.wording import clock, listed


@dataclass(frozen=True, slots=True)
class Words:
    """How the sentences about one kind of asking differ."""

    do: str
    later: str
    open_for: str
    thing: str
    whom: str


DECIDING = Words("decide", "Decide", "open for a decision", "approval", "an approver")
FILLING_IN = Words("fill in", "Fill it in", "open to be filled in", "form", "one of those who are asked")


def words_of(plan: Plan, step_id: str) -> Words:
    """The words that fit a step that asks people."""
    return FILLING_IN if isinstance(plan.steps[step_id].config, FormConfig) else DECIDING


def why_not(
    plan: Plan,
    state: RunState,
    step_id: str,
    who: str,
    *,
    active: Collection[str] | None = None,
    now: datetime | None = None,
    by: str = "",
) -> Rejection | None:
    """Why this person may not answer the step now, as a sentence to them; None where they may.

    Args:
        plan: of the run's version.
        state: the run as it is.
        step_id: an approval or a form of the plan.
        who: login, in any spelling.
        active: logins of people who have an account now; not looked at where it is None.
        now: decides whether the time is up though no timer has fired yet.
        by: login of who answers for them, "" where they do so themselves.
    """
    if state.steps[step_id].approval is None:
        return closed(plan, state, step_id, now)
    return (
        barred(plan, state, step_id, who, active)
        or (by and barred_from_standing_in(plan, state, step_id, who, by))
        or answered(plan, state, step_id, who, by=by)
        or closed(plan, state, step_id, now)
    )


def who_may_answer(plan: Plan, state: RunState, step_id: str, active: Collection[str] | None = None) -> tuple[str, ...]:
    """Those on the roster who may answer the step and have not, in its order; nobody where it does not wait."""
    step = state.steps[step_id]
    if step.approval is None or step.status is not StepStatus.WAITING or state.is_terminal:
        return ()
    voted = {person_key(p) for v in step.approval.votes for p in (v.person, v.human)}
    there = None if active is None else {person_key(p) for p in active}
    usable = usable_roster(step.approval.roster, state.started_by, step.approval.requester_may_decide)
    elsewhere = {person_key(p) for p in deciders_elsewhere(plan, state, step_id, usable)}
    return tuple(
        p
        for p in usable
        if (key := person_key(p)) not in voted and key not in elsewhere and (there is None or key in there)
    )


def missing_answers(plan: Plan, state: RunState, step_id: str, active: Collection[str] | None = None) -> int:
    """How many people are lacking to reach the quorum; 0 or less while it can be reached.

    Votes of people who have left since count: they were eligible when they voted.
    """
    approval = state.steps[step_id].approval
    assert approval is not None
    able = who_may_answer(plan, state, step_id, active)
    if approval.in_sequence:
        able = (*able, *_upcoming(plan, state, step_id, active))
    return lacking(approval, able)


def _upcoming(plan: Plan, state: RunState, step_id: str, active: Collection[str] | None) -> tuple[str, ...]:
    """Those of the later quotas of a sequence, who are not asked yet."""
    approval = state.steps[step_id].approval
    assert approval is not None
    later = [p for q in approval.quotas[stage_of(approval) + 1 :] for p in q.people]
    known = {person_key(p) for p in (*approval.roster, *(p for v in approval.votes for p in (v.person, v.human)))}
    usable = usable_roster(distinct(later), state.started_by, approval.requester_may_decide)
    elsewhere = {person_key(p) for p in deciders_elsewhere(plan, state, step_id, usable)}
    there = None if active is None else {person_key(p) for p in active}
    return tuple(
        p
        for p in usable
        if (key := person_key(p)) not in known and key not in elsewhere and (there is None or key in there)
    )


def barred(
    plan: Plan, state: RunState, step_id: str, who: str, active: Collection[str] | None = None
) -> Rejection | None:
    """Why this person may not answer the step at all: not asked, or kept away by separation of duties."""
    approval = state.steps[step_id].approval
    if approval is None:
        return None
    label, words = plan.label(step_id), words_of(plan, step_id)
    earlier = find_person(who, approval.excluded)
    if earlier or deciders_elsewhere(plan, state, step_id, (who,)):
        which = "an earlier" if earlier else "another"
        message = f"You decided {which} step of this run, so you may not decide '{label}' as well."
        return Rejection("decided_before", message, "Ask another approver.")
    if approval.in_sequence and any(find_person(who, q.people) for q in approval.quotas):
        if state.steps[step_id].status is not StepStatus.WAITING:
            return None
        if refused := out_of_turn(approval, label, who):
            return refused
    if find_person(who, approval.released) and not find_person(who, approval.roster):
        message = (
            f"'{label}' was handed over to {listed(approval.escalated, 'and')}, because it was not answered in time."
        )
        return Rejection("handed_over", message, "Nothing to do; ask them.")
    if not find_person(who, approval.roster) or (active is not None and not find_person(who, active)):
        message = f"You are not among those who may {words.do} '{label}'."
        return Rejection("not_an_approver", message, f"Ask {words.whom}.")
    if same_person(who, state.started_by) and not approval.requester_may_decide:
        message = f"You started this run, so you may not decide '{label}' yourself."
        return Rejection("own_request", message, "Ask another approver.")
    return None


def barred_from_standing_in(plan: Plan, state: RunState, step_id: str, who: str, by: str) -> Rejection | None:
    """Why one person may not answer for another: separation of duties holds for whoever decides."""
    approval = state.steps[step_id].approval
    if approval is None or same_person(who, by):
        return None
    label, words = plan.label(step_id), words_of(plan, step_id)
    if same_person(by, state.started_by) and not approval.requester_may_decide:
        message = f"You started this run, so you may not {words.do} '{label}' for somebody else either."
        return Rejection("own_request", message, "Ask another approver.")
    if find_person(by, approval.excluded) or deciders_elsewhere(plan, state, step_id, (by,)):
        message = f"You decided another step of this run, so you may not decide '{label}' for somebody else either."
        return Rejection("decided_before", message, "Ask another approver.")
    if find_person(by, (*approval.roster, *(p for q in approval.quotas for p in q.people))):
        message = f"'{label}' is asked of you yourself, so you {words.do} it for yourself only."
        return Rejection("asked_yourself", message, "Answer for yourself.")
    return None


def out_of_turn(approval: ApprovalState, label: str, who: str) -> Rejection | None:
    """In a sequence: not asked yet, or not any more because others of their quota have approved."""
    if find_person(who, approval.roster):
        return None
    stage = stage_of(approval)
    if any(find_person(who, q.people) for q in approval.quotas[stage + 1 :]):
        now = approval.quotas[stage]
        message = f"'{label}' has not come to you yet: {now.required} of {now.name} must approve it first."
        return Rejection("not_your_turn", message, "Wait until you are asked.")
    if any(find_person(who, q.people) for q in approval.quotas[:stage]):
        then = approval.quotas[min(stage, len(approval.quotas) - 1)]
        message = f"'{label}' has gone on to {then.name}; it needs you no more."
        return Rejection("passed_on", message, "Nothing to do.")
    return None


def answered(
    plan: Plan,
    state: RunState,
    step_id: str,
    who: str,
    *,
    same: bool = False,
    generation: int | None = None,
    by: str = "",
) -> Rejection | None:
    """Answered before by this person (`same`: in the same way), settled by somebody, or too late.

    `generation` is the one that was read, where that is known: an answer to an older one is not a repetition.
    """
    step = state.steps[step_id]
    label, words = plan.label(step_id), words_of(plan, step_id)
    votes = step.approval.votes if step.approval else ()
    mine = next((v for v in votes if same_person(v.person, who)), None)
    if mine is not None and generation in (None, step.generation):
        return Rejection(
            "already_decided",
            f"You have already decided '{label}': {mine.outcome} on {clock(mine.at)}."
            if words is DECIDING
            else f"You have already filled in '{label}' on {clock(mine.at)}.",
            "Nothing to do.",
            known=same,
        )
    human = by or who
    other = next((v for v in votes if same_person(v.human, human) and not same_person(v.person, who)), None)
    if other is not None and step.status is StepStatus.WAITING:
        said = f"You have already decided '{label}' as {other.name} on {clock(other.at)}; nobody decides it twice."
        return Rejection("counted_already", said, "Nothing to do.")
    return settled_before(plan, state, step_id)


def settled_before(plan: Plan, state: RunState, step_id: str) -> Rejection | None:
    """Settled by somebody, or the time was up."""
    step = state.steps[step_id]
    label, words = plan.label(step_id), words_of(plan, step_id)
    if step.status in (StepStatus.SUCCEEDED, StepStatus.REJECTED) and step.approval:
        last = step.approval.votes[-1]
        return Rejection(
            "already_handled",
            f"'{label}' was already handled by {last.name} on {clock(last.at)}: {step.outcome}.",
            "Nothing to do.",
        )
    if step.status is StepStatus.EXPIRED:
        remedy = f"Ask an operator to retry the {words.thing}."
        return Rejection("expired", f"The time to {words.do} '{label}' is over.", remedy)
    return None


def closed(plan: Plan, state: RunState, step_id: str, now: datetime | None) -> Rejection | None:
    """The run is over or paused, the step does not wait, or its time is up though no timer has fired yet."""
    step, words = state.steps[step_id], words_of(plan, step_id)
    label = plan.label(step_id)
    if state.is_terminal:
        return Rejection("run_over", f"The run of '{label}' has ended as {state.status}.", "Nothing to do.")
    if state.status is RunStatus.PAUSED:
        remedy = f"{words.later} when it has been resumed."
        return Rejection("paused", f"The run of '{label}' is paused.", remedy)
    if step.status is not StepStatus.WAITING:
        return Rejection("not_open", f"'{label}' is not {words.open_for}; it is {step.status}.", "Open the inbox.")
    if step.expires is not None and now is not None and step.expires <= now:
        remedy = f"Ask an operator to retry the {words.thing}."
        return Rejection("expired", f"The time to {words.do} '{label}' was over at {clock(step.expires)}.", remedy)
    return None


def deciders_elsewhere(plan: Plan, state: RunState, step_id: str, among: Sequence[str]) -> tuple[str, ...]:
    """Those who have decided, by now, an approval whose deciders must differ from those of this step."""
    others = must_differ(plan, step_id)
    votes = [v for i in others if (approval := state.steps[i].approval) for v in approval.votes]
    people = [p for v in votes for p in (v.person, v.human)]
    return tuple(p for p in among if find_person(p, people)) if votes else ()


def must_differ(plan: Plan, step_id: str) -> list[str]:
    """Approvals that this one must differ from, and those that must differ from it: they may be open together."""
    config = plan.steps[step_id].config
    if not isinstance(config, ApprovalConfig):
        return []
    return [
        i
        for i, other in plan.steps.items()
        if isinstance(other.config, ApprovalConfig)
        and (i in config.deciders_differ_from or step_id in other.config.deciders_differ_from)
    ]
