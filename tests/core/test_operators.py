"""Operators: retry, skip, pause, resume, cancel, terminate, edit input (semantics §8)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from signoff.core import commands as c
from signoff.core import events as e
from tests.core.kit import OPERATOR, START, World, activity, approval, document, edge, once, person, wait

DIAMOND = document(*map(once, "abcd"), edges="a>b a>c b>d c>d")


def started(world: World, step: str) -> list[int]:
    """Sequence numbers at which the step was scheduled."""
    return [i for i, x in enumerate(world.events, 1) if isinstance(x, e.ActivityScheduled) and x.step == step]


def test_c22_a_retry_repeats_nothing_that_had_succeeded() -> None:
    world = World(DIAMOND)
    world.done("a", "b")
    world.breaks("c")
    assert world.run == "stalled"
    assert world.statuses["d"] == "blocked"
    before = (world.step("a"), world.step("b"))
    world.ok(world.retry("c"))
    assert world.run == "running"
    assert world.statuses["d"] == "pending"
    world.done("c", "d")
    assert world.run == "succeeded"
    assert (world.step("a"), world.step("b")) == before
    assert [len(started(world, i)) for i in "abcd"] == [1, 1, 2, 1]


def test_c24_a_double_click_on_retry_makes_one_new_attempt() -> None:
    world = World(document(once("a")))
    world.breaks("a")
    click = world.retry("a", seen_sequence=world.state.sequence)
    world.ok(click)
    assert world.no(click).code == "changed_meanwhile"
    assert world.no(world.retry("a")).code == "not_failed"
    assert len(started(world, "a")) == 2


def test_c24_a_run_that_is_over_refuses_everything_plainly() -> None:
    world = World(document(once("a")))
    world.cancel()
    assert world.run == "cancelled"
    count = len(world.events)
    for command in (world.retry("a"), world.skip("a"), world.edit({})):
        refusal = world.no(command)
        assert refusal.code == "run_over"
        assert "has ended as cancelled" in refusal.sentence
    assert len(world.events) == count


def test_c21_a_skipped_step_gives_its_substitute_to_the_next() -> None:
    output = [{"name": "copied", "type": "integer"}]
    steps = [once("copy", output=output), activity("next", input={"n": "=steps.copy.output.copied"})]
    world = World(document(*steps, edges="copy>next"))
    world.breaks("copy")
    assert world.no(c.SkipStep(actor=OPERATOR, reason="  ", step="copy", output={"copied": 3})).code == "no_reason"
    assert world.no(world.skip("copy", output={"copied": "three"})).code == "invalid_output"
    assert world.no(world.skip("copy", output={"copied": 3, "more": 1})).code == "invalid_output"
    world.ok(world.skip("copy", output={"copied": 3}))
    assert world.statuses == {"copy": "skipped", "next": "scheduled"}
    scheduled = [x for x in world.events if isinstance(x, e.ActivityScheduled)][-1]
    assert scheduled.input == {"n": 3}
    skipped = next(x for x in world.events if isinstance(x, e.StepSkipped))
    assert (skipped.actor, skipped.reason, skipped.at) == (OPERATOR, "Done by hand.", START)
    assert "was skipped on" in world.explain().of("copy").sentence


@pytest.mark.parametrize(
    ("rule", "go", "code"),
    [
        ({"allowed": False}, True, "not_skippable"),
        ({"needs_output": True}, True, "output_missing"),
        ({"condition": "input.go"}, False, "unsafe_to_skip"),
        ({"condition": "input.go"}, None, "condition_error"),
        ({"condition": "input.go"}, True, ""),
        ({}, True, ""),
    ],
)
def test_skip_rules(rule: dict[str, object], go: bool | None, code: str) -> None:
    form = [{"name": "go", "type": "boolean", "required": False}]
    world = World(document(once("a", skip=rule), input=form), {"go": go})
    world.breaks("a")
    if code:
        assert world.no(world.skip("a")).code == code
    else:
        world.ok(world.skip("a"))
        assert world.run == "succeeded"


def test_an_approval_is_skippable_only_where_the_definition_says_so() -> None:
    world = World(document(approval("p")))
    assert world.no(world.skip("p")).code == "not_skippable"
    assert "skip_step" not in world.explain().of("p").actions
    world = World(document(approval("p", skip={"allowed": True})))
    world.ok(world.skip("p"))
    assert world.run == "succeeded"


def test_work_under_way_is_not_skipped() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    refusal = world.no(world.skip("a"))
    assert refusal.code == "effect_under_way"
    assert "'w1'" in refusal.message


def test_an_expired_approval_can_be_asked_again() -> None:
    world = World(document(approval("p", expires="PT2H"), activity("a"), edges="p>a"))
    world.fire("p")
    assert world.run == "stalled"
    assert world.state.reason == "Nobody decided 'P' in time."
    world.ok(world.retry("p"))
    assert world.step("p").generation == 2
    assert world.step("p").approval is not None
    assert world.step("p").due == world.now + timedelta(hours=2)
    world.approve("p", "ann")
    assert world.statuses["a"] == "scheduled"


def test_a_retry_after_an_optional_connection_went_on_does_not_repeat_what_ran() -> None:
    world = World(document(*map(once, "abc"), edges="a>b a:any>c"))
    world.breaks("a")
    world.done("c")
    assert world.run == "stalled"
    world.ok(world.retry("a"))
    world.done("a", "b")
    assert world.run == "succeeded"
    assert [len(started(world, i)) for i in "abc"] == [2, 1, 1]


def test_a_retry_of_a_handled_failure_is_refused() -> None:
    world = World(document(*map(once, "ab"), edges="a:failed>b"))
    world.breaks("a")
    refusal = world.no(world.retry("a"))
    assert refusal.code == "already_dealt_with"
    assert world.no(world.skip("a")).code == "already_dealt_with"


def test_retry_keeps_the_key_unless_a_new_effect_is_declared() -> None:
    world = World(document(once("a")))
    world.breaks("a")
    world.ok(world.retry("a"))
    world.breaks("a")
    world.ok(world.retry("a", new_effect=True))
    keys = [x.key for x in world.events if isinstance(x, e.ActivityScheduled)]
    assert keys == ["r1/a/1/1", "r1/a/1/1", "r1/a/1/2"]


def test_a_mapping_error_is_mended_by_editing_the_input() -> None:
    form = [{"name": "n", "type": "number", "required": False}]
    world = World(document(activity("a", input={"x": "=input.n + 1.0"}), input=form), {})
    assert world.run == "stalled"
    assert "wrong type" in world.state.reason
    world.ok(world.edit({"n": 2}))
    assert world.run == "stalled"
    world.ok(world.retry("a"))
    assert world.run == "running"
    scheduled = next(x for x in world.events if isinstance(x, e.ActivityScheduled))
    assert scheduled.input == {"x": 3.0}


def test_two_operators_edit_the_input() -> None:
    form = [{"name": "n", "type": "number"}]
    world = World(document(activity("a"), input=form), {"n": 1})
    seen = world.state.sequence
    world.ok(world.edit({"n": 2}, seen_sequence=seen))
    assert world.no(world.edit({"n": 3}, seen_sequence=seen)).code == "changed_meanwhile"
    assert world.no(world.edit({"n": "three"})).code == "invalid_input"
    assert world.state.input == {"n": 2.0}


# Pausing stops claims and clocks


def test_a_pause_shifts_a_wait_by_its_length() -> None:
    world = World(document(wait("w", "PT1H")))
    world.later(minutes=20)
    world.pause()
    assert "no clock runs" in world.explain().sentence
    world.later(days=2)
    assert world.no(world.timer("w")).code == "obsolete_timer"
    world.resume()
    assert world.step("w").due == world.now + timedelta(minutes=40)
    world.later(minutes=40)
    world.ok(world.timer("w"))
    assert world.run == "succeeded"


def test_a_pause_in_the_middle_of_a_retry_keeps_the_rest_of_the_backoff_and_of_the_total_time() -> None:
    retry = {"max_attempts": 5, "initial_s": 100.0, "multiplier": 1.0, "jitter": 0.0, "total_s": 250.0}
    world = World(document(activity("a", retry=retry)))
    world.claim("a")
    world.ok(world.failure("a"))
    world.later(seconds=30)
    world.pause()
    world.later(hours=5)
    world.resume()
    assert world.step("a").due == world.now + timedelta(seconds=70)
    world.fire("a")
    world.claim("a")
    world.ok(world.failure("a"))  # 200 s of its own clock: a third attempt still fits
    assert world.statuses["a"] == "retrying"
    world.fire("a")
    world.claim("a")
    world.ok(world.failure("a"))
    assert world.statuses["a"] == "failed"


def test_what_began_during_the_pause_is_shifted_only_by_its_own_share() -> None:
    world = World(document(activity("a"), wait("w", "PT1H"), edges="a>w"))
    world.claim("a")
    world.pause()
    world.later(minutes=30)
    world.ok(world.completion("a"))
    assert world.statuses["w"] == "waiting"
    world.later(minutes=30)
    world.resume()
    assert world.step("w").due == world.now + timedelta(hours=1)


def test_a_paused_run_hands_out_nothing_and_asks_nobody() -> None:
    world = World(document(activity("a"), approval("p")))
    world.pause()
    step = world.step("a")
    claim = c.ClaimActivity(actor=person("w1"), step="a", generation=1, attempt=step.attempt)
    assert world.no(claim).code == "not_claimable"
    assert world.no(world.vote("p", "ann")).code == "paused"
    assert world.explain().of("p").actions == ("reassign_step",)
    world.resume()
    world.done("a")
    world.approve("p", "ann")
    assert world.run == "succeeded"


def test_a_stalled_run_is_stalled_again_with_its_reason_after_a_pause() -> None:
    world = World(document(once("a")))
    world.breaks("a")
    reason = world.state.reason
    world.pause()
    assert world.state.reason == "Audit."
    world.resume()
    assert (world.run, world.state.reason) == ("stalled", reason)


def test_a_failure_during_a_pause_shows_when_it_is_over() -> None:
    world = World(document(once("a"), policies={"failure": "fail"}))
    world.claim("a")
    world.pause()
    world.ok(world.failure("a"))
    assert world.run == "paused"
    world.resume()
    assert world.run == "failed"


def test_mending_a_paused_run() -> None:
    world = World(document(*map(once, "ab"), edges="a>b"))
    world.breaks("a")
    world.pause()
    world.ok(world.skip("a"))
    assert world.run == "paused"
    assert world.statuses["b"] == "scheduled"
    world.resume()
    world.done("b")
    assert world.run == "succeeded"


# Cancelling and terminating


def test_cancel_stops_what_has_not_begun_and_awaits_what_runs() -> None:
    steps = [*map(activity, "ab"), wait("w"), approval("p"), activity("z")]
    world = World(document(*steps, edges="a>z"))
    world.claim("a")
    world.cancel()
    assert world.run == "cancelling"
    assert world.statuses == {"a": "running", "b": "cancelled", "w": "cancelled", "p": "cancelled", "z": "cancelled"}
    assert world.no(world.retry("b")).code == "stopping"
    world.ok(world.completion("a"))
    assert world.run == "cancelled"
    assert world.state.reason == "No longer needed."


def test_a_cancelled_failure_is_not_tried_again() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    world.cancel()
    world.ok(world.failure("a"))
    assert world.statuses["a"] == "failed"
    assert world.run == "cancelled"


def test_cancel_during_a_pause_lets_the_clock_of_running_work_go_on() -> None:
    world = World(document(activity("a", timeouts={"run_s": 60.0})))
    world.claim("a")
    world.later(seconds=10)
    world.pause()
    world.later(hours=1)
    world.cancel()
    assert world.run == "cancelling"
    assert world.step("a").due == world.now + timedelta(seconds=50)
    world.fire("a")
    assert world.run == "cancelled"


def test_cancel_with_nothing_under_way_ends_at_once_even_when_stalled_or_paused() -> None:
    world = World(document(once("a")))
    world.breaks("a")
    world.cancel()
    assert world.run == "cancelled"
    world = World(document(wait("w")))
    world.pause()
    world.cancel()
    assert world.run == "cancelled"


def test_terminate_leaves_no_step_open_and_late_answers_are_evidence() -> None:
    world = World(document(*map(activity, "ab"), approval("p"), edges="a>b"))
    world.claim("a")
    world.ok(c.TerminateRun(actor=OPERATOR, reason="Wrong customer."))
    assert world.run == "terminated"
    assert set(world.statuses.values()) == {"cancelled"}
    late = world.no(world.completion("a", {"x": 1}))
    assert (late.code, late.evidence, late.known) == ("run_over", True, False)
    assert world.no(world.vote("p", "ann")).code == "run_over"


def test_operators_must_say_why() -> None:
    world = World(document(activity("a")))
    for kind in (c.PauseRun, c.CancelRun, c.TerminateRun):
        assert world.no(kind(actor=OPERATOR, reason=" \n")).code == "no_reason"
        assert world.no(kind(actor=OPERATOR, reason="\ud800")).code == "bad_text"


def test_skipping_a_wait_goes_on_at_once() -> None:
    world = World(document(wait("w"), activity("a"), edges=[edge("w>a")]))
    world.ok(world.skip("w"))
    assert world.statuses == {"w": "skipped", "a": "scheduled"}
    assert world.step("w").due is None
