"""Subflow steps: one child per generation, its end, and what is done to it with its parent."""

from __future__ import annotations

import pytest

from signoff.core import commands as c
from signoff.core.checks.subflows import MAX_DEPTH
from signoff.core.decide import decide
from signoff.core.definition import Field
from signoff.core.document import read_document, write_document
from signoff.core.effects import ChildEnded, ChildMoved, ChildStart
from signoff.core.events import Event
from signoff.core.evolve import replay
from signoff.core.facts import Facts
from signoff.core.react import react
from signoff.core.states import RunState
from signoff.core.validate import KnownDefinition, KnownVersion, Surroundings, validate
from tests.core.kit import DIRECTORY, JSON, OPERATOR, START, World, activity, document, edge, person, plan_of, subflow


def effects(world: World, command: c.Command) -> list[object]:
    before = world.state
    events: tuple[Event, ...] = world.ok(command)
    kinds = (ChildStart, ChildMoved, ChildEnded)
    return [x for x in react(world.plan, before, world.state, events) if isinstance(x, kinds)]


def waiting(**more: object) -> World:
    form = [{"name": "n", "type": "integer"}]
    return World(
        document(subflow("s", input={"n": "=input.n"}, **more), activity("b"), edges="s>b", input=form), {"n": 7}
    )


def test_a_child_is_asked_for_and_its_output_is_the_steps() -> None:
    world = waiting()
    child = world.step("s").child
    assert len(child) == 28
    (event,) = [x for x in world.events if x.wire == "subflow.started"]
    assert (event.input, event.definition_version) == ({"n": 7}, 3)  # type: ignore[attr-defined]
    assert f"the run {child} of 'other'" in world.explain().of("s").sentence
    assert "There: Somebody is asked." in world.explain(children={child: "Somebody is asked."}).sentence
    world.ok(world.child_ended("s"))
    assert world.state.outputs["s"] == {"end": {"n": 3}}
    assert world.step("b").status == "scheduled"
    assert world.no(world.child_ended("s")).code == "obsolete_child"


@pytest.mark.parametrize("outcome", ["failed", "cancelled", "terminated", "not started"])
def test_a_child_that_ends_badly_fails_the_step_with_its_reason(outcome: str) -> None:
    world = waiting()
    first = world.step("s").child
    world.ok(world.child_ended("s", outcome))
    assert world.run == "stalled"
    assert f"The run '{first}' of 'other' ended as {outcome}: So." in world.explain().sentence
    world.ok(world.retry("s"))
    assert world.step("s").child not in ("", first)
    assert world.no(world.child_ended("s", child=first)).code == "obsolete_child"


def test_bad_ends_are_handled_by_edges() -> None:
    links = [edge("s>a"), edge("s:failed>f"), edge("s:rejected>r")]
    for outcome, taken in (("failed", "f"), ("rejected", "r"), ("succeeded", "a")):
        world = World(document(subflow("s"), *map(activity, "afr"), edges=links))
        world.ok(world.child_ended("s", outcome))
        assert [i for i, s in world.statuses.items() if s == "scheduled"] == [taken]


def test_an_unhandled_rejection_rejects_the_parent() -> None:
    world = waiting()
    world.ok(world.child_ended("s", "rejected"))
    assert world.run == "rejected"


def test_what_is_done_to_the_parent_is_done_to_the_child() -> None:
    world = waiting()
    child = world.step("s").child

    def moved(command: c.Command) -> list[str]:
        found = effects(world, command)
        assert all(isinstance(x, ChildMoved) and x.child == child and x.reason for x in found)
        return [x.do for x in found if isinstance(x, ChildMoved)]

    assert moved(c.PauseRun(actor=OPERATOR, reason="Audit.")) == ["pause"]
    assert moved(c.ResumeRun(actor=OPERATOR, reason="Over.")) == ["resume"]
    assert moved(c.CancelRun(actor=OPERATOR, reason="No.")) == ["cancel"]
    assert world.run == "cancelling"
    assert "'S'" in world.explain().sentence
    world.ok(world.child_ended("s", "cancelled"))
    assert (world.run, world.step("s").status) == ("cancelled", "cancelled")
    other = waiting()
    ends = effects(other, c.TerminateRun(actor=OPERATOR, reason="Now."))
    assert [x.do for x in ends if isinstance(x, ChildMoved)] == ["terminate"]


def test_a_child_that_nobody_waits_for_any_more_is_cancelled() -> None:
    skipped = waiting()
    assert [x.do for x in effects(skipped, skipped.skip("s")) if isinstance(x, ChildMoved)] == ["cancel"]
    raced = World(document(subflow("s"), activity("a"), activity("go", join="cancel_rest"), edges="s>go a>go"))
    raced.claim("a")
    assert [x.do for x in effects(raced, raced.completion("a")) if isinstance(x, ChildMoved)] == ["cancel"]


def test_a_child_tells_its_parent_how_it_ended() -> None:
    plan = plan_of(document(*map(activity, "abc"), edges=[edge("a>b"), edge("a>c", when="false")]))
    start = c.StartRun(
        actor=person("dan"), run_id="r-child", tenant="t", parent="r-up", parent_step="s", parent_generation=2, depth=1
    )
    world = World(document(activity("a")))
    world.plan, world.state = plan, RunState()
    answer = decide(plan, RunState(), start, Facts(START, 0.0, DIRECTORY))
    assert isinstance(answer, tuple)
    state, events = answer
    assert (state.parent, state.depth) == ("r-up", 1)
    assert replay(plan, events) == state
    for step in "ab":
        for command in (
            c.ClaimActivity(actor=OPERATOR, step=step, generation=1, attempt=1),
            c.CompleteActivity(actor=OPERATOR, step=step, generation=1, attempt=1, fence=1, output={"of": step}),
        ):
            before = state
            answer = decide(plan, state, command, Facts(START, 0.0, DIRECTORY))
            assert isinstance(answer, tuple)
            state, events = answer
    (told,) = [x for x in react(plan, before, state, events) if isinstance(x, ChildEnded)]
    assert told == ChildEnded("r-up", "s", 2, "r-child", "succeeded", "", {"b": {"of": "b"}})


def test_runs_that_are_too_deep_do_not_start_another() -> None:
    plan = plan_of(document(subflow("s")))
    start = c.StartRun(actor=person("dan"), run_id="r1", tenant="t", parent="r0", parent_step="s", depth=MAX_DEPTH)
    answer = decide(plan, RunState(), start, Facts(START, 0.0, DIRECTORY))
    assert isinstance(answer, tuple)
    assert answer[0].steps["s"].error.code == "too_deep"  # type: ignore[union-attr]


FORM = (Field("n"), Field("m", required=False))


def known(**children: tuple[tuple[str, int], ...]) -> Surroundings:
    found = {name: KnownDefinition(1, {1: KnownVersion("sha256:x", FORM, below)}) for name, below in children.items()}
    return Surroundings(definitions=found)


def problems(around: Surroundings, **more: object) -> set[str]:
    step: JSON = {"id": "s", "kind": "subflow", "label": "S", "definition": "other", "input": {"n": 1}, **more}
    definition, read = read_document(document(step))
    assert definition is not None
    return {p.code for p in (*read, *validate(definition, around))}


CHAIN = {f"d{i}": ((f"d{i + 1}", 1),) for i in range(5)} | {"d5": ()}


@pytest.mark.parametrize(
    ("around", "more", "code"),
    [
        (known(other=()), {"definition": ""}, "no_definition"),
        (known(other=()), {"definition": "sample"}, "subflow_cycle"),
        (known(other=()), {"definition": "none"}, "unknown_definition"),
        (known(other=()), {"version": 9}, "unknown_version"),
        (known(other=(("sample", 1),), sample=()), {}, "subflow_cycle"),
        (known(other=(("sample", 1),)), {}, "subflow_cycle"),
        (known(**CHAIN), {"definition": "d0"}, "too_deep"),
        (known(other=()), {"input": {}}, "missing_field"),
        (known(other=()), {"input": {"n": 1, "x": 2}}, "unknown_field"),
        (known(other=()), {"input": {"n": "=input.nothing"}}, "unknown_input"),
    ],
)
def test_what_is_wrong_with_a_subflow(around: Surroundings, more: JSON, code: str) -> None:
    assert code in problems(around, **more)


def test_what_is_right() -> None:
    assert problems(known(other=())) == set()
    assert problems(known(**CHAIN), definition="d1") == set()
    definition, _ = read_document(document(subflow("s", input={"n": 1})))
    assert definition is not None
    assert read_document(write_document(definition))[0] == definition


def test_a_child_that_is_overtaken_as_it_begins_is_cancelled_too() -> None:
    """Found by the simulation (seed 3117): both begin after 'a', and the join goes on at once."""
    world = World(document(activity("a"), subflow("s"), activity("j", join="cancel_rest"), edges="a>s a>j s>j"))
    world.claim("a")
    started, moved = effects(world, world.completion("a"))
    assert world.statuses["s"] == "cancelled"
    assert isinstance(started, ChildStart)
    assert isinstance(moved, ChildMoved)
    assert (moved.child, moved.do) == (started.child, "cancel")
