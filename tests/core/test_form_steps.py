"""Form steps: typed input from people, settled by the first valid submission, returned, expired, asked again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signoff.core import commands as c
from signoff.core.document import read_document, write_document
from signoff.core.events import FormSubmitted
from signoff.core.validate import Surroundings, validate
from tests.core.kit import CLOCK, DIRECTORY, JSON, PEOPLE, World, activity, document, form

FIELDS = [
    {"name": "amount", "label": "Amount", "type": "number", "minimum": 1},
    {"name": "note", "label": "Note", "required": False},
]


def asked(**more: object) -> World:
    steps = [activity("a"), form("f", fields=FIELDS, **more), activity("b")]
    world = World(document(*steps, edges="a>f f>b", input=[{"name": "n", "type": "integer"}]), {"n": 7})
    world.done("a")
    return world


def test_the_first_valid_submission_settles_it_and_its_values_are_the_output() -> None:
    world = asked()
    assert world.explain().of("f").sentence.startswith("'F' has waited for ann, bob or cem to fill it in since")
    assert world.explain(reader="ann").of("f").actions == ("submit_form", "skip_step", "reassign_step")
    assert world.explain(reader="eve").of("f").actions == ("skip_step", "reassign_step")
    world.ok(world.submission("f", "bob", amount=3))
    assert world.state.outputs["f"] == {"amount": 3.0, "note": None}
    assert world.step("b").status == "scheduled"
    assert "was filled in on" in world.explain().of("f").sentence
    assert "by Bob" in world.explain().of("f").sentence


def test_a_second_submission_is_told_who_was_first() -> None:
    world = asked()
    world.ok(world.submission("f", "bob", amount=3))
    late = world.no(world.submission("f", "ann", amount=4))
    assert late.code == "already_handled"
    assert "already handled by Bob" in late.message
    assert late.evidence
    again = world.no(world.submission("f", "BOB", amount=3.0, note=None))
    assert (again.code, again.known) == ("already_decided", True)
    assert not world.no(world.submission("f", "bob", amount=5)).known


def test_wrong_values_name_their_fields_and_change_nothing() -> None:
    world = asked()
    refused = world.no(world.submission("f", "ann", amount=0, colour="red"))
    assert refused.code == "invalid_values"
    assert [p["field"] for p in refused.details["problems"]] == ["colour", "amount"]
    assert "Field 'Amount' of form 'F' is below 1." in refused.message
    assert not refused.evidence
    assert world.step("f").status == "waiting"


@pytest.mark.parametrize("who", ["dan", "eve", "nobody"])
def test_only_who_is_asked_may_answer(who: str) -> None:
    assert asked().no(asked().submission("f", who, amount=3)).code == "not_an_approver"


def test_the_requester_is_asked_where_the_form_says_so() -> None:
    world = asked(groups=(), requester=True)
    world.ok(world.submission("f", "DAN", amount=3))
    (event,) = [x for x in world.events if isinstance(x, FormSubmitted)]
    assert event.authority == "requester"


def test_whoever_left_cannot_answer_and_nobody_left_stalls_it() -> None:
    world = asked(groups=("solo",))
    world.directory = replace(DIRECTORY, version=8, people={k: v for k, v in PEOPLE.items() if k != "eve"})
    assert world.no(world.submission("f", "eve", amount=3)).code == "not_an_approver"
    world.ok(c.CheckApprovers(actor=CLOCK, step="f"))
    assert world.run == "stalled"
    assert "Nobody of those asked can fill it in any more." in world.explain().sentence


def test_nobody_to_ask_is_said_at_once() -> None:
    world = asked(groups=("nobody",))
    assert world.step("f").error is not None
    assert "Nobody can fill it in: group 'nobody' has no active account." in world.explain().sentence


def test_silence_expires_and_can_be_handled() -> None:
    steps = [form("f", expires="P1D"), activity("b"), activity("x")]
    world = World(document(*steps, edges="f>b f:expired>x"))
    world.later(days=2)
    assert world.no(world.submission("f", "ann")).code == "expired"
    world.fire("f")
    assert world.statuses == {"f": "expired", "b": "not_taken", "x": "scheduled"}
    assert "nobody filled it in in time" in world.explain().of("f").sentence


def test_an_edit_of_what_is_shown_asks_again() -> None:
    world = asked()
    digest = world.step("f").approval.shown_digest  # type: ignore[union-attr]
    world.ok(world.edit({"n": 8}))
    assert world.kinds()[-2:] == ["form.voided", "form.opened"]
    assert world.no(replace(world.submission("f", "ann", amount=3), shown_digest=digest)).code == "changed_meanwhile"
    world.ok(world.submission("f", "ann", amount=3))


def test_a_form_sends_the_work_back_and_offers_its_values_again() -> None:
    steps = [activity("a"), form("f", fields=FIELDS, returns_to=["a"], max_rounds=3, prefill={"amount": "=input.n"})]
    steps += [form("g", fields=FIELDS, returns_to=["f"])]
    world = World(document(*steps, edges="a>f f>g", input=[{"name": "n", "type": "integer"}]), {"n": 7})
    world.done("a")
    assert world.events[-1].prefill == {"amount": 7}  # type: ignore[attr-defined]
    assert world.no(world.returning("f", "ann", comment=" ")).code == "comment_missing"
    assert world.no(world.returning("f", "ann", to="b")).code == "unknown_target"
    world.ok(world.returning("f", "ann"))
    assert (world.step("a").round, world.step("f").round) == (2, 2)
    world.done("a")
    world.ok(world.submission("f", "ann", amount=9, note="So."))
    world.ok(world.returning("g", "bob"))
    assert world.events[-1].prefill == {"amount": 9.0, "note": "So."}  # type: ignore[attr-defined]
    assert world.no(world.returning("f", "ann")).code == "no_more_rounds"
    world.ok(world.submission("f", "ann", amount=10))
    world.ok(world.submission("g", "ann", amount=10))
    assert world.run == "succeeded"


def test_an_operator_fills_in_by_skipping_and_the_values_are_checked() -> None:
    world = asked()
    assert world.no(world.skip("f", output={"amount": "many"})).code == "invalid_output"
    world.ok(world.skip("f", output={"amount": 4}))
    assert world.state.outputs["f"] == {"amount": 4.0, "note": None}


def problems(**more: object) -> set[str]:
    step: JSON = {**form("f"), **more}
    definition, read = read_document(document(activity("a"), step, edges="a>f"))
    assert definition is not None
    return {p.code for p in (*read, *validate(definition, Surroundings(groups={"team"})))}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"groups": []}, "no_approvers"),
        ({"groups": ["ghosts"]}, "unknown_group"),
        ({"fields": []}, "no_fields"),
        ({"fields": [{"name": "X"}]}, "bad_field"),
        ({"prefill": {"m": 1}}, "unknown_field"),
        ({"prefill": {"n": "=input.nothing"}}, "unknown_input"),
        ({"shows": {"x": "=steps.f.output"}}, "not_yet_known"),
        ({"expires": "soon"}, "bad_duration"),
        ({"returns_to": ["f"]}, "bad_return"),
        ({"max_rounds": 0}, "bad_rounds"),
    ],
)
def test_what_is_wrong_with_a_form(more: JSON, code: str) -> None:
    assert code in problems(**more)
    assert problems(groups=[], requester=True) == set()


def test_later_steps_know_the_fields() -> None:
    steps = [form("f", fields=FIELDS), activity("b", input={"x": "=steps.f.output.colour"})]
    definition, _ = read_document(document(*steps, edges="f>b"))
    assert definition is not None
    assert {p.code for p in validate(definition)} == {"unknown_output"}
    assert read_document(write_document(definition))[0] == definition
