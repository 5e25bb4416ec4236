"""Typed values of a form as people enter them: text in, checked values out, every problem at its field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from signoff.core.definition import Field, FieldType
from signoff.core.forms import check_values

NUMBERS = (FieldType.NUMBER, FieldType.INTEGER)
JSON_TYPES = (FieldType.LIST, FieldType.OBJECT)


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as filled in: values to send, or sentences by field name ("" for the whole form)."""

    values: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether the values may be sent."""
        return not self.problems


def fill(fields: Sequence[Field], entered: Mapping[str, Any], *, what: str) -> Filled:
    """Read what was entered and check it with the engine's own rules.

    Args:
        fields: what the form asks for.
        entered: raw values by field name: texts, booleans, dates, None.
        what: names the form in sentences, e.g. "the input of 'Purchase approval'".
    """
    raw = {f.name: _read(f, entered.get(f.name)) for f in fields}
    values, problems = check_values(fields, raw, what=what)
    found: dict[str, str] = {}
    for problem in problems:
        found.setdefault(problem.field, problem.sentence)
    return Filled({} if found else values, found)


def _read(f: Field, value: Any) -> Any:
    if isinstance(value, str):
        value = value.strip() if f.type is not FieldType.LONG_TEXT else value
        if f.type in NUMBERS:
            return _number(value)
        if f.type in JSON_TYPES and value:
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value
    if isinstance(value, date):
        return value.isoformat()[:10]
    return value


def _number(text: str) -> Any:
    """A number as typed: `1250`, `1,250.50`, `1 250`; anything else stays text, so that checking names it."""
    plain = text.replace(" ", "").replace("\u00a0", "").replace("_", "")
    if not plain:
        return None
    whole, dot, rest = plain.partition(".")
    groups = whole.lstrip("+-").split(",")
    if len(groups) > 1 and 1 <= len(groups[0]) <= 3 and all(len(g) == 3 for g in groups[1:]):
        plain = whole.replace(",", "") + dot + rest
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return text


def entered_text(f: Field, value: Any) -> Any:
    """A stored value as the widget of its field shows it."""
    match f.type:
        case FieldType.BOOLEAN:
            return bool(value)
        case FieldType.LIST | FieldType.OBJECT:
            return "" if value is None else json.dumps(value, ensure_ascii=False, indent=1)
        case FieldType.NUMBER | FieldType.INTEGER:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return ""
            return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
        case FieldType.FILE:
            return value
        case _:
            return "" if value is None else str(value)
