"""What holds for everybody who answers an approval or a form: asked, in time, about what waits now."""

from __future__ import annotations

from signoff.core.answering import DECIDING, answered, barred, barred_from_standing_in, closed, words_of
from signoff.core.commands import Decide, ReturnForm, SubmitForm
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.quorum import find_person, same_person
from signoff.core.rejection import Rejection
from signoff.core.standing_in import Delegation, delegation_of, not_standing_in
from signoff.core.states import ApprovalState, StepState

Answer = Decide | SubmitForm | ReturnForm


def asked_of(step: StepState) -> ApprovalState:
    """Who is asked, in a step that asks."""
    assert step.approval is not None
    return step.approval


def may_not_answer(build: Build, answer: Answer, step: StepState) -> Rejection | None:
    """Only a person who is asked, has an account, and is not kept away by separation of duties."""
    if step.approval is None:
        return None
    if answer.actor.kind != "person":
        label, words = build.plan.label(answer.step), words_of(build.plan, answer.step)
        return Rejection("not_a_person", f"Only a person can {words.do} '{label}'.", "Sign in as a person.")
    plan, state, people, who = build.plan, build.state, build.facts.directory.people, answer.actor.id
    if not answer.on_behalf_of:
        return barred(plan, state, answer.step, who, people)
    if delegation(build, answer) is None:
        name = people.get(find_person(answer.on_behalf_of, people) or "", answer.on_behalf_of[:60])
        return not_standing_in(name, plan.label(answer.step))
    return barred(plan, state, answer.step, answer.on_behalf_of, people) or barred_from_standing_in(
        plan, state, answer.step, answer.on_behalf_of, who
    )


def delegation(build: Build, answer: Answer) -> Delegation | None:
    """By what right somebody answers for somebody else; None where they answer for themselves, or have none."""
    if not answer.on_behalf_of:
        return None
    return delegation_of(build.facts.directory, answer.actor.id, answer.on_behalf_of, build.now)


def voter_of(answer: Answer) -> str:
    """Login of the person whose answer it is."""
    return answer.on_behalf_of or answer.actor.id


def not_now(build: Build, answer: Answer, *, same: bool) -> Rejection | None:
    """Answered before (by this person: `same` in the same way), over, paused, or too late."""
    by = answer.actor.id if answer.on_behalf_of else ""
    return answered(
        build.plan, build.state, answer.step, voter_of(answer), same=same, generation=answer.generation, by=by
    ) or closed(build.plan, build.state, answer.step, build.now)


def changed_meanwhile(build: Build, answer: Answer, step: StepState) -> Rejection | None:
    """What was read is not what waits now."""
    stale = answer.generation != step.generation
    if stale or (answer.shown_digest and answer.shown_digest != asked_of(step).shown_digest):
        label, words = build.plan.label(answer.step), words_of(build.plan, answer.step)
        again = "then decide" if words is DECIDING else "then fill it in"
        return Rejection(
            "changed_meanwhile", f"'{label}' changed while you were reading it.", f"Read it again, {again}."
        )
    return None


def authority_of(build: Build, answer: Answer) -> str:
    """Why this person may answer, from today's directory."""
    config = build.plan.steps[answer.step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    who, groups = voter_of(answer), build.facts.directory.groups
    asked = build.state.steps[answer.step].approval
    named, people = config.groups, config.people
    if isinstance(config, ApprovalConfig):
        named, people = (*config.asked_groups, *(asked.groups if asked else ())), config.asked_people
    found = [f"group {g}" for g in dict.fromkeys(named) if find_person(who, groups.get(g, ()))]
    if find_person(who, people):
        found.append("named person")
    if isinstance(config, FormConfig) and config.requester and same_person(who, build.state.started_by):
        found.append("requester")
    if asked and find_person(who, asked.assigned):
        found.append("named by an operator")
    if asked and find_person(who, asked.escalated):
        found.append("asked by escalation")
    return ", ".join(found) or "frozen roster"
