"""Activities that are asked again until their answer is right, or their deadline is over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from signoff.core import events as e
from signoff.core.document import read_document, write_document
from signoff.core.validate import validate
from tests.core.kit import JSON, START, World, activity, document

POLL: JSON = {"until": "answer.ready", "every": "PT1M", "for": "PT150S"}


def polling(**more: object) -> JSON:
    return activity("p", **{"poll": POLL, "retry": {"max_attempts": 2, "initial_s": 5.0, "jitter": 0.0}, **more})


def keys(world: World) -> list[str]:
    return [x.key for x in world.events if isinstance(x, e.ActivityScheduled)]


def test_it_is_asked_again_until_the_answer_is_right() -> None:
    world = World(document(polling(), activity("then"), edges="p>then"))
    world.done("p", output={"ready": False})
    step = world.step("p")
    assert (step.status, step.due, step.polls) == ("waiting", START + timedelta(minutes=1), 1)
    told = world.explain().of("p")
    assert told.sentence == "'P' was asked once, and what it waits for ('answer.ready') is not true yet."
    assert told.next == "It is asked again at 2027-01-04 09:01 UTC and gives up at 2027-01-04 09:02 UTC."
    assert told.due == step.due
    world.fire("p")
    world.done("p", output={"ready": True, "n": 7})
    assert world.statuses == {"p": "succeeded", "then": "scheduled"}
    assert world.state.outputs["p"] == {"ready": True, "n": 7}
    assert keys(world)[:2] == ["r1/p/1/1/poll/1", "r1/p/1/1/poll/2"]


def test_the_last_call_is_made_at_the_deadline() -> None:
    world = World(document(polling(), activity("mend"), edges="p:failed>mend"))
    dues = []
    for _ in range(4):
        world.done("p", output={"ready": False})
        if world.statuses["p"] == "failed":
            break
        dues.append((world.step("p").due or START) - START)
        world.fire("p")
    assert dues == [timedelta(seconds=s) for s in (60, 120, 150)]
    error = world.step("p").error
    assert error is not None
    assert error.code == "poll_deadline"
    assert error.message == "It was asked 4 times, and 'answer.ready' did not become true in time."
    assert world.statuses["mend"] == "scheduled"


def test_answers_are_no_failures_and_failures_are_counted_for_each_call() -> None:
    world = World(document(polling()))
    for _ in range(2):
        world.claim("p")
        world.ok(world.failure("p"))
        assert world.statuses["p"] == "retrying"
        world.fire("p")
        world.done("p", output={"ready": False})
        world.fire("p")
    assert keys(world) == [f"r1/p/1/1/poll/{n}" for n in (1, 1, 2, 2, 3)]
    world.claim("p")
    world.ok(world.failure("p"))
    world.fire("p")
    world.claim("p")
    world.ok(world.failure("p"))
    assert world.statuses["p"] == "failed"


def test_a_condition_that_cannot_be_decided_is_a_visible_error() -> None:
    world = World(document(polling()))
    world.done("p", output={"state": "ready"})
    assert world.run == "stalled"
    assert "the value 'ready' is missing" in world.state.reason
    world.ok(world.retry("p"))
    world.done("p", output={"ready": True})
    assert world.run == "succeeded"


def test_a_pause_moves_the_next_call_and_the_deadline() -> None:
    world = World(document(polling()))
    world.done("p", output={"ready": False})
    world.pause()
    world.later(hours=1)
    world.resume()
    assert world.step("p").due == START + timedelta(hours=1, minutes=1)
    assert "gives up at 2027-01-04 10:02 UTC" in world.explain().of("p").next


def test_cancelling_ends_the_asking_and_skipping_goes_past_it() -> None:
    world = World(document(polling()))
    world.done("p", output={"ready": False})
    world.cancel()
    assert (world.run, world.statuses["p"]) == ("cancelled", "cancelled")
    world = World(document(polling()))
    world.done("p", output={"ready": False})
    world.ok(world.skip("p"))
    assert world.run == "succeeded"


def test_an_answer_while_the_run_is_stopped_is_the_last_one() -> None:
    world = World(document(polling()))
    world.claim("p")
    world.cancel()
    world.ok(world.completion("p", {"ready": False}))
    assert (world.run, world.statuses["p"]) == ("cancelled", "failed")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"effect": "at_most_once"}, "poll_effect"),
        ({"poll": {**POLL, "until": ""}}, "no_condition"),
        ({"poll": {**POLL, "until": "ready"}}, "bad_expression"),
        ({"poll": {**POLL, "until": "answer."}}, "bad_expression"),
        ({"poll": {**POLL, "every": "often"}}, "bad_duration"),
        ({"poll": {"until": "answer.ready"}}, "bad_duration"),
        ({"poll": {**POLL, "every": "PT1S", "for": "P1D"}}, "too_many_polls"),
        ({"poll": {**POLL, "every": "PT0S"}}, "too_many_polls"),
        ({"poll": {**POLL, "for_": "PT1H"}}, "unknown_key"),
    ],
)
def test_what_is_wrong_with_polling(changes: JSON, code: str) -> None:
    definition, read = read_document(document(polling(**changes)))
    assert definition is not None
    assert code in [p.code for p in (*read, *validate(definition))]


def test_the_document_says_for() -> None:
    definition, problems = read_document(document(polling()))
    assert definition is not None
    assert not problems
    assert write_document(definition)["steps"][0]["poll"] == {"until": "answer.ready", "for": "PT150S"}
