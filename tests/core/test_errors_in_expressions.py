"""What conditions and mappings can read of a failure, and waits whose length is computed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from signoff.core.document import read_document
from signoff.core.validate import validate
from tests.core.kit import JSON, START, World, activity, document, edge, once, wait


def by_code() -> JSON:
    return document(
        once("pay"),
        activity("wait_for_stock", input={"why": "=steps.pay.error.message"}),
        once("report"),
        edges=[
            edge("pay>wait_for_stock", on="failed", when='steps.pay.error.code == "out_of_stock"'),
            edge("pay>report", on="failed", otherwise=True),
        ],
    )


@pytest.mark.parametrize(
    ("code", "taken", "left"), [("out_of_stock", "wait_for_stock", "report"), ("boom", "report", "wait_for_stock")]
)
def test_a_failure_is_handled_by_its_code(code: str, taken: str, left: str) -> None:
    world = World(by_code())
    world.breaks("pay", code=code)
    assert (world.statuses[taken], world.statuses[left]) == ("scheduled", "not_taken")
    if taken == "wait_for_stock":
        scheduled = next(x for x in reversed(world.events) if x.wire == "activity.scheduled")
        assert getattr(scheduled, "input", None) == {"why": "It broke."}


def test_a_step_that_did_not_fail_has_an_empty_error() -> None:
    world = World(document(once("a"), once("b"), edges=[edge("a>b", when='steps.a.error.code == ""')]))
    world.done("a")
    assert world.statuses["b"] == "scheduled"


def test_where_no_condition_knows_the_code_the_failure_is_not_handled() -> None:
    steps = (once("pay"), once("mend"))
    world = World(document(*steps, edges=[edge("pay>mend", on="failed", when='steps.pay.error.code == "other"')]))
    world.breaks("pay")
    assert (world.run, world.statuses["mend"]) == ("stalled", "blocked")


def test_only_known_parts_of_a_step_may_be_read() -> None:
    definition, _ = read_document(document(once("a"), once("b"), edges=[edge("a>b", when="steps.a.fault == 1")]))
    assert definition is not None
    (problem,) = [p for p in validate(definition) if p.severity == "error"]
    assert "steps.a.error" in problem.remedy


def test_the_length_of_a_wait_can_be_computed() -> None:
    field = {"name": "seconds", "type": "integer"}
    steps = document(wait("w", duration='="PT" + string(int(input.seconds)) + "S"'), input=[field])
    world = World(steps, input={"seconds": 90})
    assert world.step("w").due == START + timedelta(seconds=90)
    world.later(seconds=90)
    world.fire("w")
    assert world.run == "succeeded"


def test_a_length_that_is_none_is_a_visible_error_that_can_be_mended() -> None:
    world = World(document(wait("w", duration="=input.length"), input=[{"name": "length"}]), input={"length": "soon"})
    assert world.run == "stalled"
    assert "soon" in world.explain().sentence + world.state.reason + str(world.step("w").error)
    world.ok(world.edit({"length": "PT5M"}))
    world.ok(world.retry("w"))
    assert world.step("w").due == START + timedelta(minutes=5)
