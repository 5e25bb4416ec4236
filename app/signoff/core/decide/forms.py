"""Forms: people are asked for typed input, and the first valid submission settles it (semantics §2)."""

from __future__ import annotations

from collections.abc import Sequence

from signoff.core import events as e
from signoff.core.commands import ReturnForm, SubmitForm
from signoff.core.decide.advance import after
from signoff.core.decide.asking import (
    Answer,
    asked_of,
    authority_of,
    changed_meanwhile,
    delegation,
    may_not_answer,
    not_now,
)
from signoff.core.decide.build import Build
from signoff.core.decide.returning import may_not_return, send_back
from signoff.core.definition import FormConfig
from signoff.core.flow import resolve_edges
from signoff.core.forms import ValueProblem, check_values
from signoff.core.rejection import Rejection
from signoff.core.showing import form_digest
from signoff.core.states import StepState

MAX_COMMENT_CHARS = 10_000


def submit(build: Build, command: SubmitForm) -> Rejection | None:
    """Settle the form with checked values."""
    step, config, refused = _form(build, command)
    if step is None or config is None or refused:
        return refused
    refused = (
        may_not_answer(build, command, step)
        or not_now(build, command, same=command.values == build.state.outputs.get(command.step))
        or changed_meanwhile(build, command, step)
    )
    if refused:
        return refused
    values, problems = check_values(config.fields, command.values, what=f"form '{build.plan.label(command.step)}'")
    if problems:
        return wrong_values(problems, "invalid_values")
    build.emit(
        e.FormSubmitted(
            at=build.now,
            step=command.step,
            generation=step.generation,
            round=step.round,
            actor=command.actor,
            shown_digest=command.shown_digest or asked_of(step).shown_digest,
            authority=authority_of(build, command),
            link=command.link,
            output=values,
            edges=resolve_edges(build.plan, build.state, command.step, "submitted", values),
            definition_digest=build.plan.digest,
            form_digest=form_digest(build.plan, command.step),
            zone=build.plan.definition.policies.zone,
            on_behalf_of=command.on_behalf_of,
            delegation=delegation(build, command),
            signed_in=command.signed_in,
        )
    )
    after(build, command.step)
    return None


def return_work(build: Build, command: ReturnForm) -> Rejection | None:
    """Send the work back instead of filling in the form."""
    step, config, refused = _form(build, command)
    if step is None or config is None or refused:
        return refused
    refused = (
        may_not_answer(build, command, step)
        or not_now(build, command, same=False)
        or _bad_comment(build, command)
        or changed_meanwhile(build, command, step)
        or may_not_return(build, command, step)
    )
    if refused:
        return refused
    digest = command.shown_digest or asked_of(step).shown_digest
    send_back(build, command, shown_digest=digest, authority=authority_of(build, command))
    return None


def wrong_values(problems: Sequence[ValueProblem], code: str) -> Rejection:
    """The refusal of values, with every problem at its field."""
    listed = [{"field": p.field, "message": p.message, "remedy": p.remedy} for p in problems]
    return Rejection(code, " ".join(p.sentence for p in problems), evidence=False, details={"problems": listed})


def _form(build: Build, command: Answer) -> tuple[StepState | None, FormConfig | None, Rejection | None]:
    step = build.state.steps.get(command.step)
    config = build.plan.steps[command.step].config if step else None
    if step is None or not isinstance(config, FormConfig):
        refused = Rejection("unknown_step", f"There is no form '{command.step}' in this run.", "Open the inbox.")
        return None, None, refused
    return step, config, None


def _bad_comment(build: Build, command: ReturnForm) -> Rejection | None:
    label = build.plan.label(command.step)
    if len(command.comment) > MAX_COMMENT_CHARS:
        message = f"The comment on '{label}' is longer than {MAX_COMMENT_CHARS} characters."
        return Rejection("bad_comment", message, "Shorten it.", evidence=False)
    if not command.comment.strip():
        message = f"'{label}' needs a comment when it is returned."
        return Rejection("comment_missing", message, "Say why.", evidence=False)
    return None
