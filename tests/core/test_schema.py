"""Fields from JSON Schemas and Pydantic models, and back: nothing is lost, and nothing is checked less than it says."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic import Field as Member

import signoff
from signoff.core.definition import Field, FieldType
from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.forms import check_values, json_schema
from signoff.core.schema import fields_from_schema
from signoff.errors import InvalidInput
from tests.core.kit import JSON, activity, document, form


class Currency(StrEnum):
    EUR = "EUR"
    PLN = "PLN"


class Invoice(BaseModel):
    number: str = Member(title="Invoice number", description="As printed.")
    amount: float = Member(ge=0, le=100_000)
    items: int = Member(gt=0)
    due: date
    currency: Currency
    kind: Literal["goods", "service"]
    urgent: bool
    note: str | None = None
    lines: list | None = None  # type: ignore[type-arg]
    extra: dict[str, Any]


def test_a_pydantic_model_gives_the_fields_of_a_form() -> None:
    assert signoff.fields_of(Invoice) == [
        {"name": "number", "label": "Invoice number", "help": "As printed."},
        {"name": "amount", "label": "Amount", "type": "number", "minimum": 0, "maximum": 100_000},
        {"name": "items", "label": "Items", "type": "integer", "minimum": 1},
        {"name": "due", "label": "Due", "type": "date"},
        {"name": "currency", "type": "choice", "options": ["EUR", "PLN"]},
        {"name": "kind", "label": "Kind", "type": "choice", "options": ["goods", "service"]},
        {"name": "urgent", "label": "Urgent", "type": "boolean"},
        {"name": "note", "label": "Note", "required": False},
        {"name": "lines", "label": "Lines", "type": "list", "required": False},
        {"name": "extra", "label": "Extra", "type": "object"},
    ]
    definition, problems = read_document(document(activity("a", output=signoff.fields_of(Invoice))))
    assert not problems
    assert definition is not None
    good = {"number": "R-1", "amount": 2.5, "items": 1, "due": "2027-01-01", "currency": "EUR", "kind": "goods",
            "urgent": False, "extra": {}}  # fmt: skip
    assert check_values(definition.steps[0].output, good, what="it")[1] == ()
    _, wrong = check_values(definition.steps[0].output, {**good, "items": 0, "currency": "USD"}, what="it")
    assert {p.field for p in wrong} == {"items", "currency"}


def test_a_schema_may_stand_where_fields_are_expected_and_means_the_same() -> None:
    """The digest is of the fields, so that both ways of writing are one version."""
    fields = signoff.fields_of(Invoice)
    schema = Invoice.model_json_schema()
    listed = document(activity("a", output=fields), form("f", fields=fields), input=fields)
    written = document(activity("a", output=schema), form("f", fields=schema), input=schema)
    one, other = read_document(listed), read_document(written)
    assert one[1] == other[1] == ()
    assert one[0] is not None
    assert other[0] is not None
    assert definition_digest(one[0]) == definition_digest(other[0])


REFUSED: dict[str, tuple[JSON, str]] = {
    "pattern": ({"type": "string", "pattern": "^R"}, "uses 'pattern'"),
    "length": ({"type": "string", "maxLength": 3}, "uses 'maxLength'"),
    "format": ({"type": "string", "format": "email"}, "has the format 'email'"),
    "items": ({"type": "array", "items": {"type": "string"}}, "says what its items are"),
    "nested": ({"type": "object", "properties": {"x": {"type": "string"}}}, "is an object of a fixed shape"),
    "default": ({"type": "integer", "default": 5}, "has a default value"),
    "multiple": ({"type": "number", "multipleOf": 0.01}, "uses 'multipleOf'"),
    "kinds": ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "may be of several kinds"),
    "numbers": ({"enum": [1, 2]}, "offers something else than texts"),
    "null": ({"type": ["string", "null"]}, "is required but may be null"),
    "reference": ({"$ref": "#/$defs/nowhere"}, "which is not there"),
    "type": ({"type": "null"}, "has the type 'null'"),
    "limit": ({"type": "integer", "exclusiveMinimum": 0.5}, "between whole numbers"),
    "no schema": ([], "is no schema object"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_field_cannot_express_is_refused_by_name(name: str) -> None:
    schema, words = REFUSED[name]
    with pytest.raises(InvalidInput) as refused:
        signoff.fields_from_schema({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    assert "Property 'x' " in str(refused.value)
    assert words in str(refused.value)


def test_the_whole_schema_is_looked_at() -> None:
    schema = {"type": "object", "allOf": [], "additionalProperties": True, "required": ["y"], "properties": {}}
    _, wrong = fields_from_schema(schema)
    said = " ".join(message for message, _ in wrong)
    for words in ("uses 'allOf'", "allows further properties", "'y' is required but no property"):
        assert words in said
    assert fields_from_schema({"type": "array"})[1][0][0] == "The schema is not of the type object."
    loop = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {"x": {"$ref": "#/$defs/a"}}}
    assert "refers to itself" in fields_from_schema(loop)[1][0][0]


def test_a_bad_schema_in_a_definition_names_its_place() -> None:
    bad = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^R"}}}
    _, problems = read_document(document(activity("a", output=bad)))
    assert [(p.code, p.step, p.path) for p in problems] == [("bad_schema", "a", "steps[0].output")]
    assert "Property 'x' uses 'pattern'" in problems[0].message


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
LIMITS = st.none() | st.integers(-50, 50).map(float)


@st.composite
def any_fields(draw: st.DrawFn) -> tuple[Field, ...]:
    names = draw(st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), unique=True, max_size=6))
    made = []
    for name in names:
        kind = draw(st.sampled_from(FieldType))
        number = kind in (FieldType.NUMBER, FieldType.INTEGER)
        options = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=3, unique=True))
        made.append(
            Field(
                name,
                draw(TEXTS),
                kind,
                draw(st.booleans()),
                tuple(options) if kind is FieldType.CHOICE else (),
                draw(LIMITS) if number else None,
                draw(LIMITS) if number else None,
                draw(TEXTS),
                draw(st.booleans()),
            )
        )
    return tuple(made)


@given(any_fields())
def test_there_and_back_nothing_is_lost(fields: tuple[Field, ...]) -> None:
    found, wrong = fields_from_schema(json_schema(fields))
    assert wrong == ()
    assert found == fields


def test_fields_of_a_document_as_a_schema() -> None:
    fields = [{"name": "n", "type": "integer", "minimum": 1}, {"name": "why", "type": "long_text", "required": False}]
    schema = signoff.json_schema_of(fields)
    assert schema["properties"]["n"] == {"type": "integer", "minimum": 1}
    assert schema["required"] == ["n"]
    assert signoff.fields_from_schema(schema) == [{**fields[0]}, fields[1]]
    with pytest.raises(InvalidInput, match="nonsense"):
        signoff.json_schema_of([{"name": "n", "nonsense": 1}])
