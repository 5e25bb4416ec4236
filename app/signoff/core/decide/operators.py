"""Commands of operators (semantics §8): explicit, with a reason, never by editing a snapshot."""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import advance, after, settle_run, stop
from signoff.core.decide.build import Build
from signoff.core.decide.undoing import abandon_undo, retry_undo, undo_failures, undone_by_hand
from signoff.core.definition import ActivityConfig, FormConfig
from signoff.core.expression import ExpressionError
from signoff.core.flow import needs_somebody, resolve_edges, scope_of
from signoff.core.forms import check_values
from signoff.core.payload import plain_json
from signoff.core.plan import Plan
from signoff.core.rejection import Rejection
from signoff.core.showing import shown_of
from signoff.core.states import ACTIVE_STEPS, RunState, RunStatus, StepStatus

CONDITION_ERROR = "condition_error"

SKIPPABLE = (
    StepStatus.FAILED,
    StepStatus.EXPIRED,
    StepStatus.SCHEDULED,
    StepStatus.RETRYING,
    StepStatus.WAITING,
)


def may_operate(build: Build, command: c.OperatorCommand, wanted: str) -> Rejection | None:
    """What every command of an operator needs: a reason, and a run that is not over."""
    state = build.state
    if not command.reason.strip():
        return Rejection("no_reason", f"Expected a reason to {wanted}.", "Say why; it goes into the audit trail.")
    if state.is_terminal:
        return Rejection(
            "run_over", f"Expected to {wanted}, but the run has ended as {state.status}.", "Start a new run."
        )
    return None


def not_changed(build: Build, command: c.OperatorCommand, changed: int, wanted: str) -> Rejection | None:
    """Refuse where the thing changed (at that sequence) after the operator looked."""
    if command.seen_sequence is not None and changed > command.seen_sequence:
        return Rejection(
            "changed_meanwhile",
            f"Expected to {wanted}, but it changed while you were looking.",
            "Look again, then repeat it.",
        )
    return None


def pause(build: Build, command: c.PauseRun) -> Rejection | None:
    """Stop claims and clocks; work under way may still answer."""
    if refused := may_operate(build, command, "pause the run"):
        return refused
    if build.state.status is RunStatus.PAUSED:
        return Rejection("already_paused", "The run is already paused.", "Nothing to do.", known=True)
    if build.state.stopping:
        return Rejection("stopping", "Expected to pause the run, but it is being stopped.", "Wait for it to end.")
    build.emit(e.RunPaused(at=build.now, actor=command.actor, reason=command.reason))
    return None


def resume(build: Build, command: c.ResumeRun) -> Rejection | None:
    """Go on; clocks are shifted by the pause."""
    if refused := may_operate(build, command, "resume the run"):
        return refused
    if build.state.status is not RunStatus.PAUSED:
        return Rejection(
            "not_paused", f"Expected a paused run to resume, but it is {build.state.status}.", "Nothing to do."
        )
    build.emit(e.RunResumed(at=build.now, actor=command.actor, reason=command.reason))
    settle_run(build)
    return None


def cancel(build: Build, command: c.CancelRun) -> Rejection | None:
    """Record the intent, stop what has not started, end when what is under way has answered."""
    if refused := may_operate(build, command, "cancel the run"):
        return refused
    if build.state.stopping:
        again = build.state.stopping == "cancelled" and build.state.undo == command.compensate
        return Rejection("already_stopping", "The run is already being stopped.", "Wait for it to end.", known=again)
    if command.compensate and (refused := _in_doubt(build)):
        return refused
    stop(build, "cancelled", command.reason, command.actor, compensate=command.compensate)
    settle_run(build)
    return None


def _in_doubt(build: Build) -> Rejection | None:
    """What may or may not have happened can neither be undone nor left alone."""
    for i, s in build.state.steps.items():
        if s.status is StepStatus.OUTCOME_UNKNOWN:
            return Rejection(
                "outcome_unknown",
                f"Expected to cancel the run and undo what was done, but '{build.plan.label(i)}' may have happened.",
                "Say first whether it happened.",
            )
    return None


def terminate(build: Build, command: c.TerminateRun) -> Rejection | None:
    """End now; whatever still answers is evidence."""
    if refused := may_operate(build, command, "terminate the run"):
        return refused
    abandon_undo(build, command.reason)
    for i, s in build.state.steps.items():
        if s.status in (StepStatus.PENDING, StepStatus.OUTCOME_UNKNOWN) or s.status in ACTIVE_STEPS:
            build.emit(e.StepCancelled(at=build.now, step=i, reason=command.reason))
    build.emit(e.RunEnded(at=build.now, outcome="terminated", reason=command.reason, actor=command.actor))
    return None


def retry(build: Build, command: c.RetryStep) -> Rejection | None:
    """A new generation of a step that failed or expired and whose end nothing handled."""
    state, plan = build.state, build.plan
    step = state.steps.get(command.step)
    if step is None:
        return Rejection("unknown_step", f"There is no step '{command.step}' in this run.", "Correct the name.")
    label = plan.label(command.step)
    wanted = f"retry step '{label}'"
    if refused := may_operate(build, command, wanted) or not_changed(build, command, step.changed, wanted):
        return refused
    if step.undo and step.status is StepStatus.FAILED:
        retry_undo(build, command)
        settle_run(build)
        return None
    if state.stopping:
        return Rejection("stopping", f"Expected to {wanted}, but the run is being stopped.", "Start a new run.")
    if step.status not in (StepStatus.FAILED, StepStatus.EXPIRED):
        remedy = {
            StepStatus.WAITING: "Decide it, wait for it, or skip it.",
            StepStatus.RUNNING: "Wait for its answer.",
            StepStatus.RETRYING: "It tries again by itself.",
            StepStatus.OUTCOME_UNKNOWN: "Say first whether it happened.",
            StepStatus.BLOCKED: f"Mend '{plan.label(step.cause)}' first." if step.cause else "Mend its cause first.",
        }.get(step.status, "Nothing to do.")
        return Rejection("not_failed", f"Expected to retry failed step '{label}', but it is {step.status}.", remedy)
    if not needs_somebody(plan, state, command.step):
        return Rejection(
            "already_dealt_with",
            f"Expected to {wanted}, but the process already went on from its end ({step.outcome}).",
            "Start a new run if it must be done again.",
        )
    together = _failed_together(build, command.step)
    for i in together:
        build.emit(
            e.StepRetried(
                at=build.now,
                step=i,
                generation=state.steps[i].generation + 1,
                actor=command.actor,
                reason=command.reason,
                new_effect=command.new_effect and i == command.step,
                edges=_errors_again(build, i),
            )
        )
    advance(build, together)
    return None


def _failed_together(build: Build, step: str) -> list[str]:
    """The step, and those that a condition beside its own stopped: siblings are only decided as one."""
    together = [step]
    for one in together:
        for edge in build.plan.incoming[one]:
            if build.state.edges.get(edge.key) != "error":
                continue
            for sibling in build.plan.outgoing[edge.source]:
                other = build.state.steps[sibling.target]
                stopped = other.status is StepStatus.FAILED and other.error and other.error.code == CONDITION_ERROR
                if stopped and build.state.edges.get(sibling.key) == "error" and sibling.target not in together:
                    together.append(sibling.target)
    order = list(build.plan.steps)
    return sorted(together, key=order.index)


def _errors_again(build: Build, step: str) -> e.Edges:
    """Incoming edges whose condition had an error, evaluated again on today's values."""
    found = []
    for edge in build.plan.incoming[step]:
        if build.state.edges.get(edge.key) == "error":
            source = build.state.steps[edge.source]
            output = build.state.outputs.get(edge.source)
            again = dict(resolve_edges(build.plan, build.state, edge.source, source.outcome, output))
            found.append((edge.key, again[edge.key]))
    return tuple(found)


def skip(build: Build, command: c.SkipStep) -> Rejection | None:
    """Go past a step, if its rule and its safety condition allow it."""
    state, plan = build.state, build.plan
    step = state.steps.get(command.step)
    if step is None:
        return Rejection("unknown_step", f"There is no step '{command.step}' in this run.", "Correct the name.")
    label = plan.label(command.step)
    wanted = f"skip step '{label}'"
    refused = may_operate(build, command, wanted) or not_changed(build, command, step.changed, wanted)
    if refused:
        return refused
    if step.undo and step.status is StepStatus.FAILED:
        refused = undone_by_hand(build, command)
        if refused is None:
            settle_run(build)
        return refused
    if refused := _unskippable(build, command):
        return refused
    output, wrong = _substitute(build, command)
    if wrong:
        return wrong
    build.emit(
        e.StepSkipped(
            at=build.now,
            step=command.step,
            actor=command.actor,
            reason=command.reason,
            output=output,
            edges=resolve_edges(plan, state, command.step, "skipped", output),
        )
    )
    after(build, command.step)
    return None


def _unskippable(build: Build, command: c.SkipStep) -> Rejection | None:
    state, plan = build.state, build.plan
    step, definition = state.steps[command.step], plan.steps[command.step]
    wanted = f"skip step '{definition.label}'"
    if not definition.is_skippable:
        return Rejection(
            "not_skippable",
            f"Expected to {wanted}, but the definition does not allow it.",
            "Retry it, decide it, or cancel the run.",
        )
    if step.status is StepStatus.RUNNING:
        return Rejection(
            "effect_under_way",
            f"Expected to {wanted}, but worker '{step.worker}' is at it and its effect may happen.",
            "Wait for its answer, or terminate the run.",
        )
    if step.status is StepStatus.OUTCOME_UNKNOWN:
        return Rejection(
            "outcome_unknown",
            f"Expected to {wanted}, but its effect may have happened.",
            "Say first whether it happened.",
        )
    if step.status not in SKIPPABLE or state.stopping:
        reason = "the run is being stopped" if state.stopping else f"it is {step.status}"
        return Rejection(
            "cannot_skip_now", f"Expected to {wanted}, but {reason}.", "Skip it when it waits or has failed."
        )
    if step.outcome and not needs_somebody(plan, state, command.step):
        return Rejection(
            "already_dealt_with",
            f"Expected to {wanted}, but the process already went on from its end.",
            "Nothing to do.",
        )
    condition = plan.skip_conditions.get(command.step)
    if condition is not None:
        try:
            safe = condition.decide(scope_of(state))
        except ExpressionError as error:
            message = f"Expected to {wanted}, but its safety condition says nothing. {error}"
            return Rejection("condition_error", message, "Mend the input first.")
        if not safe:
            return Rejection(
                "unsafe_to_skip",
                f"Expected to {wanted}, but its safety condition '{condition.source}' does not hold.",
                "Retry it or cancel the run.",
            )
    return None


def _substitute(build: Build, command: c.SkipStep) -> tuple[object, Rejection | None]:
    definition = build.plan.steps[command.step]
    if command.output is None and definition.skip.needs_output:
        message = f"Skipping step '{definition.label}' needs a substitute output."
        return None, Rejection("output_missing", message, "Give one.", evidence=False)
    return substitute_of(build, command.step, command.output, f"the substitute output of '{definition.label}'")


def substitute_of(
    build: Build, step: str, given: object, what: str, *, wanted: str = ""
) -> tuple[object, Rejection | None]:
    """An output that a person gives for a step, checked against its schema; `what` names it in sentences.

    With `wanted`, what is to be done with it, it may not be missing where the step has outputs.
    """
    definition = build.plan.steps[step]
    fields = definition.output
    if given is None:
        missing = f"Expected to {wanted}, but {what} is missing."
        return None, Rejection("output_missing", missing, "Give it.", evidence=False) if wanted and fields else None
    try:
        output = plain_json(given)
    except ValueError as error:
        message = f"Something is wrong with {what}. {error}"
        return None, Rejection("invalid_output", message, "Correct it.", evidence=False)
    if not fields:
        return output, None
    each = isinstance(definition.config, ActivityConfig) and definition.config.for_each is not None
    if each and not isinstance(output, list):
        return None, Rejection(
            "invalid_output", f"Expected {what} to be a list, one value for each item.", evidence=False
        )
    given_each = output if each and isinstance(output, list) else [output]
    checked = [check_values(fields, x, what=f"item {i} of {what}" if each else what) for i, x in enumerate(given_each)]
    if wrong := [p.sentence for _, problems in checked for p in problems]:
        return None, Rejection("invalid_output", " ".join(wrong[:20]), evidence=False)
    return [clean for clean, _ in checked] if each else checked[0][0], None


def edit_input(build: Build, command: c.EditInput) -> Rejection | None:
    """Replace the run's input, checked against the form; later mappings read the new one.

    Open approvals and forms that show something else now are asked again.
    """
    wanted = "edit the run's input"
    if refused := may_operate(build, command, wanted):
        return refused
    if build.state.stopping and not undo_failures(build.state):
        return Rejection("stopping", f"Expected to {wanted}, but the run is being stopped.", "Start a new run.")
    changed = max(build.state.input_changed, *(s.changed for s in build.state.steps.values()))
    if refused := not_changed(build, command, changed, wanted):
        return refused
    definition = build.plan.definition
    clean, problems = check_values(definition.input, command.input, what=f"the input of '{definition.title}'")
    if problems:
        return Rejection("invalid_input", " ".join(p.sentence for p in problems), evidence=False)
    before = build.state
    build.emit(e.InputEdited(at=build.now, actor=command.actor, reason=command.reason, input=clean))
    _ask_again(build, before)
    return None


def _ask_again(build: Build, before: RunState) -> None:
    """Void every open approval and form that shows something else now: nobody decides on what is no longer true."""
    again = [
        i
        for i, s in build.state.steps.items()
        if s.approval
        and s.status is StepStatus.WAITING
        and shown_or_none(build.plan, before, i) != shown_or_none(build.plan, build.state, i)
    ]
    for i in again:
        generation = build.state.steps[i].generation + 1
        reason = "The input was edited after people had been asked."
        voided = e.FormVoided if isinstance(build.plan.steps[i].config, FormConfig) else e.ApprovalVoided
        build.emit(voided(at=build.now, step=i, generation=generation, reason=reason))
    if again:
        advance(build, again)


def shown_or_none(plan: Plan, state: RunState, step: str) -> dict[str, object] | None:
    """What an approval opened now would show; None where a value is missing."""
    try:
        return shown_of(plan, state, step)
    except ExpressionError:
        return None
