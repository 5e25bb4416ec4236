"""An approval with fields: what is filled in when deciding is checked, recorded, used later."""

from __future__ import annotations

from typing import Any

from signoff.core import events as e
from signoff.core.document import read_document
from signoff.core.validate import validate
from signoff.engine.sentences import sentence_of
from tests.core.kit import World, document, once
from tests.core.test_policies import DIRECTORY

COST = [{"name": "cost_center", "label": "Cost centre", "type": "integer"}, {"name": "note", "required": False}]


def typed(**more: Any) -> World:
    step = {"id": "p", "kind": "approval", "label": "P", "groups": ["finance"], "fields": COST, **more}
    told = once("a", input={"center": "=steps.p.output.values.cost_center"})
    return World(document(step, told, edges="p>a"), by="req", directory=DIRECTORY)


def test_what_is_filled_in_when_deciding_is_checked_recorded_and_used_later() -> None:
    world = typed()
    refused = world.no(world.vote("p", "ann"))
    assert (refused.code, refused.evidence) == ("invalid_values", False)
    assert refused.details["problems"][0]["field"] == "cost_center"  # type: ignore[index]
    assert world.no(world.vote("p", "ann", values={"cost_center": "x"})).code == "invalid_values"
    assert world.no(world.vote("p", "ann", values={"cost_center": 7, "other": 1})).code == "invalid_values"
    world.ok(world.vote("p", "ann", values={"cost_center": 4711}))
    decision = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert decision.values == {"cost_center": 4711}
    assert sentence_of(decision, world.plan) == "Ann approved 'P' (cost_center: 4711): Because."
    assert world.state.outputs["p"]["values"] == {"cost_center": 4711}
    assert world.state.outputs["p"]["answers"] == [
        {"person": "ann", "outcome": "approved", "values": {"cost_center": 4711}}
    ]
    scheduled = next(x for x in world.events if isinstance(x, e.ActivityScheduled))
    assert scheduled.input == {"center": 4711}


def test_a_rejection_needs_no_values_but_wrong_ones_are_refused() -> None:
    world = typed()
    assert world.no(world.vote("p", "ann", "rejected", values={"cost_center": "x"})).code == "invalid_values"
    world.ok(world.vote("p", "ann", "rejected", values={"note": "why"}))
    assert world.state.outputs["p"]["values"] == {"note": "why"}


def test_values_of_all_who_decide_are_kept_but_not_without_bound() -> None:
    world = typed(required=2)
    world.ok(world.vote("p", "ann", values={"cost_center": 1}))
    too_much = world.no(world.vote("p", "bob", values={"cost_center": 2, "note": "x" * 19_000}))
    assert too_much.code == "invalid_values"
    world.ok(world.vote("p", "bob", values={"cost_center": 2}))
    assert [a["values"] for a in world.state.outputs["p"]["answers"]] == [{"cost_center": 1}, {"cost_center": 2}]
    assert world.state.outputs["p"]["values"] == {"cost_center": 2}


def test_a_later_step_that_reads_what_is_not_asked_for_is_found_before_publishing() -> None:
    step = {"id": "p", "kind": "approval", "label": "P", "groups": ["finance"], "fields": COST}
    told = once("a", input={"x": "=steps.p.output.values.cost_centre"})
    definition, _ = read_document(document(step, told, edges="p>a"))
    assert definition is not None
    found = [p for p in validate(definition) if p.code == "unknown_output"]
    assert [p.remedy for p in found] == ["It asks for: cost_center, note."]


def test_a_decision_names_the_definition_the_form_and_the_zone() -> None:
    world = typed()
    world.ok(world.vote("p", "ann", values={"cost_center": 1}))
    decision = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert decision.definition_digest == world.plan.digest
    assert decision.form_digest.startswith("sha256:")
    assert decision.zone == "UTC"
    other = typed(instructions="Look twice.")
    other.ok(other.vote("p", "ann", values={"cost_center": 1}))
    again = next(x for x in other.events if isinstance(x, e.DecisionRecorded))
    assert again.form_digest != decision.form_digest
