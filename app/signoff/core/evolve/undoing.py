"""How facts about compensation change the state."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.evolve.steps import with_step
from signoff.core.plan import Plan
from signoff.core.states import RunState, RunStatus, StepStatus


def compensating(plan: Plan, state: RunState, event: e.RunCompensating) -> RunState:
    """What has been done is undone."""
    return altered(state, status=RunStatus.COMPENSATING, since=event.at)


def compensated(plan: Plan, state: RunState, event: e.StepCompensated) -> RunState:
    """The step's effect is undone; its outcome and output stay readable."""
    state = with_step(
        state, event.step, event.at, status=StepStatus.COMPENSATED, error=None, worker="", fence=event.fence
    )
    return _goes_on(state, event)


def failed(plan: Plan, state: RunState, event: e.CompensationFailed) -> RunState:
    """The effect stands, and a person is needed."""
    undo = max(state.steps[event.step].undo, 1)
    return with_step(state, event.step, event.at, status=StepStatus.FAILED, error=event.error, worker="", undo=undo)


def retried(plan: Plan, state: RunState, event: e.CompensationRetried) -> RunState:
    """As before its compensation began; it is next, because it changed last."""
    state = with_step(state, event.step, event.at, status=StepStatus.SUCCEEDED, error=None, undo=0)
    return _goes_on(state, event)


def _goes_on(state: RunState, event: e.Event) -> RunState:
    if state.status is RunStatus.STALLED:
        return altered(state, status=RunStatus.COMPENSATING, since=event.at)
    return state
