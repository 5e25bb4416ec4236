"""What holds for everybody who answers an approval or a form: asked, in time, about what waits now."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.core.commands import Decide, ReturnForm, SubmitForm
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.quorum import find_person, same_person
from signoff.core.rejection import Rejection
from signoff.core.states import ApprovalState, RunStatus, StepState, StepStatus
from signoff.core.wording import clock

Answer = Decide | SubmitForm | ReturnForm


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


def words_of(answer: Answer) -> Words:
    """The words that fit an answer."""
    return DECIDING if isinstance(answer, Decide) else FILLING_IN


def asked_of(step: StepState) -> ApprovalState:
    """Who is asked, in a step that asks."""
    assert step.approval is not None
    return step.approval


def may_not_answer(build: Build, answer: Answer, step: StepState) -> Rejection | None:
    """Only a person on the frozen roster who still has an account."""
    if step.approval is None:
        return None
    label, words = build.plan.label(answer.step), words_of(answer)
    if answer.actor.kind != "person":
        return Rejection("not_a_person", f"Only a person can {words.do} '{label}'.", "Sign in as a person.")
    who = answer.actor.id
    if not (find_person(who, step.approval.roster) and find_person(who, build.facts.directory.people)):
        return Rejection(
            "not_an_approver", f"You are not among those who may {words.do} '{label}'.", f"Ask {words.whom}."
        )
    return None


def already_handled(build: Build, answer: Answer, step: StepState, *, same: bool) -> Rejection | None:
    """Answered before by this person (`same`: in the same way), settled by somebody, or too late."""
    label, words = build.plan.label(answer.step), words_of(answer)
    votes = step.approval.votes if step.approval else ()
    mine = next((v for v in votes if same_person(v.person, answer.actor.id)), None)
    if mine is not None and answer.generation == step.generation:
        return Rejection(
            "already_decided",
            f"You have already decided '{label}': {mine.outcome} on {clock(mine.at)}."
            if words is DECIDING
            else f"You have already filled in '{label}' on {clock(mine.at)}.",
            "Nothing to do.",
            known=same,
        )
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


def not_open(build: Build, answer: Answer, step: StepState) -> Rejection | None:
    """The run is over or paused, the step does not wait, or its time is up though no timer has fired yet."""
    state, words = build.state, words_of(answer)
    label = build.plan.label(answer.step)
    if state.is_terminal:
        return Rejection("run_over", f"The run of '{label}' has ended as {state.status}.", "Nothing to do.")
    if state.status is RunStatus.PAUSED:
        remedy = f"{words.later} when it has been resumed."
        return Rejection("paused", f"The run of '{label}' is paused.", remedy)
    if step.status is not StepStatus.WAITING:
        return Rejection("not_open", f"'{label}' is not {words.open_for}; it is {step.status}.", "Open the inbox.")
    if step.due is not None and step.due <= build.now:
        remedy = f"Ask an operator to retry the {words.thing}."
        return Rejection("expired", f"The time to {words.do} '{label}' was over at {clock(step.due)}.", remedy)
    return None


def changed_meanwhile(build: Build, answer: Answer, step: StepState) -> Rejection | None:
    """What was read is not what waits now."""
    stale = answer.generation != step.generation
    if stale or (answer.shown_digest and answer.shown_digest != asked_of(step).shown_digest):
        label, words = build.plan.label(answer.step), words_of(answer)
        again = "then decide" if words is DECIDING else "then fill it in"
        return Rejection(
            "changed_meanwhile", f"'{label}' changed while you were reading it.", f"Read it again, {again}."
        )
    return None


def authority_of(build: Build, answer: Answer) -> str:
    """Why this person may answer, from today's directory."""
    config = build.plan.steps[answer.step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    who, groups = answer.actor.id, build.facts.directory.groups
    found = [f"group {g}" for g in config.groups if find_person(who, groups.get(g, ()))]
    if find_person(who, config.people):
        found.append("named person")
    if isinstance(config, FormConfig) and config.requester and same_person(who, build.state.started_by):
        found.append("requester")
    return ", ".join(found) or "frozen roster"
