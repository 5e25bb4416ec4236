"""Signal steps: a message by name and key, checked, late, early, wrong."""

from __future__ import annotations

import pytest

from signoff.core.document import read_document, write_document
from signoff.core.validate import validate
from tests.core.kit import JSON, World, activity, document, signal

FIELDS = [{"name": "n", "type": "integer"}]


def waiting(input: JSON | None = None, **more: object) -> World:
    form = [{"name": "order", "type": "number", "required": False}]
    steps = [signal("s", payload=FIELDS, **more), activity("b")]
    return World(document(*steps, edges="s>b", input=form), input or {})


def test_a_message_is_the_output() -> None:
    world = waiting()
    assert world.step("s").key == "r1"
    said = world.explain().of("s").sentence
    assert said.startswith("'S' has waited for the signal 'paid' with the key 'r1' since")
    world.later(minutes=5)
    world.ok(world.message("s"))
    assert world.state.outputs["s"] == {"n": 1}
    assert world.step("b").status == "scheduled"
    assert "got its signal" in world.explain().of("s").sentence
    assert world.no(world.message("s")).code == "not_waiting"


@pytest.mark.parametrize(
    ("input", "key", "found"),
    [({"order": 4711}, "=input.order", "4711"), ({}, "fixed", "fixed"), ({}, "='a' + 'b'", "ab")],
)
def test_the_key_is_a_literal_or_an_expression(input: JSON, key: str, found: str) -> None:
    assert waiting(input, key=key).step("s").key == found


@pytest.mark.parametrize("key", ["=input.order", "=true", "=[1]", "=' '"])
def test_a_key_that_is_none_is_seen_and_mended(key: str) -> None:
    world = waiting({}, key=key)
    assert world.run == "stalled"
    assert world.step("s").error.code == "mapping_error"  # type: ignore[union-attr]
    if key == "=input.order":
        world.ok(world.edit({"order": 5}))
        world.ok(world.retry("s"))
        assert world.step("s").key == "5"


@pytest.mark.parametrize("more", [{"key": "other"}, {"name": "other"}, {"generation": 2}])
def test_another_message_is_not_for_it(more: JSON) -> None:
    world = waiting()
    assert world.no(world.message("s", **more)).code == "not_waiting"


def test_a_wrong_payload_is_refused_at_the_door_and_seen_where_it_was_kept() -> None:
    world = waiting()
    refused = world.no(world.message("s", payload={"n": "x"}))
    assert (refused.code, refused.evidence) == ("invalid_payload", True)
    assert refused.details["problems"][0]["field"] == "n"
    world.ok(world.message("s", payload={"n": "x"}, kept=True))
    assert world.run == "stalled"
    assert "Message 'm1' does not fit. Field 'n' of the payload for 'S' is not a number." in world.explain().sentence
    world.ok(world.retry("s"))
    world.ok(world.message("s"))


def test_it_expires_and_nobody_is_blamed() -> None:
    world = waiting(expires="PT1H")
    world.later(hours=2)
    assert world.no(world.message("s")).code == "expired"
    world.fire("s")
    assert "The signal 'paid' did not come in time at 'S'." in world.explain().sentence
    assert "the signal 'paid' did not come in time" in world.explain().of("s").sentence


def test_a_paused_run_takes_no_message() -> None:
    world = waiting()
    world.pause()
    assert world.no(world.message("s")).code == "paused"
    world.resume()
    world.ok(world.message("s"))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"signal": ""}, "bad_signal"),
        ({"signal": "Not A Name"}, "bad_signal"),
        ({"key": "=1 +"}, "bad_expression"),
        ({"key": "x" * 201}, "bad_key"),
        ({"key": "=input.nothing"}, "unknown_input"),
        ({"expires": "soon"}, "bad_duration"),
        ({"payload": [{"name": "X"}]}, "bad_field"),
    ],
)
def test_what_is_wrong_with_a_signal(more: JSON, code: str) -> None:
    definition, read = read_document(document({**signal("s"), **more}))
    assert definition is not None
    assert code in {p.code for p in (*read, *validate(definition))}


def test_it_is_written_as_it_was_read() -> None:
    definition, _ = read_document(document(signal("s", payload=FIELDS, key="=input.x", expires="P1D")))
    assert definition is not None
    assert read_document(write_document(definition))[0] == definition
