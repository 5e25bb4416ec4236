"""What happens in a trial run: how activities answer, what people decide, which messages come. All has a default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from signoff.core import events as e
from signoff.core.definition import ActivityConfig, ApprovalConfig, Definition, Field, FieldType, FormConfig
from signoff.errors import InvalidInput

MANY = 5
"""So many may be needed where an expression gives the number."""
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")
MONDAY = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)
"""When trials begin, if nothing else is said."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one attempt of an activity ends, `after` it was claimed; or the run that a subflow step started.

    Attributes:
        output: what it gives; None takes a made-up value for each declared output field.
        error: a code where it fails instead, for example `http_503`.
        message: the error's sentence.
        retryable: whether another attempt is worth while.
    """

    output: Any = None
    error: str = ""
    message: str = "It failed in the trial."
    retryable: bool = True
    after: timedelta = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Choice:
    """What people do with an approval or a form, `after` it was opened.

    Attributes:
        outcome: `approved`, `rejected`, `returned`, `submitted`, or `nobody` where nobody answers.
        who: login; the first who may is taken where it is empty.
        comment: for the record.
        to: the step to return to, where there are several.
        values: of a form, or of the fields of an approval; made up where they are None.
    """

    outcome: str = ""
    who: str = ""
    comment: str = "Decided in the trial."
    to: str = ""
    values: Mapping[str, Any] | None = None
    after: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Message:
    """A message from outside, `after` the step began to wait; None as payload is made up."""

    payload: Mapping[str, Any] | None = None
    comes: bool = True
    after: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Script:
    """A whole trial, by step id. Of several entries each is used once, in order; the last one is used on and on."""

    answers: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    choices: Mapping[str, Sequence[Choice]] = field(default_factory=dict)
    messages: Mapping[str, Sequence[Message]] = field(default_factory=dict)


def made_up(fields: Iterable[Field]) -> dict[str, Any]:
    """A value for each field that must have one: small, valid, and always the same."""
    return {f.name: _value(f) for f in fields if f.required}


def made_up_output(config: ActivityConfig) -> dict[str, Any]:
    """What an activity gives in a trial where nothing else is said; a call over HTTP is answered 200."""
    output = {f.name: _value(f) for f in config.output}
    if config.connector == "http" and (not output or "status" in output):
        output |= {"status": 200, "body": output.get("body", {})}
    return output


def usual_answer(config: ActivityConfig, given: Any) -> Answer:
    """How a call ends where the script does not say: the connectors `pass` and `fail` do what they always do."""
    if config.connector == "pass":
        return Answer(given if given is not None else {})
    if config.connector == "fail":
        told = given if isinstance(given, Mapping) else {}
        return Answer(None, str(told.get("error") or "failed"), str(told.get("cause") or "It fails."), False)
    return Answer(made_up_output(config))


def _value(f: Field) -> Any:
    low = f.minimum if f.minimum is not None else min(1.0, f.maximum if f.maximum is not None else 1.0)
    match f.type:
        case FieldType.NUMBER:
            return float(low)
        case FieldType.INTEGER:
            return int(low)
        case FieldType.BOOLEAN:
            return True
        case FieldType.DATE:
            return "2027-01-04"
        case FieldType.CHOICE:
            return f.options[0] if f.options else ""
        case FieldType.LIST:
            return []
        case FieldType.FILE:
            return {"file": "sha256:" + "0" * 64, "name": "example.pdf", "size": 0, "type": "application/pdf"}
        case FieldType.OBJECT:
            return {}
        case _:
            return f.label or f.name


def made_up_people(definition: Definition) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Groups and people that a definition asks: as many in each group as its approvals need, and one more."""
    needed: dict[str, int] = {}
    people: dict[str, str] = {}
    for step in definition.steps:
        if isinstance(step.config, ApprovalConfig | FormConfig):
            for asked, required in _groups_of(step.config):
                needed.update({g: max(needed.get(g, 0), max(1, required) + 1) for g in asked})
            named = step.config.asked_people if isinstance(step.config, ApprovalConfig) else step.config.people
            people.update({p: p for p in named})
            for rung in step.config.escalation:
                needed.update({g: needed.get(g, 2) for g in rung.groups})
                people.update({p: p for p in rung.people})
    differing = 1 + sum(
        isinstance(s.config, ApprovalConfig) and bool(s.config.deciders_differ_from) for s in definition.steps
    )
    groups = {g: tuple(f"{g}_{n}" for n in range(1, count + differing)) for g, count in needed.items()}
    people.update({p: f"{g.replace('_', ' ').capitalize()} {n}" for g, m in groups.items() for n, p in enumerate(m, 1)})
    return groups, people


def _groups_of(config: ApprovalConfig | FormConfig) -> Iterator[tuple[Sequence[str], int]]:
    """Groups that are asked, with how many of them; an expression that gives groups names them in quotes."""
    if isinstance(config, FormConfig):
        yield config.groups, 1
        return
    yield config.groups, MANY if config.required_by else config.required
    yield _QUOTED.findall(config.groups_by), config.required
    for q in config.quotas:
        yield q.groups, q.required


def script_of(events: Iterable[e.Event]) -> Script:
    """What happened in a real run, to be played again: answers of activities, decisions, forms and messages.

    Steps that were begun again are played in the same order. What an operator did is not part of it.
    """
    answers: dict[str, list[Answer]] = {}
    choices: dict[str, list[Choice]] = {}
    messages: dict[str, list[Message]] = {}
    began: dict[str, datetime] = {}
    for event in events:
        step = getattr(event, "step", "")
        took = event.at - began.get(step, event.at)
        match event:
            case e.ActivityStarted() | e.ApprovalOpened() | e.FormOpened() | e.SignalAwaited() | e.SubflowStarted():
                began[step] = event.at
            case e.ActivitySucceeded():
                answers.setdefault(step, []).append(Answer(event.output, after=took))
            case e.ActivityFailed():
                x = event.error
                answers.setdefault(step, []).append(Answer(None, x.code, x.message, x.retryable, took))
            case e.DecisionRecorded():
                values = event.values or None
                made = Choice(event.outcome, event.actor.id, event.comment, values=values, after=took)
                choices.setdefault(step, []).append(made)
                began[step] = event.at
            case e.WorkReturned():
                made = Choice("returned", event.actor.id, event.comment, event.to, after=took)
                listed = choices.setdefault(step, [])
                if listed and listed[-1].outcome == "returned" and not took:  # the decision just before said when
                    made = replace(made, after=listed.pop().after)
                listed.append(made)
            case e.SubflowEnded():
                wrong = event.error.code if event.error else event.outcome if event.outcome != "succeeded" else ""
                message = event.error.message if event.error else ""
                answers.setdefault(step, []).append(Answer(event.output, wrong, message, after=took))
            case e.FormSubmitted():
                made = Choice("submitted", event.actor.id, values=event.output, after=took)
                choices.setdefault(step, []).append(made)
            case e.StepEvent() if event.wire.endswith("expired"):
                messages.setdefault(step, []).append(Message(comes=False))
                choices.setdefault(step, []).append(Choice("nobody"))
            case e.SignalReceived():
                messages.setdefault(step, []).append(Message(event.output, after=took))
            case _:
                pass
    return Script(answers, choices, messages)


def read_script(data: Mapping[str, Any]) -> Script:
    """A script from JSON: {"answers": {STEP: [{…}]}, "choices": {STEP: [{…}]}, "messages": {STEP: [{…}]}}.

    The members of an entry are those of `Answer`, `Choice` and `Message`; `after` is in seconds.

    Raises:
        InvalidInput: it has another form.
    """
    parts: dict[str, dict[str, list[Any]]] = {}
    for name, cls in (("answers", Answer), ("choices", Choice), ("messages", Message)):
        listed = data.get(name) or {}
        if not isinstance(listed, dict) or not all(isinstance(v, list) for v in listed.values()):
            raise InvalidInput(f"'{name}' of the script must map step ids to lists.", remedy="Correct the script.")
        parts[name] = {step: [_entry(cls, x, f"{name}.{step}") for x in entries] for step, entries in listed.items()}
    if unknown := set(data) - set(parts):
        raise InvalidInput(
            f"The script has the unknown part '{sorted(unknown)[0][:40]}'.", remedy="Correct the script."
        )
    return Script(**parts)


def _entry(cls: Any, data: Any, where: str) -> Any:
    known = set(cls.__dataclass_fields__)
    if not isinstance(data, dict) or not set(data) <= known:
        names = ", ".join(sorted(known))
        raise InvalidInput(f"An entry of '{where[:80]}' is not of the form that is known.", remedy=f"Use {names}.")
    after = data.get("after")
    if after is not None and (isinstance(after, bool) or not isinstance(after, int | float) or not 0 <= after < 1e9):
        raise InvalidInput(f"'after' of '{where[:80]}' must be a number of seconds.", remedy="Correct the script.")
    return cls(**{**data, **({} if after is None else {"after": timedelta(seconds=after)})})
