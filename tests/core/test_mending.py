"""A wrong or missing value at run time is a visible error of its step that an operator mends; never a silent false."""

from __future__ import annotations

import pytest

from tests.core.kit import JSON, World, activity, approval, document, edge, form, signal, subflow, wait

FORM = [{"name": "extra", "type": "number", "required": False}, {"name": "data", "type": "object", "required": False}]
READS = "=input.extra + 1.0"
BEHIND: dict[str, JSON] = {
    "a missing number": activity("x", input={"n": READS}),
    "a member that is not there": activity("x", input={"n": "=input.data.deep.member"}),
    "a list that is none": activity("x", for_each={"items": "input.data.rows"}, input={"n": "=item"}),
    "what people are shown": approval("x", shows={"N": READS}),
    "what a form offers": form("x", prefill={"n": "=int(input.extra)"}),
    "the key of a signal": signal("x", key="=input.data.key"),
    "the input of a child": subflow("x", input={"n": READS}),
    "an instant": wait("x", until="=input.data.day"),
}


@pytest.mark.parametrize("what", BEHIND)
def test_a_value_that_is_missing_is_said_at_its_step_and_mended(what: str) -> None:
    world = World(document(activity("a"), BEHIND[what], edges="a>x", input=FORM), {"data": {"rows": 5}})
    world.done("a")
    assert (world.run, world.statuses["x"]) == ("stalled", "failed")
    told = world.explain().of("x")
    assert "retry_step" in told.actions
    assert "failed on" in told.sentence
    error = world.step("x").error
    assert error is not None
    assert error.code in ("mapping_error", "bad_items", "condition_error"), error
    mended = {"extra": 2, "data": {"deep": {"member": 1}, "rows": [1], "key": "K", "day": "2027-02-01T10:00"}}
    world.ok(world.edit(mended))
    world.ok(world.retry("x"))
    assert world.run == "running"
    assert world.step("x").status in ("scheduled", "waiting")
    assert world.state.steps["a"].generation == 1, "what had succeeded was done again"


def test_a_condition_that_says_nothing_is_no_false() -> None:
    links = [edge("a>yes", when="input.extra > 1.0"), edge("a>no", otherwise=True)]
    steps = [activity("a"), activity("yes"), activity("no")]
    world = World(document(*steps, edges=links, input=FORM), {})
    world.done("a")
    assert world.run == "stalled"
    assert "could not be evaluated" in world.state.reason
    assert world.statuses == {"a": "succeeded", "yes": "failed", "no": "failed"}
    world.ok(world.edit({"extra": 2}))
    world.ok(world.retry("yes"))
    assert world.statuses == {"a": "succeeded", "yes": "scheduled", "no": "not_taken"}
