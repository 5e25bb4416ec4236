"""An activity that somebody did by hand: the step succeeded, and the history says by whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.states import Actor
from signoff.engine.sentences import sentence_of
from tests.core.kit import JSON, WORKER, World, activity, approval, document, edge, once

OUT: JSON = {"output": [{"name": "n", "type": "integer"}]}


def failed() -> World:
    world = World(document(once("a", **OUT), activity("b", input={"n": "=steps.a.output.n"}), edges="a>b"))
    world.breaks("a")
    assert (world.run, world.statuses) == ("stalled", {"a": "failed", "b": "blocked"})
    return world


def test_a_failed_activity_is_completed_and_the_next_step_sees_its_output() -> None:
    """Unlike skipping: it succeeded, so edges for success are followed and nothing says that it was left out."""
    world = failed()
    events = world.ok(world.by_hand("a", {"n": 7}))
    assert isinstance(events[0], e.StepCompletedByHand)
    assert sentence_of(events[0], world.plan) == "Olga Ops did 'A' by hand: Did it myself."
    assert world.run == "running"
    assert world.statuses == {"a": "succeeded", "b": "scheduled"}
    scheduled = next(x for x in events if isinstance(x, e.ActivityScheduled))
    assert scheduled.input == {"n": 7}
    told = world.explain().of("a")
    assert told.sentence == "'A' was done by hand by Olga Ops on 2027-01-04 09:00 UTC."
    world.done("b")
    assert world.run == "succeeded"


@pytest.mark.parametrize(
    ("output", "code"), [(None, "output_missing"), ({"n": "x"}, "invalid_output"), ({"m": 1}, "invalid_output")]
)
def test_the_output_is_checked(output: object, code: str) -> None:
    world = failed()
    assert world.no(world.by_hand("a", output)).code == code
    assert world.run == "stalled"


def test_it_needs_a_reason_and_what_was_looked_at() -> None:
    world = failed()
    assert world.no(replace(world.by_hand("a", {"n": 7}), reason=" ")).code == "no_reason"
    assert world.no(world.by_hand("a", {"n": 7}, seen_sequence=1)).code == "changed_meanwhile"


def test_work_that_waits_for_a_worker_is_taken_back_from_the_workers() -> None:
    world = World(document(activity("a"), activity("b"), edges="a>b"))
    world.ok(world.by_hand("a"))
    assert world.statuses == {"a": "succeeded", "b": "scheduled"}
    claim = c.ClaimActivity(actor=WORKER, step="a", generation=1, attempt=1)
    assert world.no(claim).code == "not_claimable"


def test_work_that_is_tried_again_later_needs_no_more_tries() -> None:
    world = World(document(activity("a", retry={"max_attempts": 3, "initial_s": 60.0}), activity("b"), edges="a>b"))
    world.claim("a")
    late = world.completion("a", {"n": 1})
    world.ok(world.failure("a"))
    world.ok(world.by_hand("a"))
    assert world.step("a").timer is None
    assert world.no(late).code in ("already_known", "stale_result", "late_result")


def test_nobody_does_by_hand_what_a_worker_is_at() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    refusal = world.no(world.by_hand("a"))
    assert refusal.code == "effect_under_way"
    assert "worker 'w1' is at it" in refusal.message


def test_a_call_of_unknown_outcome_is_completed() -> None:
    world = World(document(activity("pay", effect="at_most_once"), activity("tell"), edges="pay>tell"))
    world.claim("pay")
    world.ok(world.lost("pay"))
    assert world.step("pay").status == "outcome_unknown"
    world.ok(world.by_hand("pay", {"id": "P-7"}))
    assert world.statuses == {"pay": "succeeded", "tell": "scheduled"}


def test_what_was_dealt_with_stays_so() -> None:
    world = World(document(once("a"), activity("b"), edges=[edge("a:failed>b")]))
    world.breaks("a")
    assert world.no(world.by_hand("a")).code == "already_dealt_with"


def test_an_approval_is_never_completed_by_hand() -> None:
    world = World(document(approval("p")))
    assert world.no(world.by_hand("p", {"outcome": "approved"})).code == "not_an_activity"


def test_the_outputs_of_a_list_are_checked_one_by_one() -> None:
    step = once("a", for_each={"items": "[1, 2]"}, **OUT)
    world = World(document(step))
    world.ok(world.item_failure("a", 0, retryable=False))
    assert world.no(world.by_hand("a", {"n": 1})).code == "invalid_output"
    refusal = world.no(world.by_hand("a", [{"n": 1}, {"n": "x"}]))
    assert "tem 1 of the output of 'A'" in refusal.message
    world.ok(world.by_hand("a", [{"n": 1}, {"n": 2}]))
    assert world.state.outputs["a"] == [{"n": 1}, {"n": 2}]
    assert world.run == "succeeded"


def test_a_retry_by_hand_of_a_later_generation_forgets_it() -> None:
    world = World(document(activity("a"), approval("p", returns_to=["a"]), edges="a>p"))
    world.ok(world.by_hand("a"))
    assert world.step("a").by_hand == "Olga Ops"
    world.ok(world.vote("p", "ann", "returned"))
    assert world.step("a").by_hand == ""
    world.done("a")
    assert world.explain().of("a").sentence.startswith("'A' succeeded")


def test_whoever_has_no_name_is_shown_by_login() -> None:
    world = failed()
    world.ok(replace(world.by_hand("a", {"n": 7}), actor=Actor("person", "olga", "", "cli")))
    assert "by hand by olga" in world.explain().of("a").sentence
