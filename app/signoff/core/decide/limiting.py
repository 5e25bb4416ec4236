"""A run that has used up what its tenant allows it is paused, visibly, and goes on when an operator resumes it."""

from __future__ import annotations

from datetime import datetime

from signoff.core import events as e
from signoff.core.decide.build import Build
from signoff.core.limits import BY_LIMITS
from signoff.core.states import RunStatus


def pause_long_history(build: Build, before: int) -> None:
    """Pause a run whose history has grown by as many events as its tenant allows; resuming allows as many again.

    Args:
        build: of a decision that was made.
        before: sequence of the run before it.
    """
    most, state = build.facts.limits.events_per_run, build.state
    if most and state.sequence // most > before // most and state.status in (RunStatus.RUNNING, RunStatus.STALLED):
        reason = f"Its history has {state.sequence} events; a run is paused after each {most}. Look for what repeats."
        build.emit(e.RunPaused(at=build.now, actor=BY_LIMITS, reason=reason))


def pause_long_run(build: Build, due: datetime) -> None:
    """The tenant's limit on the time of a run has passed; the definition's own deadline is still to come."""
    state, clock = build.state, build.plan.worktime
    capped, own = state.capped, build.plan.definition.policies.deadline
    assert state.started_at is not None
    stood = due - clock.later(state.started_at, capped)
    then = clock.later(state.started_at, own) + stood if own else None
    build.emit(e.DeadlinePassed(at=build.now, due=due, capped=capped, then=then))
    reason = f"It has not ended within {capped}, the longest that a run may take here."
    build.emit(e.RunPaused(at=build.now, actor=BY_LIMITS, reason=reason))
