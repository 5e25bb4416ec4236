"""The end of a child run reaches the step that waits for it (semantics §2)."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.commands import EndSubflow
from signoff.core.decide.advance import after, settle_run
from signoff.core.decide.build import Build
from signoff.core.definition import SubflowConfig
from signoff.core.flow import resolve_edges
from signoff.core.rejection import Rejection
from signoff.core.states import ErrorInfo, StepStatus
from signoff.core.wording import sentence


def end(build: Build, command: EndSubflow) -> Rejection | None:
    """The step ends as its child did; while the run is being stopped it is cancelled, whatever the child did."""
    state, step = build.state, build.state.steps.get(command.step)
    config = build.plan.steps[command.step].config if step else None
    if step is None or not isinstance(config, SubflowConfig):
        message = f"There is no step '{command.step}' in this run that waits for another run."
        return Rejection("unknown_step", message, "Correct the name.", evidence=False)
    if state.is_terminal:
        return Rejection("run_over", "The run has ended.", "Nothing to do.", evidence=False)
    fits = (command.generation, command.child) == (step.generation, step.child)
    if step.status is not StepStatus.WAITING or not fits:
        message = f"'{build.plan.label(command.step)}' does not wait for the run '{command.child}'."
        return Rejection("obsolete_child", message, "Nothing to do.", evidence=False)
    if state.stopping:
        build.emit(e.StepCancelled(at=build.now, step=command.step, reason=state.reason))
        settle_run(build)
        return None
    outcome = command.outcome if command.outcome in ("succeeded", "rejected") else "failed"
    error = None
    if outcome == "failed":
        words = f"The run '{command.child}' of '{config.definition}' ended as {command.outcome}"
        message = sentence(f"{words}: {command.reason}" if command.reason else words)
        error = ErrorInfo(f"child_{command.outcome}", message, False)
    output = command.output if outcome == "succeeded" else None
    build.emit(
        e.SubflowEnded(
            at=build.now,
            step=command.step,
            generation=step.generation,
            child=command.child,
            outcome=outcome,
            error=error,
            output=output,
            edges=resolve_edges(build.plan, state, command.step, outcome, output, error),
        )
    )
    after(build, command.step)
    return None
