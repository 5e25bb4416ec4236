"""A message from outside reaches a step that waits for it (semantics §2)."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.commands import ReceiveSignal
from signoff.core.decide.advance import after, fail_step
from signoff.core.decide.build import Build
from signoff.core.definition import SignalConfig
from signoff.core.flow import resolve_edges
from signoff.core.forms import check_values
from signoff.core.rejection import Rejection
from signoff.core.states import ErrorInfo, RunStatus, StepStatus
from signoff.core.wording import clock


def receive(build: Build, command: ReceiveSignal) -> Rejection | None:
    """Go on with a message. One that came early and does not fit fails the step, where an operator sees it."""
    state, step = build.state, build.state.steps.get(command.step)
    config = build.plan.steps[command.step].config if step else None
    if step is None or not isinstance(config, SignalConfig):
        message = f"There is no step '{command.step}' in this run that waits for a signal."
        return Rejection("unknown_step", message, "Correct the name.", evidence=False)
    label = build.plan.label(command.step)
    if state.is_terminal:
        return Rejection("run_over", f"The run of '{label}' has ended.", "Nothing to do.", evidence=False)
    if state.status is RunStatus.PAUSED:
        return Rejection("paused", f"The run of '{label}' is paused.", "It goes on when it is resumed.", evidence=False)
    fits = (command.generation, command.name, command.key) == (step.generation, config.signal, step.key)
    if step.status is not StepStatus.WAITING or not fits:
        return Rejection("not_waiting", f"'{label}' does not wait for this message.", "Nothing to do.", evidence=False)
    if step.due is not None and step.due <= build.now:
        message = f"'{label}' waited for this message until {clock(step.due)}."
        return Rejection("expired", message, "Ask an operator to retry it.", evidence=False)
    values, problems = check_values(config.payload, command.payload, what=f"the payload for '{label}'")
    if not config.payload:
        values, problems = command.payload, ()
    if problems and command.kept:
        said = " ".join(p.sentence for p in problems)
        fail_step(build, command.step, ErrorInfo("bad_payload", f"Message '{command.message}' does not fit. {said}"))
        after(build, command.step)
        return None
    if problems:
        listed = [{"field": p.field, "message": p.message, "remedy": p.remedy} for p in problems]
        return Rejection("invalid_payload", " ".join(p.sentence for p in problems), details={"problems": listed})
    build.emit(
        e.SignalReceived(
            at=build.now,
            step=command.step,
            generation=step.generation,
            name=command.name,
            key=command.key,
            message=command.message,
            actor=command.actor,
            sent_at=command.sent_at,
            output=values,
            edges=resolve_edges(build.plan, state, command.step, "received", values),
        )
    )
    after(build, command.step)
    return None
