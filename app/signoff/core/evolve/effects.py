"""How answers that end nothing change the state: polls, probes, unknown outcomes and what people say about them."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.evolve.steps import begun_again, reopen_after, run_goes_on, with_output, with_step, without_partial
from signoff.core.plan import Plan
from signoff.core.states import RunState, StepStatus, TimerKind


def probe_found_nothing(plan: Plan, state: RunState, event: e.ProbeFoundNothing) -> RunState:
    """The lost call did not happen; what follows decides where the step goes."""
    return with_step(state, event.step, event.at, status=StepStatus.RETRYING, worker="", probe=0)


def polled(plan: Plan, state: RunState, event: e.PollAnswered) -> RunState:
    """Not yet: the step waits for its next call, whose tries are counted anew."""
    old = state.steps[event.step]
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.WAITING,
        timer=TimerKind.RETRY if event.due else None,
        due=event.due,
        uncounted=old.attempt,
        polls=old.polls + 1,
        worker="",
    )


def outcome_unknown(plan: Plan, state: RunState, event: e.OutcomeUnknown) -> RunState:
    """A person has to say what became of the call."""
    return with_step(
        state, event.step, event.at, status=StepStatus.OUTCOME_UNKNOWN, error=event.error, worker="", probe=0
    )


def confirmed(plan: Plan, state: RunState, event: e.EffectConfirmed) -> RunState:
    """It happened: the step has its output, and the run goes on."""
    state = with_output(state, event.step, event.output)
    state = with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SUCCEEDED,
        outcome="succeeded",
        edges=event.edges,
        error=None,
    )
    return run_goes_on(state, event.at)


def completed_by_hand(plan: Plan, state: RunState, event: e.StepCompletedByHand) -> RunState:
    """Somebody did it: what its failure had blocked is open again, and the run goes on."""
    state = reopen_after(plan, state, event.step, event.at)
    state = with_output(state, event.step, event.output)
    state = without_partial(state, event.step)
    state = with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SUCCEEDED,
        outcome="succeeded",
        edges=event.edges,
        error=None,
        worker="",
        probe=0,
        items=None,
        by_hand=event.actor.shown,
    )
    return run_goes_on(state, event.at)


def denied(plan: Plan, state: RunState, event: e.EffectDenied) -> RunState:
    """It did not happen: pending again in a new generation, with the same idempotency key."""
    old = state.steps[event.step]
    fresh = begun_again(state, old, event.generation, event.at)
    return run_goes_on(altered(state, steps={**state.steps, event.step: fresh}), event.at)
