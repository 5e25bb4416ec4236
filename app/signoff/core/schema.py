"""Typed fields from a JSON Schema and back: lossless for what a field can express, a clear refusal for the rest.

A field is a text, a number, a date, a choice …, required or not, with a range. A schema that asks for more (patterns,
nested objects, item types, defaults) is refused with its place and keyword, instead of being checked less than it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as members_of
from typing import Any

from signoff.core.definition import Field, FieldType
from signoff.core.forms import FILE_MARK, LONG_TEXT_MARK, SENSITIVE_MARK

_ABOUT = frozenset({"title", "description", "examples", "deprecated", "$comment"})
_OBJECT = _ABOUT | {"type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema", "$id"}
_MARKS = frozenset({LONG_TEXT_MARK, SENSITIVE_MARK, FILE_MARK})
_TYPES = {
    "string": FieldType.TEXT,
    "number": FieldType.NUMBER,
    "integer": FieldType.INTEGER,
    "boolean": FieldType.BOOLEAN,
    "array": FieldType.LIST,
    "object": FieldType.OBJECT,
}
_ALLOWED = {
    "string": {"format", "enum", "const"},
    "number": {"minimum", "maximum"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set[str](),
    "array": {"items"},
    "object": {"additionalProperties", "properties"},
}

Wrong = tuple[str, str]
"""What cannot be expressed, as a sentence, and what to do."""


def is_schema(value: object) -> bool:
    """True for an object that stands where a list of fields is expected."""
    return isinstance(value, dict) and (value.get("type") == "object" or "properties" in value)


def fields_from_schema(schema: Mapping[str, Any]) -> tuple[tuple[Field, ...], tuple[Wrong, ...]]:
    """The fields of a JSON Schema of the type object, and everything about it that fields cannot express."""
    wrong: list[Wrong] = []
    if schema.get("type", "object") != "object":
        return (), (("The schema is not of the type object.", "Wrap the value in an object with one property."),)
    for keyword in sorted(schema.keys() - _OBJECT):
        wrong.append((f"The schema uses '{keyword}', which fields cannot express.", "Leave it out."))
    if schema.get("additionalProperties", False) is not False:
        wrong.append(
            ("The schema allows further properties, which fields refuse.", "Set additionalProperties to false.")
        )
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    if not isinstance(properties, dict) or not isinstance(required, list):
        return (), (("'properties' must be an object and 'required' a list.", "Correct the schema."),)
    definitions = {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}
    found = []
    for name, given in properties.items():
        one, problems = _field(str(name), given, name in required, definitions)
        wrong += [(f"Property '{str(name)[:60]}' {message}", remedy) for message, remedy in problems]
        if one is not None and not problems:
            found.append(one)
    wrong += [(f"'{str(n)[:60]}' is required but no property.", "Correct it.") for n in required if n not in properties]
    return tuple(found), tuple(wrong)


def _field(
    name: str, given: object, required: bool, definitions: Mapping[str, Any]
) -> tuple[Field | None, list[Wrong]]:
    if not isinstance(given, dict):
        return None, [("is no schema object.", "Write it as { … }.")]
    schema, nullable, problem = _resolved(given, definitions)
    if problem:
        return None, [problem]
    wrong: list[Wrong] = []
    if nullable and required:
        wrong.append(("is required but may be null.", "Give it the default null, so that it is optional."))
    if schema.get("default") is not None:
        wrong.append(("has a default value, which fields do not have.", "Leave the default out, or make it null."))
    kind = schema.get("type", "string" if "enum" in schema else None)
    if not isinstance(kind, str) or kind not in _TYPES:
        return None, [*wrong, (f"has the type {kind!r}, which no field has.", f"Use one of: {', '.join(_TYPES)}.")]
    for keyword in sorted(schema.keys() - _ABOUT - _MARKS - {"type", "default"} - _ALLOWED[kind]):
        wrong.append((f"uses '{keyword}', which a field cannot express.", "Leave it out."))
    made: dict[str, Any] = {
        "name": name,
        "label": str(schema.get("title", "")),
        "type": _TYPES[kind],
        "required": required,
        "help": str(schema.get("description", "")),
        "sensitive": schema.get(SENSITIVE_MARK) is True,
    }
    match kind:
        case "string":
            wrong += _text(schema, made)
        case "number" | "integer":
            wrong += _range(schema, made)
        case "array" if schema.get("items", True) not in (True, {}):
            wrong.append(("says what its items are, which a list cannot express.", "Leave 'items' out."))
        case "object" if FILE_MARK in schema:
            wrong += _file(schema[FILE_MARK], made)
        case "object" if schema.get("properties") or schema.get("additionalProperties", True) not in (True, {}):
            wrong.append(("is an object of a fixed shape.", "Make its properties fields of their own."))
        case _:
            pass
    return Field(**made), wrong


def _resolved(given: dict[str, Any], definitions: Mapping[str, Any]) -> tuple[dict[str, Any], bool, Wrong | None]:
    """The schema without references, and whether null is allowed beside it."""
    schema, nullable = dict(given), False
    for _ in range(8):
        branches = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(branches, list):
            left = [b for b in branches if b != {"type": "null"}]
            if len(left) != 1 or len(left) == len(branches) or not isinstance(left[0], dict):
                return schema, nullable, ("may be of several kinds.", "Choose one.")
            rest = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf")}
            schema, nullable = {**left[0], **rest}, True
            continue
        kind = schema.get("type")
        if isinstance(kind, list) and "null" in kind and len(kind) == 2:
            schema, nullable = {**schema, "type": next(k for k in kind if k != "null")}, True
            continue
        reference = schema.get("$ref")
        if reference is None:
            return schema, nullable, None
        target = definitions.get(str(reference).rpartition("/")[2])
        if not isinstance(target, dict) or not str(reference).startswith(("#/$defs/", "#/definitions/")):
            return schema, nullable, (f"refers to {str(reference)[:60]!r}, which is not there.", "Define it in $defs.")
        inherited = {k: v for k, v in target.items() if k != "title"}
        schema = {**inherited, **{k: v for k, v in schema.items() if k != "$ref"}}
    return schema, nullable, ("refers to itself.", "Write it out.")


def _text(schema: Mapping[str, Any], made: dict[str, Any]) -> list[Wrong]:
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if options is not None:
        if not isinstance(options, list) or not all(isinstance(o, str) and o for o in options):
            return [("offers something else than texts.", "Offer texts only.")]
        made["type"], made["options"] = FieldType.CHOICE, tuple(options)
    elif schema.get("format") == "date":
        made["type"] = FieldType.DATE
    elif "format" in schema:
        return [(f"has the format {schema['format']!r}, which is not checked.", "Leave it out, or use 'date'.")]
    elif schema.get(LONG_TEXT_MARK) is True:
        made["type"] = FieldType.LONG_TEXT
    return []


def _file(given: object, made: dict[str, Any]) -> list[Wrong]:
    endings = given.get("endings", []) if isinstance(given, dict) else None
    most = given.get("max_bytes") if isinstance(given, dict) else None
    number = most is None or (isinstance(most, int | float) and not isinstance(most, bool))
    if not isinstance(endings, list) or not all(isinstance(e, str) and e for e in endings) or not number:
        return [(f"has a '{FILE_MARK}' that cannot be read.", "Give endings (texts) and max_bytes (a number).")]
    made["type"], made["options"], made["maximum"] = FieldType.FILE, tuple(endings), most
    return []


def _range(schema: Mapping[str, Any], made: dict[str, Any]) -> list[Wrong]:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    for value in (low, high, above, below):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            return [("has a limit that is no number.", "Correct it.")]
    if any(x is not None and x != int(x) for x in (above, below)):
        return [("has a limit between whole numbers that is excluded.", "Use minimum and maximum.")]
    if above is not None:
        low = int(above) + 1 if low is None else max(low, int(above) + 1)
    if below is not None:
        high = int(below) - 1 if high is None else min(high, int(below) - 1)
    made["minimum"], made["maximum"] = low, high
    return []


def field_json(field: Field) -> dict[str, Any]:
    """A field as it stands in a definition's document: defaults left out."""
    made: dict[str, Any] = {}
    for m in members_of(Field):
        value = getattr(field, m.name)
        if value != m.default:
            made[m.name] = list(value) if isinstance(value, tuple) else str(value) if m.name == "type" else value
    return made


def fields_json(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """Fields as they stand in a definition's document."""
    return [field_json(f) for f in fields]


def with_listed_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document whose schemas are fields, wherever fields can express them; others stay for the checks."""

    def one(part: Any, keys: tuple[str, ...]) -> Any:
        if not isinstance(part, dict):
            return part
        made = dict(part)
        for key in keys:
            if is_schema(made.get(key)):
                fields, wrong = fields_from_schema(made[key])
                made[key] = made[key] if wrong else fields_json(fields)
        return made

    made: dict[str, Any] = one(dict(document), ("input",))
    if isinstance(made.get("steps"), list):
        made["steps"] = [one(s, ("output", "fields", "payload")) for s in made["steps"]]
    return made
