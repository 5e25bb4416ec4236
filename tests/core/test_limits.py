"""Limits of a tenant: read and written, and what the core does when a run has used up what it may."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core import commands as c
from signoff.core.codec import decode_snapshot, encode_snapshot
from signoff.core.decide import decide
from signoff.core.document import read_document
from signoff.core.evolve import evolve
from signoff.core.explain import explain
from signoff.core.facts import Facts
from signoff.core.limits import UNLIMITED, Limits, Share, read_limits, write_limits
from signoff.core.plan import Plan, compile_plan
from signoff.core.rejection import Rejection
from signoff.core.states import Actor, RunState, TimerKind
from signoff.core.validate import Surroundings, validate

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
OLGA = Actor("person", "olga")
CLOCK = Actor("system", "timers")
COUNTS = st.none() | st.integers(0, 10**9)
SHARES = st.builds(Share, COUNTS, st.none() | st.integers(1, 10**9))


@given(
    st.builds(
        Limits,
        steps=st.integers(1, 20),
        depth=st.integers(1, 20),
        open_runs=COUNTS,
        starts_per_minute=COUNTS,
        armed_timers=COUNTS,
        events_per_run=st.none() | st.integers(100, 10**9),
        run_time=st.sampled_from(["", "P90D", "PT1H", "P5D working"]),
        activities=SHARES,
        pools=st.dictionaries(st.text(min_size=1, max_size=5), SHARES, max_size=3),
        connectors=st.dictionaries(st.text(min_size=1, max_size=5), SHARES, max_size=3),
        weight=st.integers(1, 1000),
    )
)
def test_what_is_written_is_read_again(limits: Limits) -> None:
    assert read_limits(write_limits(limits)) == (limits, ())


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"runs": 1}, "no limit 'runs'"),
        ({"open_runs": -1}, "'open_runs' must be a whole number from 0"),
        ({"open_runs": True}, "'open_runs'"),
        ({"open_runs": "3"}, "'open_runs'"),
        ({"steps": None}, "'steps' must be a whole number from 1 to 20."),
        ({"steps": 21}, "'steps'"),
        ({"events_per_run": 99}, "from 100"),
        ({"run_time": "soon"}, "'run_time'"),
        ({"run_time": 3}, "'run_time'"),
        ({"run_time": "PT0S"}, "over at once"),
        ({"activities": 3}, "'activities' must be an object"),
        ({"pools": {"ml": {"at_once": 1.5}}}, "'pools.ml.at_once'"),
        ({"pools": {"ml": {"most": 1}}}, "'pools.ml' must be an object"),
        ({"connectors": []}, "'connectors' must be an object"),
        ({"weight": 0}, "'weight'"),
    ],
)
def test_a_limit_that_cannot_be_read_is_named_and_nothing_is_taken(document: dict[str, Any], said: str) -> None:
    limits, problems = read_limits({"open_runs": 5, **document})
    assert limits == UNLIMITED
    assert any(said in p for p in problems), problems


def test_every_problem_is_told_at_once() -> None:
    _, problems = read_limits({"open_runs": -1, "weight": 0, "pools": {"a": {"at_once": -1}, "b": {"per_minute": 0}}})
    assert len(problems) == 4


def plan_of(*steps: dict[str, Any], **policies: Any) -> Plan:
    edges = [{"from": a["id"], "to": b["id"]} for a, b in itertools.pairwise(steps)]
    document = {"name": "x", "title": "X", "policies": policies, "steps": list(steps), "edges": edges}
    definition, problems = read_document(document)
    assert definition is not None
    assert problems == ()
    return compile_plan(definition, "sha256:0", 1)


def wait(name: str, **duration: Any) -> dict[str, Any]:
    return {"id": name, "kind": "wait", "label": name, **(duration or {"duration": "P400D"})}


class Played:
    """One run under limits, on a clock that is moved; every state is also what its events and snapshot give."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan, self.limits, self.now = plan, limits, NOON
        self.state, self.events = RunState(), []
        self.send(c.StartRun(actor=OLGA, run_id="r", tenant="t", input={}, business_key=""))

    def send(self, command: c.Command) -> Rejection | None:
        result = decide(self.plan, self.state, command, Facts(self.now, 0.0, limits=self.limits))
        if isinstance(result, Rejection):
            return result
        self.state, events = result
        self.events += events
        state = RunState()
        for event in self.events:
            state = evolve(self.plan, state, event)
        assert state == self.state
        assert decode_snapshot(encode_snapshot(state), self.events[:1]) == state
        return None

    def deadline(self) -> Rejection | None:
        return self.send(c.FireTimer(actor=CLOCK, step="", timer=TimerKind.DEADLINE, generation=0, attempt=0))

    def to(self, days: float) -> None:
        self.now = NOON + timedelta(days=days)


def test_a_long_run_is_paused_and_an_operator_lets_it_go_on() -> None:
    run = Played(plan_of(wait("w")), Limits(run_time="P90D"))
    assert run.state.deadline == NOON + timedelta(days=90)
    assert "paused" in explain(run.plan, run.state).next
    run.to(89)
    assert run.deadline() is not None
    run.to(90)
    assert run.deadline() is None
    assert run.state.status == "paused"
    assert "P90D" in run.state.reason
    assert not run.state.overdue
    assert run.send(c.ResumeRun(actor=OLGA, reason="it may")) is None
    assert run.state.status == "running"
    assert run.state.deadline is None
    run.to(400)
    assert run.deadline() is not None


@pytest.mark.parametrize(("own", "first"), [("P10D", "own"), ("P90D", "own"), ("P100D", "limit")])
def test_the_earlier_of_two_deadlines_comes_first_and_the_other_is_not_lost(own: str, first: str) -> None:
    run = Played(plan_of(wait("w"), deadline=own, on_deadline="fail"), Limits(run_time="P90D"))
    run.to(30)
    run.send(c.PauseRun(actor=OLGA, reason="holiday"))
    run.to(35)
    run.send(c.ResumeRun(actor=OLGA, reason="back"))
    if first == "own":
        assert not run.state.capped
        run.to(100)
        run.deadline()
        assert run.state.status == "failed"
        return
    run.to(95)
    assert run.deadline() is None
    assert run.state.status == "paused"
    run.to(97)
    run.send(c.ResumeRun(actor=OLGA, reason="go on"))
    assert run.state.deadline == NOON + timedelta(days=100 + 5 + 2)
    run.to(107)
    run.deadline()
    assert run.state.status == "failed"


def test_a_history_that_grows_too_long_is_paused_each_time() -> None:
    run = Played(plan_of(wait("w")), Limits(events_per_run=100))
    paused = []
    for _ in range(160):
        before = run.state.sequence
        send = c.ResumeRun if run.state.status == "paused" else c.PauseRun
        assert run.send(send(actor=OLGA, reason="again")) is None
        if run.events[-1].wire == "run.paused" and run.events[-1].actor.id == "limits":
            paused.append(run.state.sequence)
            assert "100" in run.state.reason
            assert run.state.sequence == before + 2
    assert paused
    assert [n // 100 for n in paused] == sorted({n // 100 for n in paused})


def test_without_a_limit_nothing_is_paused() -> None:
    run = Played(plan_of(wait("w")), Limits(events_per_run=None))
    for _ in range(60):
        run.send(c.PauseRun(actor=OLGA, reason="a"))
        run.send(c.ResumeRun(actor=OLGA, reason="b"))
    assert all(getattr(e, "actor", OLGA).id != "limits" for e in run.events)


def test_size_and_depth_are_checked_when_a_definition_is_validated() -> None:
    definition = plan_of(wait("a"), wait("b"), wait("d")).definition
    codes = {p.code for p in validate(definition, Surroundings(limits=Limits(steps=2, depth=3)))}
    assert "too_many_steps" in codes
    assert "too_deep" not in codes
    codes = {p.code for p in validate(definition, Surroundings(limits=Limits(depth=2)))}
    assert "too_deep" in codes
    assert "too_many_steps" not in codes
