"""Typed values: what is accepted, in which form it is kept, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.core.definition import Field, FieldType
from signoff.core.forms import check_values, json_schema

WHAT = "the input of 'Sample'"


def one(type: str, value: Any, **more: Any) -> tuple[Any, str]:
    clean, problems = check_values((Field("x", "Value", FieldType(type), **more),), {"x": value}, what=WHAT)
    return clean.get("x"), " ".join(p.sentence for p in problems)


@pytest.mark.parametrize(
    ("type", "value", "kept"),
    [
        ("text", "a", "a"),
        ("long_text", "a\nb", "a\nb"),
        ("number", 5, 5.0),
        ("number", -0.5, -0.5),
        ("integer", 5.0, 5),
        ("integer", 2**53 - 1, 2**53 - 1),
        ("boolean", False, False),
        ("date", "2027-02-28", "2027-02-28"),
        ("date", "20270228", "2027-02-28"),
        ("choice", "b", "b"),
        ("list", [1, {"a": None}], [1, {"a": None}]),
        ("object", {"a": [1]}, {"a": [1]}),
    ],
)
def test_accepted(type: str, value: Any, kept: Any) -> None:
    found, said = one(type, value, options=("a", "b"))
    assert said == ""
    assert found == kept
    assert found.__class__ is kept.__class__


@pytest.mark.parametrize(
    ("type", "value", "said"),
    [
        ("text", 5, "is not a text"),
        ("text", "", "is empty"),
        ("text", "\ud800", "is not a text"),
        ("text", "x" * 20_001, "longer than 20000"),
        ("number", "5", "is not a number"),
        ("number", True, "is not a number"),
        ("number", float("nan"), "not a finite number"),
        ("number", float("inf"), "not a finite number"),
        ("number", 10**400, "2^53"),
        ("integer", 1.5, "not a whole number"),
        ("integer", 1e300, "not a whole number"),
        ("integer", 2**53, "2^53"),
        ("boolean", 1, "not yes or no"),
        ("boolean", "", "is missing"),
        ("date", "28.02.2027", "not a date"),
        ("date", "2027-02-30", "not a date"),
        ("date", 20270228, "not a date"),
        ("choice", "c", "Choose one of: a, b."),
        ("choice", ["a"], "no choice"),
        ("list", {}, "not a list"),
        ("list", [2**60], "cannot be stored"),
        ("object", [], "not an object"),
        ("object", {"a": float("nan")}, "cannot be stored"),
        ("text", None, "is missing. Fill it in."),
    ],
)
def test_refused(type: str, value: Any, said: str) -> None:
    _, found = one(type, value, options=("a", "b"))
    assert said in found
    assert found.startswith("Field 'Value' of the input of 'Sample' ")


def test_limits_read_as_people_write_numbers() -> None:
    assert one("number", 2_000_000, maximum=1_000_000)[1].endswith("is above 1000000. Give at most 1000000.")
    assert one("number", 0, minimum=0.01)[1].endswith("is below 0.01. Give at least 0.01.")
    assert one("number", 0.01, minimum=0.01, maximum=0.01) == (0.01, "")


def test_optional_values_are_present_as_none() -> None:
    fields = (Field("a", required=False), Field("n", type=FieldType.NUMBER, required=False))
    assert check_values(fields, {}, what=WHAT) == ({"a": None, "n": None}, ())
    assert check_values(fields, {"a": "", "n": ""}, what=WHAT) == ({"a": "", "n": None}, ())


def test_all_problems_at_once() -> None:
    fields = (Field("a"), Field("n", type=FieldType.NUMBER))
    _, problems = check_values(fields, {"n": "x", "z": 1}, what=WHAT)
    assert [p.field for p in problems] == ["z", "a", "n"]
    _, problems = check_values(fields, [], what=WHAT)
    assert problems[0].sentence == "Expected an object with named values for the input of 'Sample'. Send a JSON object."


def test_json_schema() -> None:
    fields = (
        Field("a", "Name", help="Full name."),
        Field("d", type=FieldType.DATE, required=False),
        Field("c", type=FieldType.CHOICE, options=("x", "y")),
        Field("n", type=FieldType.INTEGER, minimum=1, maximum=5),
    )
    schema = json_schema(fields)
    assert schema["required"] == ["a", "c", "n"]
    assert schema["properties"] == {
        "a": {"type": "string", "title": "Name", "description": "Full name."},
        "d": {"type": "string", "format": "date"},
        "c": {"type": "string", "enum": ["x", "y"]},
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
    }
    assert schema["additionalProperties"] is False
