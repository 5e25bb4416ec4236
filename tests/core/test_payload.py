"""Sizes: what passes the core can be stored, and what does not names its step and can be mended."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.core.payload import MAX_PAYLOAD_CHARS, plain_json
from signoff.store.bodies import MAX_BODY_BYTES, dump
from tests.core.kit import JSON, World, activity, approval, document, form, subflow

FORM = [{"name": "rows", "type": "list"}]


@pytest.mark.parametrize(
    "piece", ["x", "ü", "語", "😀", '"', "\\", "\n", "\x00", 0.12345678901234567, -9007199254740991, None]
)
def test_what_passes_can_be_stored(piece: Any) -> None:
    low, high = 1, MAX_PAYLOAD_CHARS * 2
    while high - low > high // 100 + 1:
        count = (low + high) // 2
        try:
            plain_json(piece * count if isinstance(piece, str) else [piece] * count)
            low = count
        except ValueError:
            high = count
    stored = dump({"output": piece * low if isinstance(piece, str) else [piece] * low, "fence": 123, "edges": []})
    assert len(stored) < MAX_BODY_BYTES
    assert len(stored) > MAX_BODY_BYTES * 0.45, "much less than could be stored is refused"


def test_an_input_that_is_too_large_fails_its_step_and_can_be_mended() -> None:
    mapping = {"a": "=input.rows", "b": "=input.rows"}
    step = activity("then", input=mapping)
    world = World(document(activity("a"), step, edges="a>then", input=FORM), {"rows": ["ü" * 1_000] * 300})
    world.done("a")
    assert world.statuses == {"a": "succeeded", "then": "failed"}
    assert world.state.reason.startswith(
        "'THEN' failed: Something is wrong with the input of 'THEN'. The value is larger"
    )
    world.ok(world.edit({"rows": []}))
    world.ok(world.retry("then"))
    world.done("then")
    assert world.run == "succeeded"


def test_an_output_that_is_too_large_fails_its_step() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    world.ok(world.completion("a", {"text": "語" * 400_000}))
    assert world.state.reason.startswith("'A' failed: Something is wrong with the output of 'A'. The value is larger")


TWICE = {"a": "=input.rows", "b": "=input.rows"}


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (subflow("x", input=TWICE), "the input of 'X'"),
        (approval("x", shows=TWICE), "what 'X' shows"),
        (form("x", shows=TWICE), "what 'X' shows"),
        (
            form(
                "x",
                fields=[{"name": "a", "type": "list"}, {"name": "b", "type": "list"}],
                shows={"N": "1"},
                prefill=TWICE,
            ),
            "what 'X' offers for its fields",
        ),
    ],
)
def test_so_is_the_input_of_a_child_and_what_people_are_shown(step: JSON, what: str) -> None:
    world = World(document(activity("a"), step, edges="a>x", input=FORM), {"rows": ["ü" * 1_000] * 300})
    world.done("a")
    assert world.statuses == {"a": "succeeded", "x": "failed"}
    assert world.state.reason.startswith(f"'X' failed: Something is wrong with {what}. The value is larger")
    world.ok(world.edit({"rows": []}))
    world.ok(world.retry("x"))
    assert world.step("x").status == "waiting"
