"""Compensation: what was done is undone in reverse order, each step with attempts of its own (semantics §6)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.implied import implied_dead_letters
from signoff.core.states import TimerKind
from tests.core.kit import CLOCK, JSON, OPERATOR, World, activity, approval, definition_of, document, once, undoable


def undoing(world: World) -> list[str]:
    """Steps whose compensation may be claimed now."""
    return [i for i, s in world.state.steps.items() if s.undo and s.status == "scheduled"]


def booked(*, failure: str = "compensate") -> World:
    """Flight, hotel and car are booked, paying is left."""
    steps = [undoable("flight"), activity("note"), undoable("hotel"), undoable("car"), once("pay")]
    doc = document(*steps, edges="flight>hotel hotel>note hotel>car car>pay note>pay", policies={"failure": failure})
    world = World(doc)
    for step in ("flight", "hotel", "car", "note"):
        world.done(step, output={"booking": f"no. {step}"})
    return world


def test_the_last_is_undone_first_and_what_has_no_compensation_stays() -> None:
    world = booked()
    world.breaks("pay")
    assert (world.run, world.state.stopping) == ("compensating", "failed")
    order = []
    while undoing(world):
        (step,) = undoing(world)
        scheduled = [x for x in world.events if isinstance(x, e.ActivityScheduled)][-1]
        assert scheduled.input == {"cancel": f"no. {step}"}
        assert scheduled.key == f"r1/{step}/1/1/undo"
        world.done(step)
        order.append(step)
    assert order == ["car", "hotel", "flight"]
    assert world.statuses == {
        "flight": "compensated", "hotel": "compensated", "car": "compensated", "note": "succeeded", "pay": "failed",
    }  # fmt: skip
    assert world.run == "failed"
    assert world.state.outputs["hotel"] == {"booking": "no. hotel"}, "what it gave stays readable"


def test_work_under_way_is_awaited_and_undone_too() -> None:
    world = World(document(undoable("a"), undoable("b"), once("c"), policies={"failure": "compensate"}))
    world.done("a", output={"booking": 1})
    world.claim("b")
    world.breaks("c")
    assert (world.run, undoing(world)) == ("cancelling", [])
    world.ok(world.completion("b", {"booking": 2}))
    assert (world.run, undoing(world)) == ("compensating", ["b"])
    world.done("b", "a")
    assert world.run == "failed"


def test_a_list_is_undone_as_a_whole() -> None:
    undo = {"connector": "python:undo", "input": {"all": "=steps.a.output"}}
    step = undoable("a", compensation=undo, for_each={"items": "[1, 2]"})
    world = World(document(step, once("b"), edges="a>b", policies={"failure": "compensate"}))
    for item in (0, 1):
        world.item_done("a", item, f"no. {item}")
    world.breaks("b")
    scheduled = [x for x in world.events if isinstance(x, e.ActivityScheduled)][-1]
    assert (scheduled.undo, scheduled.input) == (1, {"all": ["no. 0", "no. 1"]})
    world.claim("a")
    world.ok(world.lost("a"))
    world.fire("a")
    world.done("a")
    assert (world.run, world.statuses["a"]) == ("failed", "compensated")


def test_nothing_to_undo_ends_at_once() -> None:
    world = World(document(once("a"), undoable("b"), edges="a>b", policies={"failure": "compensate"}))
    world.breaks("a")
    assert (world.run, world.kinds()[-1]) == ("failed", "run.ended")


def test_attempts_to_undo_are_counted_on_their_own_and_lost_workers_count() -> None:
    world = booked()
    world.breaks("pay")
    world.claim("car")
    world.ok(world.lost("car"))
    assert world.step("car").timer is TimerKind.RETRY
    world.fire("car")
    world.claim("car")
    world.ok(world.failure("car"))
    world.fire("car")
    assert (world.step("car").undo, world.step("car").tries) == (3, 1)
    world.done("car")
    assert world.statuses["car"] == "compensated"


def stuck() -> World:
    world = booked()
    world.breaks("pay")
    world.claim("car")
    world.ok(world.failure("car", retryable=False))
    return world


def test_a_compensation_that_fails_stalls_visibly_and_can_be_tried_again() -> None:
    world = stuck()
    assert (world.run, world.statuses["car"]) == ("stalled", "failed")
    assert "could not be undone" in world.state.reason
    assert list(implied_dead_letters(world.plan, world.state)) == ["car"]
    told = world.explain()
    assert told.of("car").actions == ("retry_step", "skip_step")
    assert told.actions == ("edit_input", "terminate_run")
    world.ok(world.retry("car"))
    assert (world.run, undoing(world)) == ("compensating", ["car"])
    world.done("car", "hotel", "flight")
    assert world.run == "failed"


def test_or_somebody_undoes_it_by_hand() -> None:
    world = stuck()
    world.ok(world.skip("car", output={"called": "the desk"}))
    assert (world.run, undoing(world)) == ("compensating", ["hotel"])
    last = next(x for x in reversed(world.events) if isinstance(x, e.StepCompensated))
    assert (last.actor, last.reason, last.answer) == (OPERATOR, "Done by hand.", {"called": "the desk"})


def test_an_input_that_cannot_be_made_is_mended_and_tried_again() -> None:
    form = [{"name": "n", "type": "integer"}]
    step = undoable("a", compensation={"connector": "python:undo", "input": {"share": "=10 / input.n"}})
    doc = document(step, once("b"), edges="a>b", input=form, policies={"failure": "compensate"})
    world = World(doc, {"n": 0})
    world.done("a")
    world.breaks("b")
    error = world.step("a").error
    assert error is not None
    assert (world.run, error.code) == ("stalled", "mapping_error")
    world.ok(world.edit({"n": 2}))
    world.ok(world.retry("a"))
    world.done("a")
    assert (world.run, world.statuses["a"]) == ("failed", "compensated")


def test_an_input_that_is_too_large_fails_the_compensation_and_names_the_step() -> None:
    twice = ["=steps.a.output.text", "=steps.a.output.text"]
    step = undoable("a", compensation={"connector": "python:undo", "input": {"twice": twice}})
    world = World(document(step, once("b"), edges="a>b", policies={"failure": "compensate"}))
    world.done("a", output={"text": "x" * 600_000})
    world.breaks("b")
    error = world.step("a").error
    assert error is not None
    assert (world.run, error.code) == ("stalled", "mapping_error")
    assert "the input of 'A'" in error.message
    assert "larger than" in error.message


def test_cancelling_undoes_only_where_that_is_asked_for() -> None:
    for compensate, status in ((False, "cancelled"), (True, "compensating")):
        world = booked(failure="stall")
        world.ok(c.CancelRun(actor=OPERATOR, reason="No longer needed.", compensate=compensate))
        assert world.run == status
    world.done("car", "hotel", "flight")
    assert (world.run, world.statuses["car"]) == ("cancelled", "compensated")


def test_what_may_have_happened_must_be_known_before_it_is_undone() -> None:
    world = World(document(undoable("a"), activity("b", effect="at_most_once"), edges="a>b"))
    world.done("a", output={"booking": 1})
    world.claim("b")
    world.ok(world.lost("b"))
    cancel = c.CancelRun(actor=OPERATOR, reason="No.", compensate=True)
    assert world.no(cancel).code == "outcome_unknown"
    world.ok(world.outcome("b", False))
    world.ok(cancel)
    assert world.run == "compensating"


def test_a_deadline_undoes_where_failures_do() -> None:
    policies = {"failure": "compensate", "deadline": "PT8H", "on_deadline": "fail"}
    world = World(document(undoable("a"), approval("b"), edges="a>b", policies=policies))
    world.done("a", output={"booking": 1})
    world.later(hours=8)
    world.ok(c.FireTimer(actor=CLOCK, step="", timer=TimerKind.DEADLINE, generation=0))
    assert (world.run, undoing(world)) == ("compensating", ["a"])


def test_terminating_says_what_was_not_undone() -> None:
    world = booked()
    world.breaks("pay")
    world.claim("car")
    world.ok(c.TerminateRun(actor=OPERATOR, reason="Enough."))
    assert (world.run, world.statuses["car"], world.statuses["hotel"]) == ("terminated", "failed", "succeeded")
    assert world.no(world.completion("car")).code == "run_over"


def test_a_repeated_answer_is_known_and_a_stale_one_is_evidence() -> None:
    world = booked()
    world.breaks("pay")
    world.claim("car")
    answer = world.completion("car")
    world.ok(answer)
    assert world.no(answer).code == "already_known"
    assert world.no(world.completion("car", fence=1)).code == "stale_result"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (activity("a", effect="compensatable"), "does not say how"),
        (activity("a", compensation={"connector": ""}), "The compensation of 'A' calls nothing"),
        (
            undoable("a", compensation={"connector": "python:x", "input": {"x": "=steps.b.output.n"}}),
            "does not come before",
        ),
    ],
)
def test_compensations_that_are_refused(step: JSON, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        definition_of(document(step, once("b"), edges="a>b"))


WAYS = ["claim", "done", "fail", "lose", "fire", "retry", "skip"]
ACTS = st.lists(st.tuples(st.sampled_from(WAYS), st.integers(0, 9)))


@given(ACTS, st.booleans())
def test_each_step_is_undone_once_in_reverse_order_whatever_happens(acts: list[tuple[str, int]], by_hand: bool) -> None:
    """The ledger of the kit checks replay, rows, sentences and the way forward after every step."""
    world = booked()
    world.breaks("pay")
    undo: dict[str, Any] = {
        "claim": lambda i: c.ClaimActivity(
            actor=OPERATOR, step=i, generation=world.step(i).generation, attempt=world.step(i).attempt
        ),
        "done": world.completion,
        "fail": world.failure,
        "lose": world.lost,
        "retry": world.retry,
        "skip": world.skip,
    }
    for act, pick in acts:
        step = list(world.state.steps)[pick % 5]
        if act == "fire":
            if world.step(step).due:
                world.fire(step)
        else:
            world.send(undo[act](step))
    for _ in range(60):
        for i in world.state.steps:
            s = world.step(i)
            if s.undo and s.status == "failed":
                world.ok(world.skip(i) if by_hand else world.retry(i))
            elif s.status == "scheduled":
                world.done(i)
            elif s.status == "running":
                world.ok(world.completion(i))
            elif s.status == "retrying":
                world.fire(i)
    assert world.run == "failed"
    order = [x.step for x in world.events if isinstance(x, e.StepCompensated)]
    assert order == ["car", "hotel", "flight"]
