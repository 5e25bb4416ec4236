"""Exhaustive search of a small world: one run, two workers, two approvers, timers, an operator.

Every action that anybody could take is tried in every state that can be reached, with crashes, duplicates and
late messages among them; states are compared without absolute times. ``python -m tests.core.small_world 100000``
searches until that many distinct states have been seen.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide import decide
from signoff.core.evolve import replay
from signoff.core.explain import explain
from signoff.core.facts import Facts
from signoff.core.plan import Plan
from signoff.core.rejection import Rejection
from signoff.core.states import ApprovalState, ErrorInfo, RunState, StepState, TimerKind
from tests.core.checks import again, check_joins, check_way_forward
from tests.core.kit import CLOCK, DIRECTORY, OPERATOR, START, WORKER, activity, approval, document, person, plan_of

DOCUMENT = document(
    activity(
        "a",
        retry={"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0},
        timeouts={"run_s": 20.0},
        compensation={"connector": "python:undo", "retry": {"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0}},
    ),
    approval("p", ("pair",), required=2, expires="PT1H", returns_to=["a"], max_rounds=2, skip={"allowed": True}),
    activity("b", effect="at_most_once", retry={"max_attempts": 1}, timeouts={"run_s": 20.0}),
    activity("c", join="any", retry={"max_attempts": 1}, timeouts={"run_s": 20.0}),
    edges="a>p p>b p:expired>c b>c",
)
WORKERS = (WORKER, replace(WORKER, id="w2"))
Claim = tuple[str, int, int, int]


@dataclass(frozen=True)
class Node:
    """A reachable state: the run, the clock, and every claim that a worker may still answer."""

    state: RunState
    now: datetime
    claims: tuple[Claim, ...] = ()


@dataclass
class Search:
    """What has been seen."""

    plan: Plan
    generations: int
    claims: int
    seen: set[bytes] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    depth: int = 0
    transitions: int = 0


def run_search(most: int, *, generations: int = 3, claims: int = 4) -> Search:
    """Breadth-first search until `most` distinct states were seen or none is left.

    Args:
        most: stop at so many.
        generations: retries beyond this generation of a step are not followed.
        claims: nor are runs with more claims than this.

    Raises:
        AssertionError: a state breaks an invariant.
    """
    search = Search(plan_of(DOCUMENT), generations, claims)
    start = c.StartRun(actor=person("dan"), run_id="r1", tenant="t")
    first = _after(search, Node(RunState(), START), start)
    assert first is not None
    todo = deque([(first, 1)])
    search.seen.add(_key(first))
    while todo and len(search.seen) < most:
        node, depth = todo.popleft()
        if depth > search.depth:
            print(f"depth {depth}: {len(search.seen)} states", file=sys.stderr)
        search.depth = depth
        for now, command in _actions(search.plan, node):
            new = _after(search, replace(node, now=now), command)
            if new is None or not _small(search, new):
                continue
            key = _key(new)
            if key not in search.seen:
                search.seen.add(key)
                todo.append((new, depth + 1))
    return search


def _small(search: Search, node: Node) -> bool:
    few = all(s.generation <= search.generations for s in node.state.steps.values())
    return few and len(node.claims) <= search.claims


def _after(search: Search, node: Node, command: c.Command) -> Node | None:
    """The node behind an accepted command, checked; None for a refusal."""
    search.transitions += 1
    before = node.state
    answer = decide(search.plan, before, command, Facts(node.now, 0.5, DIRECTORY))
    if isinstance(answer, Rejection):
        search.answers[answer.code] += 1
        return None
    search.answers["accepted"] += 1
    state, events = answer
    assert events, f"{type(command).__name__} was accepted, but nothing happened"
    assert not before.is_terminal, "a terminal run changed"
    claims = node.claims
    for event in events:
        if isinstance(event, e.ActivityStarted):
            assert all(fence < event.fence for step, _, _, fence in claims if step == event.step), "a fence came twice"
            claims = (*claims, (event.step, event.generation, event.attempt, event.fence))
        if isinstance(event, e.ActivitySucceeded):
            newest = max(fence for step, _, _, fence in claims if step == event.step)
            assert event.fence == newest, "a result of an older claim was accepted"
    assert replay(search.plan, [again(x) for x in events], before) == state, "replay does not give the state"
    check_way_forward(search.plan, state, ())
    check_joins(search.plan, state)
    assert explain(search.plan, state).sentence
    return Node(state, node.now, claims)


def _actions(plan: Plan, node: Node) -> Iterator[tuple[datetime, c.Command]]:
    state, now = node.state, node.now
    for i, s in state.steps.items():
        for worker in WORKERS[: 2 if s.status == "scheduled" else 1]:
            yield now, c.ClaimActivity(actor=worker, step=i, generation=s.generation, attempt=s.attempt)
        for kind in TimerKind:
            timer = c.FireTimer(actor=CLOCK, step=i, timer=kind, generation=s.generation, attempt=s.attempt)
            if kind is s.timer and s.due:
                yield max(now, s.due), timer
                yield now, replace(timer, generation=s.generation - 1)
            yield now, timer
        yield now, c.RetryStep(actor=OPERATOR, reason="x", step=i)
        yield now, c.SkipStep(actor=OPERATOR, reason="x", step=i)
        if s.status == "outcome_unknown":
            for happened in (True, False):
                yield now, c.ResolveOutcome(actor=OPERATOR, reason="x", step=i, happened=happened)
    for step, generation, attempt, fence in node.claims:
        claim = {"actor": WORKER, "step": step, "generation": generation, "attempt": attempt, "fence": fence}
        yield now, c.CompleteActivity(**claim, output=1)
        yield now, c.FailActivity(**claim, error=ErrorInfo("boom", "It broke."))
        yield now, c.ExpireLease(**claim)
    p = state.steps["p"]
    for who in ("ann", "bob"):
        for outcome in ("approved", "rejected", "returned"):
            for generation in (p.generation, p.generation - 1):
                vote = c.Decide(actor=person(who), step="p", generation=generation, outcome=outcome, comment="x")
                yield now, vote
    for operate in (c.PauseRun, c.ResumeRun, c.CancelRun, c.TerminateRun):
        yield now, operate(actor=OPERATOR, reason="x")
    yield now, c.CancelRun(actor=OPERATOR, reason="x", compensate=True)


def _key(node: Node) -> bytes:
    """The node without absolute times, sequence numbers and words, as a short digest."""
    state = node.state
    since = node.now - state.paused_at if state.paused_at else None
    steps = tuple(_step_key(s, node.now) for s in state.steps.values())
    status = (state.status, state.stopping, state.undo, since is not None)
    whole = (status, steps, tuple(sorted(state.edges.items())), node.claims)
    return blake2b(repr(whole).encode(), digest_size=16).digest()


def _step_key(s: StepState, now: datetime) -> object:
    due: timedelta | None = s.due - now if s.due else None
    votes = tuple((v.person, v.outcome) for v in s.approval.votes) if isinstance(s.approval, ApprovalState) else None
    code = s.error.code if s.error else ""
    return s.status, s.generation, s.round, s.attempt, s.fence, s.timer, due, s.outcome, code, s.cause, s.undo, votes


def main(most: int) -> None:
    """Search and report."""
    found = run_search(most, generations=9, claims=16)
    print(f"{len(found.seen)} states, depth {found.depth}, {found.transitions} commands, no violation")
    for code, count in found.answers.most_common():
        print(f"  {code}: {count}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
