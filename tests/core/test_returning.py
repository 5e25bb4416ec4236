"""Send-back: a new round from an earlier step on, and nothing else begins again (semantics §5)."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.core import events as e
from tests.core.kit import JSON, World, activity, approval, document, once, wait


def process(**more: Any) -> JSON:
    steps = [activity("draft"), activity("check"), approval("ask", returns_to=["draft", "check"], **more)]
    return document(*steps, activity("send"), activity("side"), edges="draft>check check>ask ask>send")


def at_the_approval(**more: Any) -> World:
    world = World(process(**more))
    world.done("draft", output="first")
    world.done("check", "side", output={"ok": True})
    return world


def test_the_target_and_all_that_follows_it_begin_a_new_round() -> None:
    world = at_the_approval()
    side = world.step("side")
    world.ok(world.vote("ask", "bob", "returned", to="draft", comment="Page 3 is missing."))
    assert world.statuses == {
        "draft": "scheduled", "check": "pending", "ask": "pending", "send": "pending", "side": "succeeded",
    }  # fmt: skip
    assert world.step("side") is side
    assert {
        i: (world.step(i).generation, world.step(i).round) for i in ("draft", "check", "ask", "send")
    } == dict.fromkeys(("draft", "check", "ask", "send"), (2, 2))
    event = next(x for x in world.events if isinstance(x, e.WorkReturned))
    assert (event.step, event.to, event.actor.id, event.comment) == ("ask", "draft", "bob", "Page 3 is missing.")
    world.done("draft", output="second")
    world.done("check", output={"ok": True})
    assert "in round 2" in world.explain().of("ask").sentence
    world.approve("ask", "ann")
    world.done("send")
    assert world.run == "succeeded"
    assert world.state.outputs["draft"] == "second"


def test_a_new_round_has_a_new_key_and_fences_go_on() -> None:
    world = at_the_approval()
    world.ok(world.vote("ask", "bob", "returned", to="check"))
    assert world.claim("check").fence == 2
    keys = [x.key for x in world.events if isinstance(x, e.ActivityScheduled) and x.step == "check"]
    assert keys == ["r1/check/1/1", "r1/check/2/1"]
    assert world.statuses["draft"] == "succeeded"


def test_votes_of_an_earlier_round_stay_in_the_history_and_never_count_again() -> None:
    world = at_the_approval(required=2)
    late = world.vote("ask", "cem")
    world.approve("ask", "ann")
    world.ok(world.vote("ask", "bob", "returned", to="check"))
    world.done("check")
    assert world.no(late).code == "changed_meanwhile"
    world.approve("ask", "cem")
    assert world.run == "running"
    world.approve("ask", "ann")
    assert world.statuses["send"] == "scheduled"
    votes = [(x.actor.id, x.outcome, x.round) for x in world.events if isinstance(x, e.DecisionRecorded)]
    assert votes == [("ann", "approved", 1), ("bob", "returned", 1), ("cem", "approved", 2), ("ann", "approved", 2)]


def test_rounds_are_bounded() -> None:
    world = at_the_approval(max_rounds=2)
    world.ok(world.vote("ask", "bob", "returned", to="check"))
    world.done("check")
    refusal = world.no(world.vote("ask", "bob", "returned", to="check"))
    assert refusal.sentence == "'ASK' is in round 2, the last of 2. Approve or reject."
    world.approve("ask", "bob")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, "unknown_target"),
        ({"to": "side"}, "unknown_target"),
        ({"to": "draft", "comment": ""}, "comment_missing"),
        ({"to": "draft", "generation": 2}, "changed_meanwhile"),
    ],
)
def test_returns_that_are_refused(more: JSON, code: str) -> None:
    world = at_the_approval()
    assert world.no(world.vote("ask", "bob", "returned", **more)).code == code
    assert world.no(world.vote("ask", "dan", "returned", to="draft")).code == "not_an_approver"


def test_one_target_needs_no_name_and_none_is_no_offer() -> None:
    world = World(document(activity("a"), approval("p", returns_to=["a"]), edges="a>p"))
    world.done("a")
    world.ok(world.vote("p", "ann", "returned"))
    assert world.statuses == {"a": "scheduled", "p": "pending"}
    world = World(document(approval("p")))
    assert world.no(world.vote("p", "ann", "returned")).code == "not_returnable"


def test_a_double_click_on_return_is_one_return() -> None:
    world = World(document(approval("first"), approval("p", returns_to=["first"]), edges="first>p"))
    world.approve("first", "ann")
    click = world.vote("p", "bob", "returned")
    world.ok(click)
    assert world.no(click).code == "not_open"
    world.approve("first", "ann")
    assert world.no(click).code == "changed_meanwhile"
    assert world.step("p").round == 2


def test_work_under_way_in_the_part_that_would_begin_again_is_awaited() -> None:
    world = World(document(activity("a"), approval("p", returns_to=["a"]), activity("b"), edges="a>p a>b"))
    world.done("a")
    world.claim("b")
    refusal = world.no(world.vote("p", "ann", "returned"))
    assert refusal.code == "effect_under_way"
    assert "'B' is being done" in refusal.message
    world.ok(world.completion("b"))
    world.ok(world.vote("p", "ann", "returned"))
    assert world.statuses == {"a": "scheduled", "p": "pending", "b": "pending"}


def test_clocks_and_failures_of_the_returned_part_are_gone() -> None:
    steps = [activity("a"), approval("p", returns_to=["a"], expires="P1D"), wait("w"), once("f")]
    world = World(document(*steps, edges="a>p a>w a>f"))
    world.done("a")
    world.breaks("f")
    old = [world.timer("p"), world.timer("w")]
    world.ok(world.vote("p", "ann", "returned"))
    world.later(days=3)
    for timer in old:
        assert world.no(timer).code == "obsolete_timer"
    world.done("a")
    world.done("f")
    world.fire("w")
    world.approve("p", "ann")
    assert world.run == "succeeded"


def test_a_return_inside_a_join_waits_for_both_branches_again() -> None:
    """The branch outside the returned part stays finished; its edge still counts."""
    steps = [activity("a"), approval("p", returns_to=["a"]), activity("other"), activity("end")]
    world = World(document(*steps, edges="a>p p>end other>end"))
    world.done("a", "other")
    world.ok(world.vote("p", "ann", "returned"))
    assert world.statuses["end"] == "pending"
    world.done("a")
    world.approve("p", "ann")
    world.done("end")
    assert world.run == "succeeded"


def test_what_a_finished_branch_makes_ready_begins_again_at_once() -> None:
    steps = [activity("a"), activity("x"), approval("p", returns_to=["a"]), activity("j", join="any")]
    world = World(document(*steps, edges="a>p a>j x>j"))
    world.done("x", "a")
    assert world.statuses["j"] == "scheduled"
    world.ok(world.vote("p", "ann", "returned"))
    assert world.statuses == {"a": "scheduled", "x": "succeeded", "p": "pending", "j": "scheduled"}
    assert (world.step("j").generation, world.step("j").attempt) == (2, 1)
    world.done("j", "a")
    world.approve("p", "ann")
    assert world.run == "succeeded"


def test_an_approval_that_work_is_returned_to_is_asked_again() -> None:
    steps = [approval("first"), approval("p", returns_to=["first"]), approval("beside", required=2)]
    world = World(document(*steps, edges="first>p first>beside"))
    world.approve("first", "ann")
    world.approve("beside", "ann")
    world.ok(world.vote("p", "bob", "returned"))
    assert world.statuses == {"first": "waiting", "p": "pending", "beside": "pending"}
    assert {k: v for k, v in world.ledger.rows.approvals.items() if v == "open"} == {("first", 2): "open"}
