"""Who is asked can change while a step is open: people are added, replaced, taken off; a vote is taken back (§7, §8).

Separation of duties and the quorum hold for whoever is added. A vote that was given stays: only its voter takes it
back. The number of approvals that are needed was frozen when the step opened and is never lowered.
"""

from __future__ import annotations

from collections.abc import Sequence

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.answering import closed, deciders_elsewhere, missing_answers, settled_before
from signoff.core.decide.build import Build
from signoff.core.decide.operators import may_operate, not_changed
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.quorum import counted, distinct, find_person, same_person, stage_of
from signoff.core.rejection import Rejection
from signoff.core.states import ApprovalState, Quota, StepStatus
from signoff.core.wording import listed

MAX_COMMENT_CHARS = 10_000
MAX_ASKED = 500
"""No more people than this are asked by name."""


def reassign(build: Build, command: c.ReassignStep) -> Rejection | None:
    """Ask other people; votes so far count on."""
    step = build.state.steps.get(command.step)
    config = build.plan.steps[command.step].config if step else None
    if step is None or not isinstance(config, ApprovalConfig | FormConfig):
        message = f"There is no approval or form '{command.step}' in this run."
        return Rejection("unknown_step", message, "Correct the name.")
    wanted = f"reassign '{build.plan.label(command.step)}'"
    if refused := may_operate(build, command, wanted) or not_changed(build, command, step.changed, wanted):
        return refused
    if step.approval is None or step.status is not StepStatus.WAITING:
        message = f"Expected to {wanted}, but nobody is asked there now: it is {step.status}."
        return Rejection("not_open", message, "Reassign it while it is open; retry it first where it has failed.")
    asked = step.approval
    removed = tuple(find_person(p, _everybody(asked)) or p for p in distinct(command.remove))
    people = build.facts.directory.people
    added = tuple(find_person(p, people) or p for p in distinct(command.add))
    refused = _bad_removal(build, asked, removed, wanted) or _bad_addition(build, command, asked, added, wanted)
    if refused:
        return refused
    quotas, refused = _quotas_after(build, asked, added, removed, wanted)
    if refused:
        return refused
    now = [p for p in added if not asked.in_sequence or find_person(p, quotas[stage_of(asked)].people)]
    roster = (*(p for p in asked.roster if p not in removed), *now)
    if refused := _too_few(build, command.step, roster, quotas, wanted):
        return refused
    build.emit(
        e.PeopleReassigned(
            at=build.now,
            step=command.step,
            generation=step.generation,
            actor=command.actor,
            reason=command.reason,
            roster=roster,
            added=added,
            removed=removed,
            directory_version=build.facts.directory.version,
            quotas=quotas,
        )
    )
    return None


def _everybody(asked: ApprovalState) -> tuple[str, ...]:
    """Who is asked, and in a sequence who will be."""
    later = asked.quotas[stage_of(asked) + 1 :] if asked.in_sequence else ()
    return distinct([*asked.roster, *(p for q in later for p in q.people)])


def _quotas_after(
    build: Build, asked: ApprovalState, added: Sequence[str], removed: Sequence[str], wanted: str
) -> tuple[tuple[Quota, ...], Rejection | None]:
    """Who comes in counts for the groups they belong to and for those of whom they replace."""
    replaced = [q.name for q in asked.quotas if any(find_person(p, q.people) for p in removed)]
    groups = build.facts.directory.groups
    found = []
    for q in asked.quotas:
        own = [g for g in groups if g == q.name]
        come = [p for p in added if q.name in replaced or any(find_person(p, groups[g]) for g in own)]
        found.append(Quota(q.name, q.required, (*(p for p in q.people if p not in removed), *come)))
    for p in added if asked.quotas else ():
        if not any(find_person(p, q.people) for q in found):
            name = build.facts.directory.people.get(p, p)
            message = f"Expected to {wanted}, but {name} would count for none of {', '.join(q.name for q in found)}."
            return (), Rejection("no_quota", message, "Take off in the same command whom they replace.")
    return tuple(found), None


def _bad_removal(build: Build, asked: ApprovalState, removed: Sequence[str], wanted: str) -> Rejection | None:
    for p in removed:
        if not find_person(p, _everybody(asked)):
            message = f"Expected to {wanted}, but '{p}' is not asked there."
            return Rejection("not_asked", message, "Look at who is asked.")
        if vote := next((v for v in asked.votes if same_person(v.person, p)), None):
            return Rejection(
                "has_voted",
                f"Expected to {wanted}, but {vote.name} has already {vote.outcome} it, and a vote stays.",
                "Only the voter can withdraw it.",
            )
    return None


def _bad_addition(
    build: Build, command: c.ReassignStep, asked: ApprovalState, added: Sequence[str], wanted: str
) -> Rejection | None:
    if not added and not command.remove:
        message = f"Expected to {wanted}, but nobody was named."
        return Rejection("nobody_named", message, "Say whom to add or remove.", evidence=False)
    state, people = build.state, build.facts.directory.people
    earlier = (*asked.excluded, *deciders_elsewhere(build.plan, state, command.step, added))
    for p in added:
        name = people.get(p, p)
        if find_person(p, people) is None:
            message = f"Expected to {wanted}, but '{p}' has no active account."
            return Rejection("unknown_person", message, "Correct the login.")
        if find_person(p, _everybody(asked)):
            message = f"Expected to {wanted}, but {name} is already asked there."
            return Rejection("already_asked", message, "Nothing to do.")
        if find_person(p, [v.human for v in asked.votes]):
            message = f"Expected to {wanted}, but {name} has decided it for somebody else already."
            return Rejection("decided_before", message, "Choose somebody else.")
        if command.actor.kind == "person" and same_person(p, command.actor.id):
            message = f"Expected to {wanted}, but nobody puts themselves among those who answer."
            return Rejection("own_assignment", message, "Ask another operator.")
        if find_person(p, earlier):
            message = f"Expected to {wanted}, but {name} decided a step of this run whose deciders must differ."
            return Rejection("decided_before", message, "Choose somebody else.")
        if same_person(p, state.started_by) and not asked.requester_may_decide:
            message = f"Expected to {wanted}, but {name} started this run and may not decide it."
            return Rejection("own_request", message, "Choose somebody else.")
    if len(asked.roster) + len(added) > MAX_ASKED:
        message = f"Expected to {wanted}, but more than {MAX_ASKED} people would be asked."
        return Rejection("too_many_people", message, "Ask fewer.", evidence=False)
    return None


def _too_few(
    build: Build, step_id: str, roster: tuple[str, ...], quotas: tuple[Quota, ...], wanted: str
) -> Rejection | None:
    """The quorum must stay within reach of those who are asked then and have an account."""
    step = build.state.steps[step_id]
    assert step.approval is not None
    then = altered(step, approval=altered(step.approval, roster=roster, quotas=quotas))
    state = altered(build.state, steps={**build.state.steps, step_id: then})
    missing = missing_answers(build.plan, state, step_id, build.facts.directory.people)
    if missing <= 0:
        return None
    people = build.facts.directory.people
    left = listed([people.get(p, p) for p in roster], "and") or "nobody"
    message = f"Expected to {wanted}, but with {left} asked it lacks {missing} who may answer."
    return Rejection("quorum_unreachable", message, f"Add at least {missing} more.")


def withdraw(build: Build, command: c.WithdrawVote) -> Rejection | None:
    """A voter takes a vote back while the approval is open; they may vote again."""
    step = build.state.steps.get(command.step)
    if step is None or not isinstance(build.plan.steps[command.step].config, ApprovalConfig):
        return Rejection("unknown_step", f"There is no approval '{command.step}' in this run.", "Open the inbox.")
    label, who = build.plan.label(command.step), command.actor.id
    if command.actor.kind != "person":
        return Rejection("not_a_person", f"Only a person can withdraw a vote on '{label}'.", "Sign in as a person.")
    gave = step.approval is not None and any(same_person(v.human, who) for v in step.approval.votes)
    if step.approval and not gave and not find_person(who, step.approval.roster):
        message = f"You are not among those who may decide '{label}'."
        return Rejection("not_an_approver", message, "Ask an approver.")
    refused = settled_before(build.plan, build.state, command.step) or closed(
        build.plan, build.state, command.step, build.now
    )
    if refused:
        return refused
    assert step.approval is not None
    if not gave:
        message = f"You have not decided '{label}', so there is nothing to withdraw."
        return Rejection("no_vote", message, "Nothing to do.", evidence=False)
    if command.generation != step.generation:
        message = f"'{label}' changed while you were reading it."
        return Rejection("changed_meanwhile", message, "Read it again.")
    if step.approval.in_sequence and any(
        find_person(who, [v.human for v in step.approval.votes if v.person in c])
        for c in counted(step.approval)[: stage_of(step.approval)]
    ):
        message = f"'{label}' has gone on since you approved it, so your vote stays."
        return Rejection("stage_passed", message, "Ask those who decide now to reject or return it.", evidence=False)
    if len(command.comment) > MAX_COMMENT_CHARS:
        message = f"The comment on '{label}' is longer than {MAX_COMMENT_CHARS} characters."
        return Rejection("bad_comment", message, "Shorten it.", evidence=False)
    build.emit(
        e.VoteWithdrawn(
            at=build.now,
            step=command.step,
            generation=step.generation,
            round=step.round,
            actor=command.actor,
            comment=command.comment,
        )
    )
    return None
