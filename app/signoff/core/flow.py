"""How edges resolve and when a step may begin (semantics §3)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from signoff.core.definition import GOOD_OUTCOMES, Edge, Join
from signoff.core.expression import ExpressionError
from signoff.core.plan import Plan
from signoff.core.states import FINAL_STEPS, EdgeState, ErrorInfo, RunState, StepStatus

ANY = "any"
_TAKEN = (EdgeState.LIVE, EdgeState.ERROR)


def scope_of(state: RunState) -> dict[str, Any]:
    """What expressions can read: `input`, `steps` (those that are over), `run`.

    The outcome of a step that ended without one (not taken, blocked, cancelled) is its status. A step that did
    not fail has an error with an empty code and message.
    """
    return {
        "input": dict(state.input),
        "steps": {
            i: {"outcome": s.outcome or str(s.status), "output": state.outputs.get(i), "error": error_of(s.error)}
            for i, s in state.steps.items()
            if s.status in FINAL_STEPS or s.undo
        },
        "run": {"id": state.run_id, "started_by": state.started_by, "business_key": state.business_key},
    }


def error_of(error: ErrorInfo | None) -> dict[str, str]:
    """What expressions can read of a step's error."""
    return {"code": error.code, "message": error.message} if error else {"code": "", "message": ""}


def _follows(plan: Plan, edge: Edge, outcome: str) -> bool:
    if edge.on in (ANY, outcome):
        return True
    good = plan.steps[edge.source].good_outcome
    return edge.on in ("", good) and outcome in (good, "skipped")


def resolve_edges(
    plan: Plan, state: RunState, step: str, outcome: str, output: Any = None, error: ErrorInfo | None = None
) -> tuple[tuple[str, str], ...]:
    """Resolve every outgoing edge of a step that ended with `outcome`.

    After a bad outcome an edge that follows exactly this outcome *handles* it, if its condition holds; then
    the edges that do not follow it are dead. Without such an edge they are blocked. An optional edge
    (`on: any`) follows, but does not stand in for a handler: what needs the good outcome stays blocked.

    Args:
        plan: of the run's version.
        state: before the ending event; the step's own outcome and output are laid over it.
        step: id of the step that ends.
        outcome: how it ends.
        output: what it gives.
        error: why it failed.
    """
    edges = plan.outgoing[step]
    if not edges:
        return ()
    decided = _followed_edges(plan, state, edges, outcome, output, error)
    good = outcome in GOOD_OUTCOMES
    handled = good or any(e.on != ANY and decided.get(e.key) in _TAKEN for e in edges)
    for edge in edges:
        declined = decided.get(edge.key) == EdgeState.DEAD and edge.on != ANY
        if edge.key not in decided or (declined and not handled):
            decided[edge.key] = EdgeState.DEAD if handled else EdgeState.BLOCKED
    return tuple((e.key, str(decided[e.key])) for e in edges)


def _followed_edges(
    plan: Plan, state: RunState, edges: tuple[Edge, ...], outcome: str, output: Any, error: ErrorInfo | None
) -> dict[str, EdgeState]:
    following = [e for e in edges if _follows(plan, e, outcome)]
    decided = {e.key: EdgeState.LIVE for e in following}
    conditional = [e for e in following if e.key in plan.conditions]
    if conditional:
        scope = scope_of(state)
        scope["steps"][edges[0].source] = {"outcome": outcome, "output": output, "error": error_of(error)}
        decided.update({e.key: evaluate_condition(plan, e.key, scope) for e in conditional})
    siblings = {decided[e.key] for e in conditional}
    for edge in following:
        if edge.otherwise and EdgeState.ERROR in siblings:
            decided[edge.key] = EdgeState.ERROR
        elif edge.otherwise and EdgeState.LIVE in siblings:
            decided[edge.key] = EdgeState.DEAD
    return decided


def evaluate_condition(plan: Plan, key: str, scope: Mapping[str, Any]) -> EdgeState:
    """Live, dead, or error where a value is missing or has the wrong type."""
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


class Standing(StrEnum):
    """Whether the bad end of a step needs somebody."""

    DEALT_WITH = "dealt_with"
    OPEN = "open"
    NEEDED = "needed"


def standing(plan: Plan, state: RunState, step: str) -> Standing:
    """What the bad end of a step means for the run now.

    `dealt_with`: an edge handles it, or all that it blocks has been outrun by another branch into a join
    of any. `open`: such a join has not begun yet. `needed`: something, or the end of the run, needs it.
    """
    edges = plan.outgoing[step]
    blocked = [e for e in edges if state.edges.get(e.key) == EdgeState.BLOCKED]
    if not blocked and not any(state.edges.get(e.key) in _TAKEN for e in edges):
        return Standing.NEEDED
    return _worst([_standing_of_blocked(plan, state, e) for e in blocked])


def _standing_of_blocked(plan: Plan, state: RunState, edge: Edge) -> Standing:
    target = state.steps[edge.target]
    if target.status is StepStatus.CANCELLED:
        return Standing.DEALT_WITH
    if target.status is StepStatus.BLOCKED:
        onward = plan.outgoing[edge.target]
        blocked = [e for e in onward if state.edges.get(e.key) == EdgeState.BLOCKED]
        if not onward or len(blocked) < len(onward):
            return Standing.NEEDED
        return _worst([_standing_of_blocked(plan, state, e) for e in blocked])
    if plan.steps[edge.target].join is Join.ALL:
        return Standing.NEEDED
    return Standing.OPEN if target.status is StepStatus.PENDING else Standing.DEALT_WITH


def _worst(found: list[Standing]) -> Standing:
    for worse in (Standing.NEEDED, Standing.OPEN):
        if worse in found:
            return worse
    return Standing.DEALT_WITH


def ended_badly(state: RunState, step: str) -> bool:
    """True where the step has an outcome and it is not a good one."""
    outcome = state.steps[step].outcome
    return bool(outcome) and outcome not in GOOD_OUTCOMES


def needs_somebody(plan: Plan, state: RunState, step: str) -> bool:
    """True while the bad end of a step is neither handled nor outrun."""
    return ended_badly(state, step) and standing(plan, state, step) is not Standing.DEALT_WITH


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
    """How each optional (`on: any`) source ended, for the step's input summary."""
    return {
        e.source: s.outcome or str(s.status)
        for e in plan.incoming[step]
        if e.on == ANY and (s := state.steps[e.source]).status in FINAL_STEPS
    }
