"""Random valid definitions under random commands: the invariants of reliability §1.3 hold after every event."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.core import commands as c
from signoff.core.definition import StepKind
from signoff.core.facts import Directory
from signoff.core.implied import implied_signal
from signoff.core.quorum import person_key
from signoff.core.rejection import Rejection
from signoff.core.states import RunState, waits_for_child
from tests.core.checks import Ledger
from tests.core.kit import DIRECTORY, JSON, OPERATOR, WORKER, World
from tests.core.policies import fills
from tests.core.strategies import MOVES, documents, inputs, mischief, rare, sensible

SETTINGS = settings(deadline=None, max_examples=250, suppress_health_check=list(HealthCheck))


def one_command(world: World, kind: int, pick: int) -> c.Command:
    honest = sensible(world)
    if kind < 7 and honest:
        return honest[pick % len(honest)]
    if kind == 9 and pick % 3 == 0:
        unusual = rare(world)
        return unusual[pick // 3 % len(unusual)]
    wild = list(mischief(world))
    return wild[pick % len(wild)]


Acts = list[tuple[int, int, timedelta]]
ACTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 999), st.sampled_from(MOVES)), min_size=15, max_size=45)


@SETTINGS
@given(doc=documents(), input=inputs(), by=st.sampled_from(["dan", "ann"]), acts=ACTS)
def test_every_run_keeps_the_invariants(doc: JSON, input: JSON, by: str, acts: Acts) -> None:
    world = World(doc, input, by=by)
    after_the_end = 0
    for kind, pick, move in acts:
        after_the_end += world.state.is_terminal
        if after_the_end > 4:
            break
        world.now += move
        world.jitter = (pick % 10) / 10
        answer = world.send(one_command(world, kind, pick))
        if isinstance(answer, Rejection):
            assert answer.code
            assert answer.message.endswith((".", "!", "?"))
    see_it_through(world)


def see_it_through(world: World) -> None:
    """With faults over and everybody at work, each run ends or waits for an operator."""
    for _ in range(60):
        if world.state.is_terminal:
            return
        if world.run == "paused":
            world.resume()
            continue
        if world.run == "stalled":
            assert any(s.status in ("failed", "expired", "outcome_unknown") for s in world.state.steps.values())
            return
        for i, s in world.state.steps.items():
            now = world.step(i)
            if now is not s:
                continue
            if s.status == "scheduled":
                world.done(i, output={"n": 3})
            elif s.status == "running":
                world.ok(world.completion(i, {"n": 3}))
            elif s.approval and s.status == "waiting" and (s.due is None or s.due > world.now):
                told = world.explain().of(i)
                assert told.waits_for
                if world.plan.steps[i].kind is StepKind.FORM:
                    world.ok(world.submission(i, told.waits_for[0]))
                else:
                    world.approve(i, told.waits_for[0])
            elif waits_for_child(s):
                world.ok(world.child_ended(i))
            elif implied_signal(world.plan, world.state, i) and (s.due is None or s.due > world.now):
                world.ok(world.message(i))
            elif s.timer:
                world.fire(i)
    raise AssertionError(f"still going on: {dict(world.statuses)}")


@SETTINGS
@given(doc=documents(most=4), input=inputs(), gone=st.sets(st.sampled_from(["ann", "bob", "cem", "eve"]), min_size=1))
def test_people_who_leave_never_lose_an_approval(doc: JSON, input: JSON, gone: set[str]) -> None:
    """Semantics §7: where a quorum cannot be met any more, the step says so and the run stalls or fails."""
    world = World(doc, input)
    left = {k: v for k, v in DIRECTORY.people.items() if k not in gone}
    groups = {g: tuple(m for m in members if m not in gone) for g, members in DIRECTORY.groups.items()}
    world.directory = Directory(8, groups, left)
    for i in list(world.state.steps):
        answer = world.send(c.CheckApprovers(actor=OPERATOR, step=i))
        s = world.step(i)
        if not isinstance(answer, Rejection):
            assert s.error is not None
            assert s.error.code == "no_approver"
            said = world.explain().of(i).sentence
            assert "No approver" in said or "Nobody of those asked can fill it in" in said
        elif s.approval and s.status == "waiting":
            usable = [p for p in s.approval.roster if p not in gone]
            allowed = [p for p in usable if s.approval.requester_may_decide or p != "dan"]
            if s.approval.quotas:
                everybody = {p for q in s.approval.quotas for p in q.people} - gone
                assert fills(s.approval.quotas, frozenset(map(person_key, everybody)))
            else:
                assert len(allowed) >= s.approval.required


def test_the_checks_can_fail() -> None:
    """A ledger that is shown a wrong state objects."""
    world = World({"name": "x", "title": "X", "steps": [_work()], "edges": []}, {})
    for wrong in (
        replace(world.state, reason="made up"),
        replace(world.state, sequence=9),
        replace(world.state, steps={"a": replace(world.step("a"), fence=4)}),
    ):
        with pytest.raises(AssertionError):
            Ledger(world.plan).follow(RunState(), wrong, world.events, [])


def _work() -> JSON:
    return {"id": "a", "kind": "activity", "label": "A", "connector": "python:work"}


def test_a_fence_granted_twice_is_noticed() -> None:
    world = World({"name": "x", "title": "X", "steps": [_work()], "edges": []}, {})
    world.ledger.fences["a"] = [5]
    command = c.ClaimActivity(actor=WORKER, step="a", generation=1, attempt=1)
    with pytest.raises(AssertionError, match="granted twice"):
        world.send(command)
