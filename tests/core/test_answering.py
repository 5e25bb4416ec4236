"""One rule says who may answer: decisions, explanations and inboxes cannot say different things."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.core.answering import missing_answers, who_may_answer, why_not
from signoff.core.decide import decide
from signoff.core.definition import StepKind
from signoff.core.facts import Facts
from signoff.core.rejection import Rejection
from tests.core.kit import DIRECTORY, JSON, PEOPLE, World, activity, approval, document, form
from tests.core.strategies import MOVES, documents, inputs
from tests.core.test_properties import one_command


def agree(world: World, step: str) -> None:
    """Whoever is named may answer and whoever may answer is named, by the core's own answer to trying it."""
    told = world.explain().of(step).waits_for
    is_form = world.plan.steps[step].kind is StepKind.FORM
    shown = world.step(step).approval
    assert shown is not None
    for who in PEOPLE:
        command = world.submission(step, who) if is_form else world.vote(step, who)
        command = replace(command, shown_digest=shown.shown_digest)
        tried = decide(world.plan, world.state, command, Facts(world.now, 0.0, world.directory))
        asked = why_not(world.plan, world.state, step, who, active=world.directory.people, now=world.now)
        if isinstance(tried, Rejection):
            assert asked is not None
            assert (asked.code, asked.message) == (tried.code, tried.message)
        else:
            assert asked is None
        late = asked is not None and asked.code == "expired"
        assert late or (who in told) == (asked is None) or world.run == "paused"
        assert (who in told) == (who in who_may_answer(world.plan, world.state, step))
        reader = world.explain(reader=who).of(step).actions
        assert ({"decide", "submit_form"} & set(reader) != set()) == (who in told and world.run != "paused")


@settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))
@given(
    doc=documents(),
    input=inputs(),
    by=st.sampled_from(["dan", "ann"]),
    acts=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 999), st.sampled_from(MOVES[:3])), min_size=10, max_size=30
    ),
)
def test_what_is_said_and_what_is_accepted_agree(
    doc: JSON, input: JSON, by: str, acts: list[tuple[int, int, timedelta]]
) -> None:
    world = World(doc, input, by=by)
    for kind, pick, move in acts:
        world.now += move
        world.send(one_command(world, kind, pick))
        for i, s in world.state.steps.items():
            if s.approval and s.status == "waiting":
                agree(world, i)


def open_together() -> World:
    """`q` must differ from `p`, and both wait at the same time: another way into `q` was there first."""
    doc = document(
        activity("a"),
        approval("p", required=2),
        approval("q", join="any", deciders_differ_from=["p"]),
        edges="a>q p>q",
    )
    world = World(doc)
    world.done("a")
    assert (world.step("p").status, world.step("q").status) == ("waiting", "waiting")
    return world


def test_who_decided_a_step_that_must_differ_is_not_named_in_the_other_one() -> None:
    """The seed that showed it: explain named Ann for `q`, and her decision there was refused."""
    world = open_together()
    world.approve("p", "ann")
    agree(world, "q")
    told = world.explain().of("q")
    assert told.waits_for == ("bob", "cem")
    assert "Ann" not in told.sentence
    assert world.explain(reader="ann").of("q").actions == ("reassign_step",)
    refused = world.no(world.vote("q", "ann"))
    assert refused.message == "You decided another step of this run, so you may not decide 'Q' as well."
    world.approve("q", "bob")
    agree(world, "p")
    assert world.explain().of("p").waits_for == ("cem",)


@pytest.mark.parametrize(
    ("active", "votes", "missing"),
    [("abc", "", -1), ("ab", "", 0), ("a", "", 1), ("b", "a+", 0), ("", "a+", 1), ("bc", "a-", 0), ("c", "a-", 1)],
)
def test_how_many_answers_are_missing(active: str, votes: str, missing: int) -> None:
    """Two of Ann, Bob, Cem are needed; a vote counts although its voter has left since."""
    world = World(document(approval("p", required=2)))
    names = {"a": "ann", "b": "bob", "c": "cem"}
    for vote in votes.split():
        world.ok(world.vote("p", names[vote[0]], "approved" if vote[1] == "+" else "rejected"))
    assert missing_answers(world.plan, world.state, "p", [names[x] for x in active]) == missing


def test_nobody_may_answer_what_does_not_wait() -> None:
    world = World(document(approval("p"), form("f"), edges="p>f"))
    assert who_may_answer(world.plan, world.state, "f") == ()
    refused = why_not(world.plan, world.state, "f", "ann")
    assert refused is not None
    assert refused.message == "'F' is not open to be filled in; it is pending."
    assert why_not(world.plan, world.state, "p", "ann", active=DIRECTORY.people) is None
    gone = why_not(world.plan, world.state, "p", "ann", active=["bob"])
    assert gone is not None
    assert gone.code == "not_an_approver"
    world.pause()
    held = why_not(world.plan, world.state, "p", "ann")
    assert held is not None
    assert held.code == "paused"
