"""What differs between two definitions: whole sentences, every field, new ones included."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings

from signoff.core.definition import ActivityConfig, ApprovalConfig, Definition, Field, Policies, WaitConfig
from signoff.core.diff import compare
from signoff.core.document import read_document
from tests.core.kit import activity, approval, definition_of, document, edge, wait
from tests.core.strategies import documents

OLD = document(activity("a"), approval("p", expires="P3D"), wait("w"), edges="a>p p>w")


def said(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [c.sentence for c in compare(definition_of(old), definition_of(new))]


def test_the_same_content_has_no_difference() -> None:
    assert said(OLD, OLD) == []


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        document(activity("a"), approval("p", expires="P3D"), wait("w"), activity("x"), edges="a>p p>w w>x"),
        ["Added the activity 'X'.", "Added the way from 'W' to 'X'."],
    ),
    (
        document(activity("a"), approval("p", expires="P3D"), edges="a>p"),
        ["Removed the wait 'W'.", "Removed the way from 'P' to 'W'."],
    ),
    (
        document(activity("a"), approval("p", expires="P3D", label="Manager"), wait("w"), edges="a>p p>w"),
        ["'P' is now called 'Manager'."],
    ),
    (
        document(activity("a"), approval("p2", expires="P3D", label="P"), wait("w"), edges="a>p2 p2>w"),
        ["'P' has the new id 'p2' (was 'p')."],
    ),
    (
        document(activity("a"), approval("p", ("pair",), required=2), wait("w"), edges="a>p p>w"),
        [
            "'P': groups asked without 'team' and now with 'pair'.",
            "'P': approvals needed now 2 (was 1).",
            "'P': expiry now not set (was 'P3D').",
        ],
    ),
    (
        document(
            activity("a", retry={"max_attempts": 5}, timeouts={"run_s": 90.0}, input={"x": "=input.n"}),
            approval("p", expires="P3D"),
            wait("w"),
            edges="a>p p>w",
            input=[{"name": "n", "label": "Amount"}],
        ),
        [
            "The start form asks for 'Amount'.",
            "'A': input, x now '=input.n' (was not set).",
            "'A': retry, max attempts now 5 (was 3).",
            "'A': timeouts, run now 90 seconds (was 60 seconds).",
        ],
    ),
    (
        document(activity("a"), approval("p", expires="P3D"), wait("w"), edges="a>p p:rejected>w"),
        ["The way from 'P' to 'W': outcome followed now 'rejected' (was not set)."],
    ),
    (
        document(
            activity("a"),
            approval("p", expires="P3D"),
            wait("w"),
            edges=[edge("a>p", when="1 < 2"), edge("p>w")],
            policies={"zone": "Europe/Berlin", "failure": "fail"},
        ),
        [
            "For the whole process: when a step fails now fail (was stall).",
            "For the whole process: time zone now 'Europe/Berlin' (was 'UTC').",
            "The way from 'A' to 'P': condition now '1 < 2' (was not set).",
        ],
    ),
    (
        document(activity("a"), activity("p", label="P"), wait("w"), edges="a>p p>w"),
        ["'P' is now an activity (was an approval)."],
    ),
    (document(wait("w"), approval("p", expires="P3D"), activity("a"), edges="a>p p>w"),
     ["The steps are listed in another order."]),
]  # fmt: skip


@pytest.mark.parametrize(("new", "sentences"), CASES)
def test_each_difference_is_a_sentence(new: dict[str, Any], sentences: list[str]) -> None:
    assert said(OLD, new) == sentences


def _other(value: Any) -> Any:
    """Some other value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if type(value) is str:
            return value + "x"
        case dict():
            return {**value, "k": 1}
        case tuple():
            return (*value, "x")
        case None:
            return 7.0
        case _ if hasattr(type(value), "__members__"):
            return next(m for m in type(value) if m is not value)
        case _:
            first = fields(value)[0]
            return replace(value, **{first.name: _other(getattr(value, first.name))})


@pytest.mark.parametrize("config", [ActivityConfig(), ApprovalConfig(), WaitConfig(), Policies()])
def test_no_field_of_the_definition_is_forgotten(config: Any) -> None:
    """Also those that a later release adds."""
    old = definition_of(document(activity("a")))
    for f in fields(config):
        changed = replace(config, **{f.name: _other(getattr(config, f.name))})
        if isinstance(config, Policies):
            pair = replace(old, policies=config), replace(old, policies=changed)
        else:
            pair = tuple(replace(old, steps=(replace(old.steps[0], config=x),)) for x in (config, changed))
        (change,) = compare(*pair)
        assert change.name.split(".")[0] == f.name
        assert change.sentence.endswith(".")
        assert "_" not in change.sentence


def test_a_changed_form_field_is_named_by_its_label() -> None:
    old = definition_of(document(activity("a"), input=[{"name": "n", "label": "Amount"}]))
    new = replace(old, input=(Field("n", "Amount", required=False),))
    assert [c.sentence for c in compare(old, new)] == ["In the start form, 'Amount': required now no (was yes)."]


@settings(deadline=None)
@given(documents(), documents())
def test_equal_content_and_no_difference_are_the_same_thing(one: dict[str, Any], other: dict[str, Any]) -> None:
    a, b = read_document(one)[0], read_document(other)[0]
    assert isinstance(a, Definition)
    assert isinstance(b, Definition)
    assert (compare(a, b) == ()) == (a == b)
    assert compare(a, a) == ()
