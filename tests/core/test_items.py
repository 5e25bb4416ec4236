"""Calling for each item of a list: what each state answers, and that every item succeeds exactly once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core import events as e
from signoff.core.document import read_document
from signoff.core.rejection import Rejection
from signoff.core.validate import validate
from tests.core.kit import CLOCK, JSON, START, World, activity, approval, document

FORM = [{"name": "rows", "type": "list"}]
RETRY = {"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0}


def each(**more: Any) -> JSON:
    how = {"items": "input.rows", "parallel": 2, **more.pop("for_each", {})}
    return activity("copy", **{"for_each": how, "input": {"row": "=item", "at": "=index"}, "retry": RETRY, **more})


def world_of(rows: Any, *more: JSON, edges: str = "", **config: Any) -> World:
    return World(document(each(**config), *more, edges=edges, input=FORM), {"rows": rows})


def open_items(world: World) -> list[int]:
    items = world.step("copy").items
    return [x.item for x in items.open] if items else []


def finish(world: World) -> None:
    while open_items(world):
        item = open_items(world)[0]
        world.item_done("copy", item, f"r{item}")


def test_items_are_called_a_few_at_once_and_their_results_keep_the_order() -> None:
    world = world_of(["a", "b", "c"], activity("then"), edges="copy>then")
    assert open_items(world) == [0, 1]
    assert world.explain().of("copy").sentence == "'COPY' works on a list: 0 of 3 done, 2 under way."
    world.item_done("copy", 1, "B")
    assert open_items(world) == [0, 2]
    world.item_done("copy", 2, "C")
    world.item_done("copy", 0, "A")
    assert world.state.outputs["copy"] == ["A", "B", "C"]
    assert world.statuses == {"copy": "succeeded", "then": "scheduled"}
    scheduled = [x for x in world.events if isinstance(x, e.ActivityScheduled) and x.item >= 0]
    assert [(x.key, x.input) for x in scheduled] == [
        (f"r1/copy/1/1/{i}", {"row": row, "at": i}) for i, row in enumerate("abc")
    ]


def test_no_items_succeed_at_once() -> None:
    world = world_of([], activity("then"), edges="copy>then")
    assert world.state.outputs["copy"] == []
    assert world.statuses["then"] == "scheduled"


@pytest.mark.parametrize(
    ("rows", "config", "code", "said"),
    [
        ([1, 2, 3], {"for_each": {"max_items": 2}}, "too_many_items", "The list has 3 items; at most 2 are allowed."),
        ([1], {"for_each": {"items": "input.rows[0]"}}, "mapping_error", "gives no list"),
        ([1], {"for_each": {"items": "input.rows[7]"}}, "mapping_error", "'input.rows[7]'"),
        ([{"n": 1}, {}], {"input": {"n": "=item.n"}}, "mapping_error", "Item 1 of 2 failed (counted from 0)"),
    ],
)
def test_what_stands_in_the_way_is_said(rows: Any, config: JSON, code: str, said: str) -> None:
    world = world_of(rows, **config)
    error = world.step("copy").error
    assert error is not None
    assert (world.run, error.code) == ("stalled", code)
    assert said in error.message


def test_an_item_is_tried_again_by_itself_while_others_go_on() -> None:
    world = world_of([1, 2, 3])
    world.ok(world.item_failure("copy", 0))
    assert world.item("copy", 0).status == "retrying"
    assert "Not well so far: item 0" in world.explain().of("copy").sentence
    assert world.explain().of("copy").next == "An item is tried again at 2027-01-04 09:00 UTC."
    world.item_done("copy", 1)
    world.fire("copy")
    assert (world.item("copy", 0).status, world.item("copy", 0).attempt) == ("scheduled", 2)
    finish(world)
    assert world.run == "succeeded"


def test_a_failed_item_stops_the_rest_and_the_error_says_which() -> None:
    world = world_of([1, 2, 3, 4], for_each={"parallel": 3})
    running = world.claim_item("copy", 1)
    world.ok(world.item_failure("copy", 0, retryable=False))
    assert open_items(world) == [1]
    assert world.step("copy").status == "running"
    world.ok(world.failure("copy", attempt=running.attempt, fence=running.fence, item=1))
    error = world.step("copy").error
    assert error is not None
    assert error.code == "items_failed"
    assert error.message.startswith("Items 0 and 1 of 4 failed (counted from 0); 0 had succeeded. It broke.")
    assert world.run == "stalled"


def test_a_retry_calls_only_what_had_not_succeeded_or_has_changed() -> None:
    world = world_of(["a", "b", "c", "d"])
    world.item_done("copy", 0, "A")
    world.item_done("copy", 1, "B")
    world.item_done("copy", 2, "C")
    world.ok(world.item_failure("copy", 3, retryable=False))
    world.ok(world.edit({"rows": ["a", "x", "c", "d"]}))
    world.ok(world.retry("copy"))
    assert open_items(world) == [1, 3]
    world.item_done("copy", 1, "X")
    world.item_done("copy", 3, "D")
    assert world.state.outputs["copy"] == ["A", "X", "C", "D"]


def test_a_new_round_does_everything_again() -> None:
    steps = [each(), approval("ask", returns_to=["copy"])]
    world = World(document(*steps, edges="copy>ask", input=FORM), {"rows": [1, 2]})
    finish(world)
    world.ok(world.vote("ask", "ann", "returned"))
    assert open_items(world) == [0, 1]
    assert world.events[-1].key == "r1/copy/2/1/1"  # type: ignore[attr-defined]


def test_cancelling_awaits_only_what_is_under_way() -> None:
    world = world_of([1, 2, 3])
    world.claim_item("copy", 0)
    world.cancel()
    assert (open_items(world), world.run) == ([0], "cancelling")
    world.item_done("copy", 0)
    assert (world.statuses["copy"], world.run) == ("cancelled", "cancelled")


def test_late_double_and_foreign_answers_are_evidence() -> None:
    world = world_of([1, 2, 3])
    one = world.claim_item("copy", 0)
    other = world.claim_item("copy", 1)
    answer = world.completion("copy", "A", attempt=one.attempt, fence=one.fence, item=0)
    for change in ({"fence": 9}, {"attempt": 2}, {"generation": 2}):
        wrong = world.completion("copy", "A", **{"attempt": 1, "fence": one.fence, "item": 0, **change})
        assert world.no(wrong).code == "stale_result"
    assert world.no(world.completion("copy", "A", fence=one.fence, attempt=1, digest="sha256:x")).code == "wrong_digest"
    world.ok(answer)
    assert world.no(answer).known
    assert world.no(world.completion("copy", "Z", attempt=1, fence=one.fence, item=0)).code == "stale_result"
    lost = world.lost("copy")
    late = world.completion("copy", "B", attempt=1, fence=other.fence, item=1)
    world.ok(type(lost)(actor=CLOCK, step="copy", generation=1, attempt=1, fence=other.fence))
    assert world.no(late).code == "stale_result"
    world.fire("copy")
    again = world.claim_item("copy", 1)
    accepted = world.completion("copy", "B", attempt=2, fence=again.fence, item=1)
    world.ok(accepted)
    assert world.no(accepted).known
    assert world.no(late).code == "stale_result"
    world.item_done("copy", 2)
    assert world.state.outputs["copy"] == ["A", "B", None]


def test_run_times_and_pauses_count_for_each_item() -> None:
    world = world_of([1, 2], timeouts={"run_s": 30.0})
    world.claim_item("copy", 0)
    world.later(seconds=10)
    world.claim_item("copy", 1)
    assert world.step("copy").due == START + timedelta(seconds=30)
    world.pause()
    world.later(hours=1)
    world.resume()
    assert [world.item("copy", i).due for i in (0, 1)] == [
        START + timedelta(hours=1, seconds=30),
        START + timedelta(hours=1, seconds=40),
    ]
    world.fire("copy")
    assert [world.item("copy", i).status for i in (0, 1)] == ["retrying", "running"]


def test_an_output_is_checked_and_an_item_that_is_too_large_fails() -> None:
    world = world_of([1, 2], output=[{"name": "n", "type": "integer"}])
    world.item_done("copy", 0, {"n": 1})
    one = world.claim_item("copy", 1)
    world.ok(world.completion("copy", {"n": "x" * 1_100_000}, attempt=1, fence=one.fence, item=1))
    assert world.run == "stalled"
    assert "the output of 'COPY'" in world.state.reason
    assert "larger than" in world.state.reason


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"effect": "at_most_once"}, "for_each_effect"),
        ({"poll": {"until": "answer.x", "for": "PT1H"}}, "for_each_poll"),
        ({"for_each": {"items": ""}}, "no_list"),
        ({"for_each": {"items": "item"}}, "bad_expression"),
        ({"for_each": {"items": "input.none"}}, "unknown_input"),
        ({"for_each": {"parallel": 0}}, "bad_for_each"),
        ({"for_each": {"max_items": 1001}}, "bad_for_each"),
    ],
)
def test_what_is_wrong_with_a_list(changes: JSON, code: str) -> None:
    definition, read = read_document(document(each(**changes), input=FORM))
    assert definition is not None
    assert code in [p.code for p in (*read, *validate(definition))]


def test_item_and_index_are_known_only_in_a_list() -> None:
    definition, _ = read_document(document(activity("a", input={"row": "=item"}), input=FORM))
    assert definition is not None
    assert "bad_expression" in [p.code for p in validate(definition)]


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(0, 7),
    parallel=st.integers(1, 3),
    acts=st.lists(
        st.tuples(st.sampled_from(["done", "fail", "fatal", "lost", "fire", "pause", "retry"]), st.integers(0, 9))
    ),
)
def test_every_item_succeeds_exactly_once(count: int, parallel: int, acts: list[tuple[str, int]]) -> None:
    """Whatever happens, at most `parallel` are open, replay is the snapshot (the ledger checks), results are right."""
    world = world_of(list(range(count)), for_each={"parallel": parallel})
    for act, pick in acts:
        open_now = open_items(world)
        assert len(open_now) <= parallel
        item = open_now[pick % len(open_now)] if open_now else -1
        one = world.item("copy", item) if open_now else None
        if act == "pause":
            if world.run == "paused":
                world.resume()
            elif world.run in ("running", "stalled"):
                world.pause()
        elif world.run == "paused":
            continue
        elif act == "retry" and world.statuses["copy"] == "failed":
            world.ok(world.retry("copy"))
        elif act == "fire" and world.step("copy").due:
            world.fire("copy")
        elif one is None or one.status == "retrying":
            continue
        elif act == "done":
            world.item_done("copy", item, f"r{item}")
        elif act in ("fail", "fatal"):
            world.ok(world.item_failure("copy", item, retryable=act == "fail"))
        elif act == "lost" and one.status == "running":
            world.ok(world.item_failure("copy", item))
    for _ in range(100):
        if world.state.is_terminal:
            break
        if world.run == "paused":
            world.resume()
        elif world.run == "stalled":
            world.ok(world.retry("copy"))
        elif any(world.item("copy", i).status != "retrying" for i in open_items(world)):
            item = next(i for i in open_items(world) if world.item("copy", i).status != "retrying")
            world.item_done("copy", item, f"r{item}")
        else:
            world.fire("copy")
    assert world.run == "succeeded"
    assert world.state.outputs["copy"] == [f"r{i}" for i in range(count)]
    successes = Counter(x.item for x in world.events if isinstance(x, e.ItemSucceeded))
    assert successes == Counter(range(count))
    assert not isinstance(world.state.partial.get("copy"), Rejection)
