"""Attempts: claims, fences, results that come late or twice, retries and effect contracts (semantics §6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.activities import payload_digest
from signoff.core.definition import EffectContract, RetryPolicy
from signoff.core.retry import may_retry, next_attempt_at
from signoff.core.states import ErrorInfo
from tests.core.kit import WORKER, World, activity, checked, document, once, undoable

NOW = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "attempt", "jitter", "pause_s"),
    [
        ({}, 1, 0.0, 1.0),
        ({}, 2, 0.0, 2.0),
        ({}, 3, 0.0, None),
        ({"max_attempts": 1}, 1, 0.0, None),
        ({"max_attempts": 9, "initial_s": 10.0, "multiplier": 3.0}, 4, 0.0, 270.0),
        ({"max_attempts": 9, "initial_s": 10.0, "multiplier": 3.0}, 5, 0.0, 300.0),
        ({"max_attempts": 99, "multiplier": 100.0, "cap_s": 1e6}, 98, 0.0, 1e6),
        ({"initial_s": 10.0, "jitter": 0.5}, 1, 0.5, 12.5),
        ({"initial_s": 10.0, "jitter": 0.0}, 1, 0.99, 10.0),
        ({"initial_s": 0.0}, 1, 0.5, 0.0),
        ({"initial_s": 10.0, "jitter": 0.0, "total_s": 40.0}, 1, 0.0, 10.0),
        ({"initial_s": 11.0, "jitter": 0.0, "total_s": 40.0}, 1, 0.0, None),
    ],
)
def test_the_pause_before_the_next_attempt(
    policy: dict[str, Any], attempt: int, jitter: float, pause_s: float | None
) -> None:
    """The first attempt was scheduled 30 s ago."""
    due = next_attempt_at(
        RetryPolicy(**policy), attempt=attempt, first_scheduled_at=NOW - timedelta(seconds=30), now=NOW, jitter=jitter
    )
    assert due == (None if pause_s is None else NOW + timedelta(seconds=pause_s))


@pytest.mark.parametrize(
    ("effect", "code", "retryable", "expected"),
    [
        ("idempotent", "boom", True, True),
        ("idempotent", "boom", False, False),
        ("idempotent", "http_402", True, False),
        ("compensatable", "boom", True, True),
        ("at_most_once", "boom", True, False),
        ("check_first", "boom", True, True),
    ],
)
def test_which_errors_are_tried_again(effect: str, code: str, retryable: bool, expected: bool) -> None:
    policy = RetryPolicy(not_retryable=("http_402",))
    assert may_retry(policy, EffectContract(effect), ErrorInfo(code, "It broke.", retryable)) is expected


def test_attempts_are_counted_and_the_last_failure_is_final() -> None:
    world = World(document(activity("a", retry={"max_attempts": 3, "initial_s": 10.0, "jitter": 0.0})))
    for attempt in (1, 2, 3):
        assert world.step("a").attempt == attempt
        assert world.claim("a").fence == attempt
        world.ok(world.failure("a"))
        if attempt < 3:
            assert "It tries again at" in world.explain().of("a").next
            assert world.no(world.timer("a")).code == "not_due"
            world.fire("a")
    assert world.statuses["a"] == "failed"
    assert world.state.reason == "'A' failed: It broke."


def test_fences_grow_over_generations() -> None:
    world = World(document(once("a")))
    world.claim("a")
    world.ok(world.failure("a"))
    world.ok(world.retry("a"))
    assert world.claim("a").fence == 2
    assert world.step("a").attempt == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"fence": 0}, "stale_result"),
        ({"fence": 2}, "stale_result"),
        ({"attempt": 2}, "stale_result"),
        ({"generation": 2}, "stale_result"),
        ({"digest": "sha256:other"}, "wrong_digest"),
        ({"step": "b"}, "unknown_step"),
    ],
)
def test_a_result_that_does_not_fit_is_evidence(change: dict[str, Any], code: str) -> None:
    world = World(document(activity("a")))
    world.claim("a")
    for command in (world.completion("a", **change), world.failure("a", **change)):
        refusal = world.no(command)
        assert (refusal.code, refusal.evidence, refusal.known) == (code, True, False)
    world.ok(world.completion("a", digest=world.state.digest))


def test_a_repeated_result_is_known_and_another_one_is_not() -> None:
    world = World(document(activity("a"), activity("b")))
    world.claim("a")
    result = world.completion("a", {"x": 1})
    world.ok(result)
    assert world.no(result).known
    other = world.no(world.completion("a", {"x": 2}))
    assert (other.code, other.known) == ("stale_result", False)
    failure = world.no(world.failure("a"))
    assert (failure.code, failure.known) == ("stale_result", False)


def test_a_late_success_of_a_lost_worker_is_not_taken_for_the_answer() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    late = world.completion("a", {"x": 1})
    world.ok(world.lost("a"))
    assert world.statuses["a"] == "retrying"
    assert "'w1' was lost" in world.explain().of("a").sentence
    refusal = world.no(late)
    assert (refusal.code, refusal.known) == ("stale_result", False)
    world.fire("a")
    assert world.no(late).code == "stale_result"
    world.claim("a")
    assert world.no(late).code == "stale_result"
    world.ok(world.completion("a", {"x": 2}))
    assert world.state.outputs["a"] == {"x": 2}


def test_a_repeated_failure_is_known_until_the_next_attempt_begins() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    failure = world.failure("a")
    world.ok(failure)
    assert world.no(failure).known
    world.fire("a")
    assert not world.no(failure).known


def test_a_second_worker_gets_nothing() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    again = c.ClaimActivity(actor=WORKER, step="a", generation=1, attempt=1)
    assert world.no(again).code == "not_claimable"


@pytest.mark.parametrize(
    ("effect", "status", "code"),
    [
        ("idempotent", "retrying", "worker_lost"),
        ("compensatable", "retrying", "worker_lost"),
        ("at_most_once", "outcome_unknown", "outcome_unknown"),
        ("check_first", "retrying", "worker_lost"),
    ],
)
def test_a_lost_answer_by_effect_contract(effect: str, status: str, code: str) -> None:
    make = {"check_first": checked, "compensatable": undoable}.get(effect, activity)
    world = World(document(make("a", effect=effect)))
    world.claim("a")
    world.ok(world.lost("a"))
    error = world.step("a").error
    assert error is not None
    assert (world.statuses["a"], error.code) == (status, code)
    if status == "outcome_unknown":
        assert world.run == "stalled"
        assert "It is not known whether the call took effect." in world.state.reason


def test_a_definite_failure_under_at_most_once_is_not_unknown() -> None:
    world = World(document(activity("a", effect="at_most_once")))
    world.claim("a")
    world.ok(world.failure("a", "http_400"))
    error = world.step("a").error
    assert error is not None
    assert (world.statuses["a"], error.code) == ("failed", "http_400")


def test_the_run_time_is_watched() -> None:
    world = World(document(activity("a", timeouts={"run_s": 30.0})))
    world.claim("a")
    assert world.step("a").due == world.now + timedelta(seconds=30)
    world.fire("a")
    error = world.step("a").error
    assert error is not None
    assert (world.statuses["a"], error.code) == ("retrying", "run_timeout")


def test_the_queue_time_is_watched_until_a_worker_comes() -> None:
    doc = document(once("a", timeouts={"queue_s": 5.0}))
    world = World(doc)
    world.fire("a")
    error = world.step("a").error
    assert error is not None
    assert (world.run, error.code) == ("stalled", "queue_timeout")
    world = World(doc)
    queue = world.timer("a")
    world.claim("a")
    world.later(seconds=10)
    assert world.no(queue).code == "obsolete_timer"


def test_a_timer_fires_once() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    world.ok(world.failure("a"))
    timer = world.timer("a")
    world.later(minutes=10)
    world.ok(timer)
    assert world.no(timer).code == "obsolete_timer"


def test_a_timer_of_an_earlier_attempt_or_generation_is_obsolete() -> None:
    world = World(document(activity("a", retry={"max_attempts": 2, "initial_s": 1.0})))
    world.claim("a")
    first = world.timer("a")
    world.ok(world.failure("a"))
    world.fire("a")
    world.claim("a")
    world.later(hours=1)
    assert world.no(first).code == "obsolete_timer"
    second = world.timer("a")
    world.ok(world.failure("a", retryable=False))
    world.ok(world.retry("a"))
    world.claim("a")
    world.ok(world.failure("a"))
    world.fire("a")
    world.claim("a")
    world.later(hours=1)
    assert world.step("a").attempt == second.attempt
    assert world.no(second).code == "obsolete_timer"
    world.ok(world.timer("a"))


OUTPUT = [{"name": "n", "type": "integer", "minimum": 1}]


@pytest.mark.parametrize("output", [None, {}, {"n": 0}, {"n": "x"}, {"n": 1, "m": 2}, [1], {"n": 2**60}])
def test_an_output_that_is_not_as_declared_fails_the_step(output: Any) -> None:
    world = World(document(activity("a", output=OUTPUT)))
    world.claim("a")
    world.ok(world.completion("a", output))
    error = world.step("a").error
    assert error is not None
    assert (world.statuses["a"], error.code) == ("failed", "invalid_output")
    assert "he output of 'A'" in error.message


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (float("nan"), "not finite"),
        ({"x": [float("inf")]}, "not finite"),
        (2**60, "2^53"),
        ("\ud800", "half of a character"),
        ({1: 2}, "names"),
        (b"x", "bytes"),
        ("x" * 1_000_001, "larger than"),
        ([[[]]] * 300_000, "larger than"),
    ],
)
def test_an_output_that_cannot_be_stored_fails_the_step(output: Any, why: str) -> None:
    world = World(document(activity("a")))
    world.claim("a")
    world.ok(world.completion("a", output))
    assert world.statuses["a"] == "failed"
    assert why in world.state.reason


def test_an_output_nested_too_deep_fails_the_step() -> None:
    deep: Any = []
    for _ in range(2000):
        deep = [deep]
    world = World(document(activity("a")))
    world.claim("a")
    world.ok(world.completion("a", deep))
    assert "levels deep" in world.state.reason


def test_a_workers_words_are_kept_short_and_whole() -> None:
    world = World(document(once("a")))
    world.claim("a")
    world.ok(world.failure("a", error=ErrorInfo("", "broken \ud800 " + "x" * 10_000)))
    error = world.step("a").error
    assert error is not None
    assert error.code == "failed"
    assert len(error.message) == 4_000
    assert error.message.startswith("broken ? x")


def test_the_input_is_resolved_when_it_is_scheduled() -> None:
    mapping = {"n": "=input.n * 2.0", "by": "=run.started_by", "fixed": "==not an expression", "l": ["=1 + 1", 3]}
    form = [{"name": "n", "type": "number"}]
    world = World(document(activity("a", input=mapping), input=form), {"n": 4})
    scheduled = next(x for x in world.events if isinstance(x, e.ActivityScheduled))
    assert scheduled.input == {"n": 8.0, "by": "dan", "fixed": "=not an expression", "l": [2, 3]}


def test_the_evidence_of_a_payload() -> None:
    world = World(document(activity("a")))
    world.claim("a")
    assert payload_digest(world.completion("a", {"x": 1})).startswith("sha256:")
    assert payload_digest(world.completion("a", float("nan"))) == ""
