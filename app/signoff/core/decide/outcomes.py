"""What operators do about work that went wrong: say what became of a lost call, replay a dead letter (semantics §6)."""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import advance, after
from signoff.core.decide.build import Build
from signoff.core.decide.operators import may_operate, not_changed, retry, substitute_of
from signoff.core.flow import resolve_edges
from signoff.core.implied import implied_dead_letters
from signoff.core.rejection import Rejection
from signoff.core.states import StepStatus


def replay(build: Build, command: c.ReplayDeadLetter) -> Rejection | None:
    """Try a dead letter again, by the rules of a retry and with the same idempotency key."""
    if command.step in build.state.steps and not build.state.is_terminal and not build.state.stopping:
        letter = implied_dead_letters(build.plan, build.state).get(command.step)
        if letter is None:
            label = build.plan.label(command.step)
            message = f"Expected to replay the dead letter of '{label}', but there is none."
            return Rejection("no_dead_letter", message, "Look into the list again.")
    again = c.RetryStep(
        actor=command.actor, reason=command.reason, seen_sequence=command.seen_sequence, step=command.step
    )
    return retry(build, again)


def resolve(build: Build, command: c.ResolveOutcome) -> Rejection | None:
    """It happened: the step succeeds with the output given. It did not: called again with the same key."""
    state, plan = build.state, build.plan
    step = state.steps.get(command.step)
    if step is None:
        return Rejection("unknown_step", f"There is no step '{command.step}' in this run.", "Correct the name.")
    label = plan.label(command.step)
    wanted = f"say what became of step '{label}'"
    if refused := may_operate(build, command, wanted) or not_changed(build, command, step.changed, wanted):
        return refused
    if step.status is not StepStatus.OUTCOME_UNKNOWN:
        message = f"Expected to {wanted}, but its outcome is not in doubt: it is {step.status}."
        return Rejection("not_in_doubt", message, "Nothing to do.")
    if not command.happened:
        build.emit(
            e.EffectDenied(
                at=build.now,
                step=command.step,
                generation=step.generation + 1,
                actor=command.actor,
                reason=command.reason,
            )
        )
        advance(build, [command.step])
        return None
    output, wrong = substitute_of(build, command.step, command.output, f"the output of '{label}'", wanted=wanted)
    if wrong:
        return wrong
    build.emit(
        e.EffectConfirmed(
            at=build.now,
            step=command.step,
            generation=step.generation,
            actor=command.actor,
            reason=command.reason,
            output=output,
            edges=resolve_edges(plan, state, command.step, "succeeded", output),
        )
    )
    after(build, command.step)
    return None
