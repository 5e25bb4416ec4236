"""Typed values of forms and outputs: check, coerce, and describe as JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from signoff.core.definition import Field, FieldType
from signoff.core.files import check_file
from signoff.core.payload import MAX_SAFE_INTEGER, is_text, plain_json

MAX_TEXT_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class ValueProblem:
    """One thing wrong with one value."""

    field: str
    message: str
    remedy: str

    @property
    def sentence(self) -> str:
        """Message and remedy as one text."""
        return f"{self.message} {self.remedy}".strip()


def check_values(
    fields: Sequence[Field], values: object, *, what: str
) -> tuple[dict[str, Any], tuple[ValueProblem, ...]]:
    """Check a mapping of values against typed fields.

    Args:
        fields: what is expected.
        values: what was given.
        what: names the form in messages, e.g. "the input of 'Purchase approval'".

    Returns:
        The values in canonical form (numbers as floats, dates as ISO text, absent optional fields as
        None) and all problems found; with problems the values must not be used.
    """
    if not isinstance(values, dict):
        return {}, (ValueProblem("", f"Expected an object with named values for {what}.", "Send a JSON object."),)
    known = {f.name for f in fields}
    problems = [
        ValueProblem(
            str(name), f"{what[0].upper()}{what[1:]} has no field '{name}'.", "Leave it out or correct its name."
        )
        for name in values
        if name not in known
    ]
    clean: dict[str, Any] = {}
    for f in fields:
        value = values.get(f.name)
        if value is None or (value == "" and f.type not in (FieldType.TEXT, FieldType.LONG_TEXT)):
            if f.required:
                problems.append(_problem(f, what, "is missing", "Fill it in."))
            clean[f.name] = None
            continue
        if value == "" and f.required:
            problems.append(_problem(f, what, "is empty", "Fill it in."))
            continue
        checked, wrong = _check_one(f, value)
        if wrong:
            problems.append(_problem(f, what, *wrong))
        else:
            clean[f.name] = checked
    return clean, tuple(problems)


def _problem(f: Field, what: str, wrong: str, remedy: str) -> ValueProblem:
    return ValueProblem(f.name, f"Field '{f.label or f.name}' of {what} {wrong}.", remedy)


def _check_one(f: Field, value: object) -> tuple[Any, tuple[str, str] | None]:
    match f.type:
        case FieldType.TEXT | FieldType.LONG_TEXT:
            if not isinstance(value, str) or not is_text(value):
                return None, ("is not a text", "Give a text.")
            if len(value) > MAX_TEXT_CHARS:
                return None, (f"is longer than {MAX_TEXT_CHARS} characters", "Shorten it.")
            return value, None
        case FieldType.BOOLEAN:
            return (value, None) if isinstance(value, bool) else (None, ("is not yes or no", "Give true or false."))
        case FieldType.INTEGER | FieldType.NUMBER:
            return _check_number(f, value)
        case FieldType.DATE:
            try:
                return date.fromisoformat(value if isinstance(value, str) else "").isoformat(), None
            except ValueError:
                return None, (f"is not a date: '{str(value)[:40]}'", "Write it as YYYY-MM-DD.")
        case FieldType.CHOICE:
            if value in f.options:
                return value, None
            return None, (f"has no choice '{str(value)[:40]}'", f"Choose one of: {', '.join(f.options)}.")
        case FieldType.LIST:
            return _plain(value) if isinstance(value, list) else (None, ("is not a list", "Give a JSON list."))
        case FieldType.FILE:
            return check_file(f, value)
        case FieldType.OBJECT:
            return _plain(value) if isinstance(value, dict) else (None, ("is not an object", "Give a JSON object."))


def _plain(value: object) -> tuple[Any, tuple[str, str] | None]:
    try:
        return plain_json(value), None
    except ValueError as error:
        return None, ("cannot be stored", str(error))


def _check_number(f: Field, value: object) -> tuple[Any, tuple[str, str] | None]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, ("is not a number", "Give a number.")
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return None, ("is not below 2^53", "Give a smaller number.")
    if isinstance(value, float) and not math.isfinite(value):
        return None, ("is not a finite number", "Give a finite number.")
    if f.type is FieldType.INTEGER:
        if value != int(value) or abs(value) > MAX_SAFE_INTEGER:
            return None, ("is not a whole number below 2^53", "Give a whole number.")
        value = int(value)
    else:
        value = float(value)
    if f.minimum is not None and value < f.minimum:
        return None, (f"is below {_shown(f.minimum)}", f"Give at least {_shown(f.minimum)}.")
    if f.maximum is not None and value > f.maximum:
        return None, (f"is above {_shown(f.maximum)}", f"Give at most {_shown(f.maximum)}.")
    return value, None


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


LONG_TEXT_MARK, SENSITIVE_MARK, FILE_MARK = "x-long-text", "x-sensitive", "x-file"
"""Keywords of our own for what JSON Schema has no word for."""
_JSON_TYPES = {
    FieldType.TEXT: "string",
    FieldType.LONG_TEXT: "string",
    FieldType.NUMBER: "number",
    FieldType.INTEGER: "integer",
    FieldType.BOOLEAN: "boolean",
    FieldType.DATE: "string",
    FieldType.CHOICE: "string",
    FieldType.LIST: "array",
    FieldType.OBJECT: "object",
    FieldType.FILE: "object",
}


def json_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The fields as a JSON Schema (2020-12) object."""
    properties: dict[str, Any] = {}
    for f in fields:
        p: dict[str, Any] = {"type": _JSON_TYPES[f.type]}
        if f.label:
            p["title"] = f.label
        if f.help:
            p["description"] = f.help
        if f.type is FieldType.DATE:
            p["format"] = "date"
        if f.type is FieldType.LONG_TEXT:
            p[LONG_TEXT_MARK] = True
        if f.sensitive:
            p[SENSITIVE_MARK] = True
        if f.type is FieldType.FILE:
            p[FILE_MARK] = {"endings": list(f.options), "max_bytes": f.maximum}
            properties[f.name] = p
            continue
        if f.options:
            p["enum"] = list(f.options)
        if f.minimum is not None:
            p["minimum"] = f.minimum
        if f.maximum is not None:
            p["maximum"] = f.maximum
        properties[f.name] = p
    return {
        "type": "object",
        "properties": properties,
        "required": [f.name for f in fields if f.required],
        "additionalProperties": False,
    }
