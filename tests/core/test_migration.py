"""Moving a run to another version: what stays, what begins again, who is asked again, and what cannot move."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from signoff.core import commands as c
from signoff.core.codec import DATA_EVENTS, decode_snapshot, encode_snapshot
from signoff.core.document import write_document
from signoff.core.history import replay_history
from signoff.core.migration import MigrationPlan, plan_problems, propose
from signoff.core.states import RunStatus
from tests.core.kit import JSON, World, activity, approval, checked, document, edge, form, once, plan_of, wait

FORM = [{"name": "amount", "label": "Amount", "type": "number"}]


def move(world: World, doc: JSON, *args: Any, **more: Any) -> None:
    world.ok(world.migration(doc, *args, **more))


def proved(world: World) -> None:
    """The whole history replays to the state, also through a snapshot."""
    history = replay_history(world.ledger.plans.__getitem__, world.events)
    assert history.state == world.state
    assert history.plan is world.plan
    data = [x for x in world.events if x.wire in DATA_EVENTS]
    assert decode_snapshot(encode_snapshot(world.state), data) == world.state


def test_what_is_done_stays_and_what_is_new_is_done() -> None:
    world = World(document(activity("a"), activity("b"), edges="a>b"))
    world.done("a", output={"n": 1})
    move(world, document(activity("a"), activity("x"), activity("b"), edges="a>x x>b"))
    assert world.state.version == 2
    assert world.statuses == {"a": "succeeded", "x": "scheduled", "b": "scheduled"}, "b had begun and goes on"
    world.done("b", "x")
    assert world.run == "succeeded"
    proved(world)


def test_a_step_before_one_that_waits_is_done_first() -> None:
    world = World(document(activity("a"), activity("b"), activity("c"), edges="a>b b>c"))
    world.done("a")
    move(world, document(*map(activity, "abxc"), edges="a>b b>x x>c"))
    world.done("b")
    assert world.statuses["c"] == "pending"
    world.done("x", "c")
    assert world.run == "succeeded"
    proved(world)


def test_an_armed_timer_keeps_its_remaining_time_under_a_new_name_too() -> None:
    world = World(document(wait("w", "PT1H"), activity("a"), edges="w>a"))
    due = world.step("w").due
    world.later(minutes=10)
    move(world, document(wait("pause", "PT9H"), activity("a"), edges="pause>a"), {"w": "pause"})
    assert world.step("pause").due == due
    world.fire("pause")
    world.done("a")
    proved(world)


def test_an_open_approval_stays_where_nothing_of_it_changed() -> None:
    world = World(document(approval("p", required=2), activity("a"), edges="p>a"))
    world.approve("p", "ann")
    move(world, document(approval("p", required=2), activity("a"), activity("b"), edges="p>a a>b"))
    assert "approval.voided" not in world.kinds()
    world.approve("p", "bob")
    assert world.statuses["p"] == "succeeded"
    proved(world)


@pytest.mark.parametrize(
    "changed",
    [approval("p", required=1), approval("p", label="Boss"), approval("p", shows={"What": "=input.amount"})],
)
def test_an_open_approval_that_changed_is_asked_again(changed: JSON) -> None:
    world = World(document(approval("p", required=2), input=FORM), {"amount": 5})
    world.approve("p", "ann")
    old = world.vote("p", "bob")
    move(world, document(changed, input=FORM))
    assert world.step("p").generation == 2
    approval_ = world.step("p").approval
    assert approval_ is not None
    assert approval_.votes == ()
    assert world.no(old).code
    world.approve("p", "ann")
    proved(world)


def test_an_approval_under_a_new_id_is_asked_again() -> None:
    world = World(document(approval("p")))
    move(world, document(approval("boss")), {"p": "boss"})
    assert world.statuses == {"boss": "waiting"}
    world.approve("boss", "ann")
    assert world.run == "succeeded"
    proved(world)


def test_an_open_form_that_changed_is_asked_again() -> None:
    world = World(document(form("f"), activity("a"), edges="f>a"))
    move(world, document(form("f", label="Details"), activity("a"), edges="f>a"))
    assert world.step("f").generation == 2
    move(world, document(form("f", label="Details"), activity("b"), edges="f>b"))
    assert world.step("f").generation == 2
    proved(world)


def test_changed_input_is_shown_and_asked_about_again() -> None:
    world = World(document(approval("p"), input=FORM), {"amount": 5})
    more = [*FORM, {"name": "currency"}]
    assert world.no(world.migration(document(approval("p"), input=more))).code == "input_does_not_fit"
    move(world, document(approval("p"), input=more), None, {"currency": "= 'EUR'", "amount": "= input.amount * 2.0"})
    assert world.state.input == {"amount": 10.0, "currency": "EUR"}
    assert world.step("p").generation == 2
    proved(world)


def test_a_waiting_attempt_is_scheduled_again_only_where_it_changed() -> None:
    world = World(document(activity("a"), activity("b")))
    move(world, document(activity("a"), activity("b", input={"x": 1})))
    assert (world.step("a").generation, world.step("b").generation) == (1, 2)
    world.done("a", "b")
    proved(world)


def test_a_stalled_run_is_mended_by_a_version_that_handles_the_failure() -> None:
    world = World(document(once("a"), activity("b"), edges="a>b"))
    world.breaks("a")
    assert world.run == "stalled"
    move(world, document(once("a"), activity("b"), activity("mend"), edges="a>b a:failed>mend"))
    assert world.statuses == {"a": "failed", "b": "not_taken", "mend": "scheduled"}
    world.done("mend")
    assert world.run == "succeeded"
    proved(world)


def test_a_stalled_run_stays_stalled_where_nothing_is_mended_and_can_be_retried() -> None:
    world = World(document(once("a"), activity("b"), edges="a>b"))
    world.breaks("a")
    move(world, document(activity("a"), activity("b"), edges="a>b"))
    assert world.run == "stalled"
    world.ok(world.retry("a"))
    world.done("a", "b")
    proved(world)


def test_a_removed_step_that_was_done_comes_back_done_with_another_plan() -> None:
    first, second = document(*map(activity, "abc"), edges="a>b b>c"), document(*map(activity, "ac"), edges="a>c")
    world = World(first)
    world.done("a", "b", output={"n": 7})
    move(world, second)
    assert set(world.state.retired) == {"b"}
    proved(world)
    move(world, first)
    assert world.statuses == {"a": "succeeded", "b": "succeeded", "c": "scheduled"}
    assert world.state.outputs["b"] == {"n": 7}
    assert not world.state.retired
    world.done("c")
    proved(world)


def test_a_paused_run_moves_and_stays_paused() -> None:
    world = World(document(wait("w", "PT1H")))
    world.later(minutes=10)
    world.pause()
    move(world, document(wait("w", "PT1H"), activity("a")))
    assert world.run == "paused"
    world.later(hours=5)
    world.resume()
    assert world.step("w").due == world.now + timedelta(minutes=50)
    world.fire("w")
    world.done("a")
    proved(world)


def test_branches_are_decided_again_only_where_their_edges_changed() -> None:
    links = [edge("a>b", when="input.amount > 10.0"), edge("a>c", otherwise=True)]
    world = World(document(*map(activity, "abc"), edges=links, input=FORM), {"amount": 5})
    world.done("a")
    assert world.statuses["c"] == "scheduled"
    links = [edge("a>b", when="input.amount > 1.0"), edge("a>c", otherwise=True)]
    move(world, document(*map(activity, "abc"), edges=links, input=FORM))
    assert world.statuses == {"a": "succeeded", "b": "scheduled", "c": "scheduled"}, "what began goes on"
    proved(world)


def working() -> World:
    world = World(document(activity("a"), approval("p")))
    world.claim("a")
    return world


def test_work_under_way_keeps_a_run_where_it_is() -> None:
    world = working()
    assert world.no(world.migration(document(activity("a")))).code == "effect_under_way"


def test_a_probe_under_way_keeps_a_run_where_it_is_unless_the_step_stays_as_it_is() -> None:
    world = World(document(checked("a"), activity("b")))
    world.claim("a")
    world.ok(world.lost("a"))
    for target in (document(activity("a"), activity("b")), document(activity("b"))):
        assert world.no(world.migration(target)).code == "probe_under_way"
    move(world, document(checked("a"), activity("b"), activity("c")))
    world.fire("a")
    assert world.step("a").status == "scheduled"
    proved(world)


def fresh() -> World:
    return World(document(activity("a"), approval("p"), wait("w")))


def tried() -> World:
    world = World(document(once("a"), approval("p"), wait("w")))
    world.breaks("a")
    return world


@pytest.mark.parametrize(
    ("world", "target", "steps", "code"),
    [
        (fresh, document(activity("a"), wait("w")), {}, "step_removed"),
        (fresh, document(activity("a"), approval("p")), {"w": ""}, "step_removed"),
        (fresh, document(activity("a"), approval("w"), approval("p")), {}, "kind_changed"),
        (fresh, document(activity("a"), wait("w"), approval("p"), approval("x")), {"nobody": "x"}, "invalid_plan"),
        (fresh, document(activity("a"), wait("w"), approval("p")), {"p": "nobody"}, "invalid_plan"),
        (fresh, document(activity("a"), wait("w"), wait("v"), approval("x")), {"p": "w"}, "invalid_plan"),
        (tried, document(once("b"), approval("p"), wait("w")), {"a": "b"}, "tried_before"),
    ],
)
def test_what_cannot_be_mapped_is_refused(world: Any, target: JSON, steps: dict[str, str], code: str) -> None:
    made = world()
    assert made.no(made.migration(target, steps)).code == code


def test_a_plan_is_for_one_version_some_states_and_what_was_seen() -> None:
    world, target = fresh(), document(activity("a"), approval("p"), wait("w"), activity("z"))
    good = world.migration(target)
    covers = replace(good, migration=replace(good.migration, covers=(RunStatus.STALLED,)))
    assert world.no(covers).code == "not_covered"
    other = replace(good, migration=replace(good.migration, source="sha256:0"))
    assert world.no(other).code == "other_version"
    assert world.no(replace(good, reason=" ")).code == "no_reason"
    assert world.no(replace(good, seen_sequence=1)).code == "changed_meanwhile"
    world.ok(replace(good, seen_sequence=world.state.sequence))
    again = world.no(good)
    assert (again.code, again.known) == ("already_there", True)


def test_an_input_mapping_that_says_nothing_is_refused() -> None:
    world = World(document(approval("p"), input=FORM), {"amount": 5})
    more = world.migration(document(approval("p"), activity("a"), input=FORM), None, {"amount": "= input.nothing"})
    assert world.no(more).code == "input_mapping"


def test_a_proposal_recognises_renamed_steps() -> None:
    old, new = plan_of(document(approval("p", label="Boss"))), plan_of(document(approval("q", label="Boss")), 2)
    plan = propose(old, new)
    assert plan.steps == {"p": "q"}
    assert plan_problems(plan, old, new) == ()
    assert plan.digest == propose(old, new).digest != replace(plan, steps={}).digest
    same = MigrationPlan(old.digest, old.digest)
    assert [p.code for p in plan_problems(same, old, old)] == ["same_version"]


def test_going_there_and_back_again_with_every_kind_of_step() -> None:
    doc = document(*map(activity, "ab"), approval("p"), wait("w"), edges="a>b p>b w>b")
    world = World(doc)
    world.done("a")
    for n in range(4):
        definition = replace(world.plan.definition, description=f"Number {n}.")
        move(world, write_document(definition))
    world.approve("p", "ann")
    world.fire("w")
    world.done("b")
    assert world.run == "succeeded"
    assert isinstance(world.migration(doc), c.MigrateRun)
    proved(world)


ROWS = [{"name": "rows", "type": "list"}]
RETRIES = {"max_attempts": 3, "initial_s": 10.0, "jitter": 0.0}


def copying(**more: Any) -> JSON:
    each = {"items": "input.rows", "parallel": 1}
    return activity("copy", **{"for_each": each, "input": {"row": "=item"}, "retry": RETRIES, **more})


def half_done() -> World:
    world = World(document(copying(), activity("tell"), edges="copy>tell", input=ROWS), {"rows": [1, 2, 3]})
    world.item_done("copy", 0, {"n": 1})
    return world


def test_a_list_that_is_half_done_goes_on_where_nothing_of_it_changed() -> None:
    world = half_done()
    move(world, document(copying(), activity("check"), activity("tell"), edges="copy>check check>tell", input=ROWS))
    assert world.step("copy").generation == 1
    world.item_done("copy", 1, {"n": 2})
    world.item_done("copy", 2, {"n": 3})
    assert world.state.outputs["copy"] == [{"n": 1}, {"n": 2}, {"n": 3}]
    world.done("check", "tell")
    assert world.run == "succeeded"
    proved(world)


@pytest.mark.parametrize("tried", ["done", "failed once", "failed for good"])
@pytest.mark.parametrize("change", ["config", "id", "input"])
def test_a_list_that_is_half_done_does_not_begin_again(tried: str, change: str) -> None:
    """Its first items would be called for once more, whatever their effect allows."""
    world = World(document(copying(), input=ROWS), {"rows": [1, 2, 3]})
    if tried == "done":
        world.item_done("copy", 0)
    else:
        world.ok(world.item_failure("copy", 0, retryable=tried == "failed once"))
    if world.step("copy").status == "failed":
        return  # over: an operator retries it under the version it moves to
    target: JSON = document(copying(), input=ROWS)
    steps, mapping = {}, None
    if change == "config":
        target = document(copying(input={"row": "=item", "more": 1}), input=ROWS)
    elif change == "id":
        target, steps = document({**copying(), "id": "copied", "label": "Copied"}, input=ROWS), {"copy": "copied"}
    else:
        target = document({**copying(), "label": "Copies"}, input=ROWS)
        mapping = {"rows": "= [7, 8]"}
    refused = world.no(world.migration(target, steps, mapping))
    assert refused.code in ("list_half_done", "tried_before")
    assert "first item" in refused.message or "idempotency key" in refused.message


def test_a_list_of_which_nothing_was_tried_begins_again_with_what_changed() -> None:
    world = World(document(copying(), input=ROWS), {"rows": [1, 2]})
    move(world, document(copying(input={"row": "=item", "more": 1}), input=ROWS))
    assert world.step("copy").generation == 2
    world.item_done("copy", 0)
    world.item_done("copy", 1)
    assert world.run == "succeeded"
    proved(world)
