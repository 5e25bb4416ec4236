"""Layout, values, mappings, words and pictures: pure, without widgets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.definition import Field, FieldType
from signoff.core.document import read_document
from signoff.web.models import mapping, words
from signoff.web.models.layout import layered
from signoff.web.models.picture import draw, edge_look, step_look
from signoff.web.models.routing import DEFAULT, turn
from signoff.web.models.values import entered_text, fill
from tests.web.office import PURCHASE

GRAPHS = st.integers(1, 20).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda pairs: {str(i): [str(b) for a, b in pairs if a == i] for i in range(n)}
    )
)


@given(GRAPHS, st.integers(1, 6))
def test_every_step_gets_a_place_of_its_own(graph: dict[str, list[str]], columns: int) -> None:
    places = layered(graph, columns=columns)
    assert set(places) == set(graph)
    assert len(set(places.values())) == len(places)


def test_steps_stand_right_of_those_before_them_and_no_edge_runs_through_a_step() -> None:
    places = layered({"a": ["b", "c"], "b": ["c"], "c": []}, columns=6)
    assert places["a"][0] < places["b"][0] < places["c"][0]
    assert places["b"][1] != places["a"][1], "the edge from a to c would run through b"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_a_mapping_value_survives_being_one_line_of_text(value: Any) -> None:
    assert mapping.from_text(mapping.to_text(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("=input.amount", "=input.amount"),
        ("5", 5),
        ("true", True),
        ("hello", "hello"),
        ('["a"]', ["a"]),
        ("NaN", "NaN"),
        ("12 apples", "12 apples"),
    ],
)
def test_what_people_type_means_what_they_mean(text: str, value: Any) -> None:
    assert mapping.from_text(text) == value


def test_problems_stand_at_their_fields() -> None:
    fields = (
        Field("amount", "Amount", FieldType.NUMBER, minimum=1.0),
        Field("when", "When", FieldType.DATE),
        Field("note", "Note", FieldType.LONG_TEXT, required=False),
    )
    bad = fill(fields, {"amount": "a lot", "when": "tomorrow", "note": ""}, what="the form")
    assert set(bad.problems) == {"amount", "when"}
    assert "'Amount' of the form is not a number" in bad.problems["amount"]
    good = fill(fields, {"amount": "1,250.50", "when": "2026-12-01", "note": ""}, what="the form")
    assert good.values["amount"] == 1250.5
    assert good.is_good


@given(st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-(2**50), 2**50))
def test_a_stored_number_survives_being_shown(value: float) -> None:
    field = Field("n", "N", FieldType.NUMBER)
    assert fill((field,), {"n": entered_text(field, value)}, what="it").values == {"n": float(value)}


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "just now"), (60, "1 minute ago"), (7_300, "2 hours ago"), (200_000, "2 days ago")]
)
def test_how_long_ago(seconds: int, said: str) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert words.ago(now - timedelta(seconds=seconds), now) == said


def test_a_state_is_said_in_class_text_and_aria_label() -> None:
    definition, _ = read_document(PURCHASE)
    assert definition is not None
    step = definition.steps[1]
    assert step_look(step, "succeeded").aria == "Approval Manager approves: Approved"
    assert step_look(step, "expired").class_name == "step kind-approval is-expired"
    looks = {s.id: step_look(s, "pending") for s in definition.steps}
    labels = {s.id: s.label for s in definition.steps}
    edges = {e.key: edge_look(e, labels, "dead") for e in definition.edges}
    nodes, lines = draw(definition, {}, looks, edges, editable=False)
    assert all(not n["draggable"] and not n["deletable"] for n in nodes)
    rejected = next(line for line in lines if line["id"] == "approve:rejected>tell")
    assert rejected["sourceHandle"] == "rejected"
    assert rejected["ariaLabel"] == "From Manager approves to Tell the requester, rejected: not taken"


def test_an_edge_turns_where_it_hides_no_step() -> None:
    straight = turn((0, 0), (250, 100), [])
    assert straight == DEFAULT
    early = turn((0, 0), (500, 200), [(250, 0)])
    assert early < 0.2, "a step stands to the right of the source, so the edge leaves its row at once"
    late = turn((0, 0), (500, 200), [(250, 200)])
    assert late > 0.8, "a step stands to the left of the target, so the edge enters its row at the last moment"
