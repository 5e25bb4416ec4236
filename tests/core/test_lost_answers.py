"""What happens when the answer of a call was lost: probes, unknown outcomes, and what a person says (semantics §6)."""

from __future__ import annotations

import pytest

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.document import read_document
from signoff.core.validate import validate
from tests.core.kit import CLOCK, JSON, OPERATOR, World, activity, approval, checked, document, wait

STEADY = {"retry": {"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0}}


def lost(step: JSON, *more: JSON, edges: str = "") -> World:
    world = World(document(step, *more, edges=edges))
    world.claim(step["id"])
    world.ok(world.lost(step["id"]))
    return world


def answered(world: World, answer: object, step: str = "pay") -> None:
    world.fire(step)
    world.done(step, output=answer)


def test_a_probe_that_finds_the_effect_gives_the_step_its_output() -> None:
    world = lost(checked("pay", **STEADY), activity("tell"), edges="pay>tell")
    first = world.step("pay")
    assert (first.status, first.probe) == ("retrying", 1)
    assert "It is not known whether 'PAY' took effect" in world.explain().of("pay").sentence
    world.fire("pay")
    scheduled = world.events[-1]
    assert isinstance(scheduled, e.ActivityScheduled)
    assert (scheduled.probe, scheduled.key, scheduled.input) == (1, "r1/pay/1/1/probe", {"key": "r1/pay/1/1"})
    world.done("pay", output={"found": True, "result": {"id": "P-7"}})
    assert world.statuses == {"pay": "succeeded", "tell": "scheduled"}
    assert world.state.outputs["pay"] == {"id": "P-7"}
    assert [x.probed for x in world.events if isinstance(x, e.ActivitySucceeded)] == [True]


def test_a_probe_that_finds_nothing_lets_the_call_be_tried_again_with_the_same_key() -> None:
    world = lost(checked("pay", **STEADY))
    answered(world, {"found": False})
    step = world.step("pay")
    assert (step.status, step.probe, step.tries) == ("retrying", 0, 1)
    world.fire("pay")
    again = world.events[-1]
    assert isinstance(again, e.ActivityScheduled)
    assert (again.probe, again.key, again.attempt) == (0, "r1/pay/1/1", 3)
    assert "(attempt 2 of 2)" in world.explain().of("pay").sentence if world.claim("pay") else ""


def test_probes_are_no_tries_of_the_call() -> None:
    world = lost(checked("pay", **STEADY))
    answered(world, {"found": False})
    world.fire("pay")
    world.claim("pay")
    world.ok(world.lost("pay"))
    answered(world, {"found": False})
    assert world.statuses["pay"] == "failed"
    assert world.step("pay").error is not None
    assert "was lost" in world.state.reason


@pytest.mark.parametrize("answer", [{}, {"found": "yes"}, None, {"found": True}])
def test_an_answer_that_does_not_say_is_a_failed_probe(answer: object) -> None:
    world = lost(checked("pay", **STEADY))
    answered(world, answer)
    assert (world.statuses["pay"], world.step("pay").probe) == ("retrying", 2)
    answered(world, answer)
    assert (world.statuses["pay"], world.run) == ("outcome_unknown", "stalled")
    assert world.state.reason.startswith("The outcome of 'PAY' is unknown: ")
    assert "The probe failed too" in world.state.reason


@pytest.mark.parametrize("how", ["fail", "lose", "time out"])
def test_probes_that_fail_are_tried_again_and_then_a_person_is_asked(how: str) -> None:
    world = lost(checked("pay", **STEADY))
    for _ in range(2):
        world.fire("pay")
        world.claim("pay")
        match how:
            case "fail":
                world.ok(world.failure("pay"))
            case "lose":
                world.ok(world.lost("pay"))
            case _:
                world.fire("pay")
    assert (world.statuses["pay"], world.run) == ("outcome_unknown", "stalled")


def test_a_probe_that_cannot_be_asked_asks_a_person_at_once() -> None:
    step = checked("pay", **STEADY)
    step["probe"] = {**step["probe"], "input": {"n": "=input.n + 1.0"}}
    form = [{"name": "n", "type": "number", "required": False}]
    world = World(document(step, input=form))
    world.claim("pay")
    world.ok(world.lost("pay"))
    world.fire("pay")
    assert world.statuses["pay"] == "outcome_unknown"


def test_a_late_answer_of_the_lost_call_is_evidence_while_the_probe_looks() -> None:
    world = World(document(checked("pay")))
    world.claim("pay")
    late = world.completion("pay", {"found": True, "result": 1})
    world.ok(world.lost("pay"))
    assert world.no(late).code == "stale_result"
    world.fire("pay")
    assert world.no(late).code == "stale_result"
    world.claim("pay")
    assert world.no(late).code == "stale_result"
    assert world.no(world.completion("pay", {"found": True}, digest="sha256:other")).code == "wrong_digest"


def test_a_known_failure_follows_the_normal_rules() -> None:
    world = World(document(checked("pay", **STEADY)))
    world.claim("pay")
    world.ok(world.failure("pay"))
    assert (world.statuses["pay"], world.step("pay").probe) == ("retrying", 0)
    world.fire("pay")
    world.claim("pay")
    world.ok(world.failure("pay"))
    assert world.statuses["pay"] == "failed"


def test_an_unknown_outcome_offers_exactly_two_answers() -> None:
    world = lost(activity("pay", effect="at_most_once"))
    told = world.explain()
    assert told.of("pay").actions == ("confirm_effect", "deny_effect")
    assert told.next == "An operator finds out whether it happened and says so, or cancels the run."
    assert world.no(world.retry("pay")).code == "not_failed"
    assert world.no(world.skip("pay")).code == "outcome_unknown"


def test_it_happened() -> None:
    step = activity("pay", effect="at_most_once", output=[{"name": "id"}])
    world = lost(step, activity("tell"), edges="pay>tell")
    assert world.no(world.outcome("pay", True)).code == "output_missing"
    assert world.no(world.outcome("pay", True, {"id": 7})).code == "invalid_output"
    assert world.no(world.outcome("pay", True, {"id": "P-7"}, seen_sequence=1)).code == "changed_meanwhile"
    no_reason = c.ResolveOutcome(actor=OPERATOR, reason=" ", step="pay", happened=True)
    assert world.no(no_reason).code == "no_reason"
    world.ok(world.outcome("pay", True, {"id": "P-7"}, seen_sequence=world.state.sequence))
    assert world.statuses == {"pay": "succeeded", "tell": "scheduled"}
    assert (world.run, world.state.outputs["pay"]) == ("running", {"id": "P-7"})
    assert world.no(world.outcome("pay", False)).code == "not_in_doubt"


def test_it_did_not_happen() -> None:
    world = lost(activity("pay", effect="at_most_once"))
    world.ok(world.outcome("pay", False))
    step = world.step("pay")
    assert (step.status, step.generation, step.attempt, world.run) == ("scheduled", 2, 1, "running")
    again = world.events[-1]
    assert isinstance(again, e.ActivityScheduled)
    assert again.key == "r1/pay/1/1"
    world.done("pay")
    assert world.run == "succeeded"


def test_other_branches_finish_before_the_run_stalls() -> None:
    world = lost(activity("pay", effect="at_most_once"), wait("w"))
    assert world.run == "running"
    world.fire("w")
    assert world.run == "stalled"


def test_a_failure_handler_does_not_handle_what_is_unknown() -> None:
    world = lost(activity("pay", effect="at_most_once"), activity("mend"), edges="pay:failed>mend")
    assert world.statuses == {"pay": "outcome_unknown", "mend": "pending"}


def test_nobody_is_asked_in_a_run_that_is_being_stopped() -> None:
    world = World(document(activity("pay", effect="at_most_once")))
    world.claim("pay")
    world.cancel()
    world.ok(world.lost("pay"))
    assert (world.statuses["pay"], world.run) == ("failed", "cancelled")
    assert "It is not known" in world.explain().of("pay").sentence


def test_cancelling_ends_the_doubt() -> None:
    world = lost(activity("pay", effect="at_most_once"))
    world.cancel()
    assert (world.statuses["pay"], world.run) == ("cancelled", "cancelled")


@pytest.mark.parametrize("effect", ["at_most_once", "check_first"])
def test_work_is_not_sent_back_over_an_effect_in_doubt(effect: str) -> None:
    pay = checked("pay") if effect == "check_first" else activity("pay", effect=effect)
    steps = [activity("draft"), pay, approval("ask", returns_to=["draft"])]
    world = World(document(*steps, edges="draft>pay draft>ask"))
    world.done("draft")
    world.claim("pay")
    world.ok(world.lost("pay"))
    refusal = world.no(world.vote("ask", "ann", "returned"))
    assert refusal.code == "effect_under_way"
    assert "'PAY' took effect" in refusal.message


def test_a_paused_run_can_be_told_and_calls_when_it_goes_on() -> None:
    world = lost(activity("pay", effect="at_most_once"))
    world.pause()
    world.ok(world.outcome("pay", False))
    claim = c.ClaimActivity(actor=CLOCK, step="pay", generation=2, attempt=1)
    assert world.no(claim).code == "not_claimable"
    world.resume()
    world.done("pay")
    assert world.run == "succeeded"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"probe": None}, "no_probe"),
        ({"effect": "idempotent"}, "unused_probe"),
        ({"probe": {"happened": "answer.found"}}, "no_connector"),
        ({"probe": {"connector": "http"}}, "no_condition"),
        ({"probe": {"connector": "http", "happened": "answer."}}, "bad_expression"),
        ({"probe": {"connector": "http", "happened": "found"}}, "bad_expression"),
        ({"probe": {"connector": "http", "happened": "true", "input": {"x": "=answer.a"}}}, "bad_expression"),
        ({"probe": {"connector": "http", "happened": "true", "output": "steps.no.output"}}, "unknown_name"),
        ({"probe": {"connector": "http", "happened": "true", "input": {"token": "abc"}}}, "plain_secret"),
        ({"probe": {"connector": "http", "sometimes": "true"}}, "unknown_key"),
    ],
)
def test_what_is_wrong_with_a_probe(changes: JSON, code: str) -> None:
    definition, read = read_document(document(checked("pay", **changes)))
    assert definition is not None
    assert code in [p.code for p in (*read, *validate(definition))]
