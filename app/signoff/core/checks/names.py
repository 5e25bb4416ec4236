"""Names, titles, labels, and the fields of forms and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import ApprovalConfig, Definition, Field, FieldType, StepKind
from signoff.core.problem import Problem

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
MAX_LABEL_CHARS = 400
_NAME_REMEDY = "Use a lower-case letter, then lower-case letters, digits and underscores, at most 63."


def check_names(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """The definition's own name, title and size."""
    if not NAME.fullmatch(d.name):
        yield Problem("bad_name", f"The definition's name '{d.name[:60]}' is not a name.", _NAME_REMEDY, path="name")
    if not d.title.strip() or len(d.title) > MAX_LABEL_CHARS:
        message = f"The definition has no title or one over {MAX_LABEL_CHARS} characters."
        yield Problem("bad_title", message, "Give it a short title.", path="title")
    if not d.steps:
        yield Problem("no_steps", "The definition has no steps.", "Add at least one step.")
    most = around.limits.steps
    if len(d.steps) > most:
        over = ", ".join(f"'{s.label}'" for s in d.steps[most:])
        yield Problem(
            "too_many_steps",
            f"The definition has {len(d.steps)} steps; at most {most} are allowed. Over the limit: {over}.",
            "Remove steps or move part of the process into a definition of its own.",
        )


def check_step_names(d: Definition, _: Surroundings) -> Iterator[Problem]:
    """Ids and labels of the steps."""
    seen: set[str] = set()
    for s in d.steps:
        if s.id in seen:
            yield Problem("duplicate_step", f"Two steps have the id '{s.id}'.", "Give one another id.", step=s.id)
        seen.add(s.id)
        if not NAME.fullmatch(s.id):
            message = f"The id '{s.id[:60]}' of step '{s.label[:60]}' is not a name."
            yield Problem("bad_step_id", message, _NAME_REMEDY, step=s.id)
        if not s.label.strip() or len(s.label) > MAX_LABEL_CHARS:
            message = f"Step '{s.id}' has no label or one over {MAX_LABEL_CHARS} characters."
            yield Problem("bad_label", message, "Name it.", step=s.id)


def check_fields(d: Definition, _: Surroundings) -> Iterator[Problem]:
    """The input form and the declared outputs."""
    yield from _fields(d.input, "the input form", "")
    for s in d.steps:
        what = {StepKind.FORM: "the fields of", StepKind.SIGNAL: "the payload of"}.get(s.kind, "the output of")
        yield from _fields(s.output, f"{what} '{s.label}'", s.id)
        for f in () if s.kind is StepKind.FORM else s.output:
            if f.type is FieldType.FILE:
                message = f"'{f.name[:60]}' of '{s.label}' is a file, which only people give."
                remedy = "Ask for it in an input form, a form step or when deciding; else use a text or an object."
                yield Problem("file_not_here", message, remedy, s.id)
        if isinstance(s.config, ApprovalConfig):
            yield from _fields(s.config.fields, f"the decision on '{s.label}'", s.id)


def _fields(fields: tuple[Field, ...], where: str, step: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for f in fields:
        if not NAME.fullmatch(f.name):
            yield Problem("bad_field", f"'{f.name[:60]}' in {where} is not a name.", _NAME_REMEDY, step)
        if f.name in seen:
            yield Problem("duplicate_field", f"Two fields of {where} are called '{f.name}'.", "Rename one.", step)
        seen.add(f.name)
        if f.type is FieldType.CHOICE and not f.options:
            yield Problem("no_options", f"Choice '{f.name}' in {where} offers nothing.", "List its options.", step)
        if f.minimum is not None and f.maximum is not None and f.minimum > f.maximum:
            yield Problem("empty_range", f"'{f.name}' in {where} allows no value.", "Swap minimum and maximum.", step)
