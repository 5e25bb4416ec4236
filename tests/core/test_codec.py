"""Events and snapshots as plain JSON, and what an older or newer database holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core import events as e
from signoff.core.codec import DATA_EVENTS, decode_event, decode_snapshot, encode_event, encode_snapshot
from signoff.core.standing_in import Delegation
from signoff.core.states import Actor, ErrorInfo, Quota, Rung, SignIn
from signoff.core.upcast import UPCASTERS
from tests.core.checks import again
from tests.core.kit import START, World, activity, approval, document, wait

ACTOR = Actor("person", "ann", "Ann", "web")


def test_every_event_has_a_wire_name_of_its_own_and_a_version() -> None:
    assert len({x.wire for x in e.ALL_EVENTS}) == len(e.ALL_EVENTS)
    for x in e.ALL_EVENTS:
        assert x.wire == x.wire.lower()
        assert "." in x.wire
        assert x.version >= 1
    defined = {x for x in vars(e).values() if isinstance(x, type) and issubclass(x, e.Event) and x.wire}
    assert defined == set(e.ALL_EVENTS)


def test_exactly_the_events_that_carry_input_or_outputs_are_data_events() -> None:
    carrying = {"run.started", "run.input_edited", "run.migrated", "activity.items_opened"} | {
        x.wire for x in e.ALL_EVENTS if "output" in {f.name for f in fields(x)}
    }
    assert set(DATA_EVENTS) == carrying


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
instants = st.integers(0, 4_000_000_000_000_000).map(
    lambda us: datetime.fromtimestamp(0, UTC) + timedelta(microseconds=us)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(max_size=8),
    "int": st.integers(0, 2**31),
    "bool": st.booleans(),
    "Any": json_values,
    "datetime": instants,
    "datetime | None": st.none() | instants,
    "Actor": st.just(ACTOR),
    "Actor | None": st.sampled_from([None, ACTOR]),
    "ErrorInfo": st.builds(ErrorInfo, st.text(max_size=5), st.text(max_size=5), st.booleans()),
    "ErrorInfo | None": st.none() | st.builds(ErrorInfo, st.text(max_size=5), st.text(max_size=5), st.booleans()),
    "dict[str, Any]": st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    "dict[str, Any] | None": st.none() | st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    "tuple[tuple[str, str, int], ...]": st.lists(
        st.tuples(st.text(max_size=5), st.text(max_size=5), st.integers(1, 9))
    ).map(tuple),
    "tuple[str, ...]": st.lists(st.text(max_size=5), max_size=3).map(tuple),
    "tuple[tuple[str, int, int], ...]": st.lists(
        st.tuples(st.text(max_size=5), st.integers(1, 9), st.integers(1, 9))
    ).map(tuple),
    "list[Any]": st.lists(st.integers(0, 9) | st.text(max_size=5), max_size=3),
    "tuple[int, ...]": st.lists(st.integers(0, 99), max_size=4).map(tuple),
    "tuple[Rung, ...]": st.lists(
        st.builds(Rung, st.sampled_from(["reminder", "escalation"]), st.integers(1, 9), instants), max_size=3
    ).map(tuple),
    "tuple[Quota, ...]": st.lists(
        st.builds(Quota, st.text(max_size=5), st.integers(1, 9), st.lists(st.text(max_size=5)).map(tuple)), max_size=3
    ).map(tuple),
    "Delegation | None": st.none()
    | st.builds(Delegation, st.integers(1, 9), st.text(max_size=5), st.text(max_size=5), instants, instants),
    "SignIn | None": st.none() | st.builds(SignIn, st.sampled_from(["password", "token"]), st.none() | instants),
    "Edges": st.lists(st.tuples(st.text(max_size=5), st.sampled_from(["live", "dead"])), max_size=3).map(tuple),
}


@st.composite
def any_event(draw: st.DrawFn) -> e.Event:
    cls = draw(st.sampled_from(e.ALL_EVENTS))
    given_values = {}
    for f in fields(cls):
        optional = f.default is not MISSING or f.default_factory is not MISSING
        if not optional or draw(st.booleans()):
            given_values[f.name] = draw(VALUES[str(f.type)])
    return cls(**given_values)


@settings(deadline=None, max_examples=400)
@given(any_event())
def test_any_event_comes_back_from_json_text(event: e.Event) -> None:
    copy = again(event)
    assert copy == event
    assert json.dumps(encode_event(copy)) == json.dumps(encode_event(event))


def test_true_and_one_are_not_confused() -> None:
    for output in (True, 1, 1.0, 0, False, None, "", [], {}):
        event = e.StepSkipped(at=START, step="a", actor=ACTOR, reason="x", output=output)
        copy = again(event)
        assert isinstance(copy, e.StepSkipped)
        assert copy.output == output
        assert type(copy.output) is type(output)


def test_defaults_are_left_out() -> None:
    event = e.RunEnded(at=START, outcome="succeeded")
    assert encode_event(event) == {"outcome": "succeeded"}


def test_an_unknown_event_and_a_newer_version_are_faults() -> None:
    with pytest.raises(ValueError, match="newer release"):
        decode_event("run.teleported", 1, START, "", {})
    with pytest.raises(ValueError, match=r"version 2.*newer release"):
        decode_event("run.ended", 2, START, "", {"outcome": "succeeded"})


def test_an_older_version_goes_through_every_upcaster(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"outcome": data["result"]}

    def lower(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"outcome": data["outcome"].lower()}

    monkeypatch.setitem(UPCASTERS, ("run.ended", -1), rename)
    monkeypatch.setitem(UPCASTERS, ("run.ended", 0), lower)
    event = decode_event("run.ended", -1, START, "", {"result": "SUCCEEDED"})
    assert event == e.RunEnded(at=START, outcome="succeeded")


def test_a_snapshot_holds_neither_input_nor_outputs() -> None:
    form = [{"name": "secret", "type": "text"}]
    world = World(document(activity("a"), approval("p", required=2), wait("w"), input=form), {"secret": "in-put"})
    world.done("a", output={"x": "out-put"})
    world.approve("p", "ann")
    text = json.dumps(encode_snapshot(world.state))
    assert "in-put" not in text
    assert "out-put" not in text
    data = [x for x in world.events if x.wire in DATA_EVENTS]
    assert decode_snapshot(json.loads(text), data) == world.state
