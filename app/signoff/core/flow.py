"""How edges resolve and when a step may begin (semantics §3)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from signoff.core.definition import GOOD_OUTCOMES, Edge, Join
from signoff.core.expression import ExpressionError
from signoff.core.plan import Plan
from signoff.core.states import EdgeState, RunState

ANY = "any"


def scope_of(state: RunState) -> dict[str, Any]:
    """What expressions can read: `input`, `steps` (those that have an outcome), `run`."""
    return {
        "input": dict(state.input),
        "steps": {
            i: {"outcome": s.outcome, "output": state.outputs.get(i)} for i, s in state.steps.items() if s.outcome
        },
        "run": {"id": state.run_id, "started_by": state.started_by, "business_key": state.business_key},
    }


def handlers(plan: Plan, step: str, outcome: str) -> tuple[Edge, ...]:
    """The outgoing edges that follow `outcome` of `step` explicitly."""
    return tuple(e for e in plan.outgoing[step] if e.on in (outcome, ANY))


def is_handled(plan: Plan, step: str, outcome: str) -> bool:
    """True for a good outcome, and for a bad one that some edge follows."""
    return outcome in GOOD_OUTCOMES or bool(handlers(plan, step, outcome))


def _follows(plan: Plan, edge: Edge, outcome: str) -> bool:
    if edge.on == ANY or edge.on == outcome:
        return True
    good = plan.steps[edge.source].good_outcome
    return edge.on in ("", good) and outcome in (good, "skipped")


def resolve_edges(
    plan: Plan, state: RunState, step: str, outcome: str, output: Any = None
) -> tuple[tuple[str, str], ...]:
    """Resolve every outgoing edge of a step that ended with `outcome`.

    Args:
        plan: of the run's version.
        state: before the ending event; the step's own outcome and output are laid over it.
        step: id of the step that ends.
        outcome: how it ends.
        output: what it gives.
    """
    edges = plan.outgoing[step]
    if not edges:
        return ()
    handled = is_handled(plan, step, outcome)
    scope: dict[str, Any] | None = None
    decided: dict[str, str] = {}
    later: list[Edge] = []
    for edge in edges:
        if not _follows(plan, edge, outcome):
            decided[edge.key] = EdgeState.DEAD if handled else EdgeState.BLOCKED
        elif edge.otherwise:
            later.append(edge)
        elif edge.key in plan.conditions:
            if scope is None:
                scope = scope_of(state)
                scope["steps"][step] = {"outcome": outcome, "output": output}
            decided[edge.key] = evaluate_condition(plan, edge.key, scope)
        else:
            decided[edge.key] = EdgeState.LIVE
    for edge in later:
        siblings = {decided[e.key] for e in edges if e.on == edge.on and e.when}
        if EdgeState.ERROR in siblings:
            decided[edge.key] = EdgeState.ERROR
        else:
            decided[edge.key] = EdgeState.DEAD if EdgeState.LIVE in siblings else EdgeState.LIVE
    return tuple((e.key, str(decided[e.key])) for e in edges)


def evaluate_condition(plan: Plan, key: str, scope: Mapping[str, Any]) -> str:
    """`live`, `dead`, or `error` where a value is missing or has the wrong type."""
    try:
        return EdgeState.LIVE if plan.conditions[key].decide(scope) else EdgeState.DEAD
    except ExpressionError:
        return EdgeState.ERROR


def edges_of_untaken(plan: Plan, step: str) -> tuple[tuple[str, str], ...]:
    """A step that is not taken, or lost against another branch, lets all its edges die."""
    return tuple((e.key, str(EdgeState.DEAD)) for e in plan.outgoing[step])


def edges_of_blocked(plan: Plan, step: str) -> tuple[tuple[str, str], ...]:
    """A blocked step blocks what needs it; optional edges (`on: any`) follow every terminal outcome."""
    return tuple(
        (e.key, str(EdgeState.LIVE if e.on == ANY and not e.when else EdgeState.BLOCKED)) for e in plan.outgoing[step]
    )


class Readiness(StrEnum):
    """What the incoming edges of a pending step say."""

    NOT_YET = "not_yet"
    BEGIN = "begin"
    NOT_TAKEN = "not_taken"
    BLOCKED = "blocked"
    ERROR = "error"


def readiness(plan: Plan, state: RunState, step: str) -> Readiness:
    """Whether a pending step may begin, from its join and its incoming edges."""
    incoming = plan.incoming[step]
    if not incoming:
        return Readiness.BEGIN
    found = [state.edges.get(e.key) for e in incoming]
    early = plan.steps[step].join is not Join.ALL
    if early and EdgeState.LIVE in found:
        return Readiness.BEGIN
    if None in found:
        return Readiness.NOT_YET
    if EdgeState.BLOCKED in found:
        return Readiness.BLOCKED
    if EdgeState.ERROR in found:
        return Readiness.ERROR
    return Readiness.BEGIN if EdgeState.LIVE in found else Readiness.NOT_TAKEN


def blocking_cause(plan: Plan, state: RunState, step: str) -> str:
    """The first step whose bad end blocks this one, followed back to the step that really failed."""
    for edge in plan.incoming[step]:
        if state.edges.get(edge.key) == EdgeState.BLOCKED:
            source = state.steps[edge.source]
            return source.cause or edge.source
    return ""


def input_summary(plan: Plan, state: RunState, step: str) -> dict[str, str]:
    """Outcome of each optional (`on: any`) source, for the step's input summary."""
    return {e.source: state.steps[e.source].outcome or "blocked" for e in plan.incoming[step] if e.on == ANY}
