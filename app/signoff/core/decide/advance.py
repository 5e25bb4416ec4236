"""What follows from a change: steps begin, branches die, the run stalls or ends. One pass, downstream only."""

from __future__ import annotations

from collections.abc import Iterable

from signoff.core import events as e
from signoff.core.calendar import parse_local
from signoff.core.decide.awaiting import await_signal, start_subflow
from signoff.core.decide.build import Build
from signoff.core.decide.inputs import resolved
from signoff.core.decide.items import open_items, withdraw_items
from signoff.core.decide.opening import open_approval, open_form
from signoff.core.decide.undoing import compensate_next
from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    FailurePolicy,
    FormConfig,
    Join,
    SignalConfig,
    Step,
    StepKind,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.expression import ExpressionError
from signoff.core.flow import (
    Readiness,
    Standing,
    blocking_cause,
    edges_of_blocked,
    edges_of_untaken,
    ended_badly,
    readiness,
    resolve_edges,
    scope_of,
    standing,
)
from signoff.core.graph import reachable_from
from signoff.core.plan import successors_of
from signoff.core.retry import within_total
from signoff.core.states import (
    ACTIVE_STEPS,
    Actor,
    ErrorInfo,
    RunStatus,
    StepState,
    StepStatus,
    idempotency_key,
    waits_for_child,
)
from signoff.core.wording import sentence


def advance(build: Build, candidates: Iterable[str]) -> None:
    """Let everything happen that follows from the events so far.

    Args:
        build: of this decision.
        candidates: steps whose incoming edges may have changed, or the step that just ended.
    """
    if build.state.is_terminal:
        return
    pending = {s for s in candidates if build.state.steps[s].status is StepStatus.PENDING}
    if build.state.status is not RunStatus.CANCELLING:
        order = {step: i for i, step in enumerate(build.plan.steps)}
        while pending:
            step = min(pending, key=order.__getitem__)
            pending.discard(step)
            before = len(build.events)
            _visit(build, step)
            for event in build.events[before:]:
                for key, _ in getattr(event, "edges", ()):
                    target = build.plan.edges[key].target
                    if build.state.steps[target].status is StepStatus.PENDING:
                        pending.add(target)
    settle_run(build)


def after(build: Build, step: str) -> None:
    """Advance from a step that just ended."""
    advance(build, [edge.target for edge in build.plan.outgoing[step]])


def _visit(build: Build, step_id: str) -> None:
    plan, state, now = build.plan, build.state, build.now
    match readiness(plan, state, step_id):
        case Readiness.NOT_YET:
            return
        case Readiness.BEGIN:
            begin(build, plan.steps[step_id])
        case Readiness.NOT_TAKEN:
            build.emit(e.StepNotTaken(at=now, step=step_id, edges=edges_of_untaken(plan, step_id)))
        case Readiness.BLOCKED:
            cause = blocking_cause(plan, state, step_id)
            build.emit(e.StepBlocked(at=now, step=step_id, cause=cause, edges=edges_of_blocked(plan, step_id)))
        case Readiness.ERROR:
            fail_step(build, step_id, ErrorInfo("condition_error", _condition_error(build, step_id), False))


def _condition_error(build: Build, step_id: str) -> str:
    scope = scope_of(build.state)
    for edge in build.plan.incoming[step_id]:
        if build.state.edges.get(edge.key) == "error":
            condition = build.plan.conditions.get(edge.key)
            source = build.plan.label(edge.source)
            if condition is None:
                return f"A condition beside 'otherwise' after '{source}' could not be evaluated."
            try:
                condition.decide(scope)
            except ExpressionError as error:
                return f"The condition from '{source}' could not be evaluated. {error}"
    return "A condition before this step could not be evaluated."


def begin(build: Build, step: Step) -> None:
    """Start a step whose incoming edges say so."""
    if step.join is Join.CANCEL_REST:
        _cancel_rest(build, step.id)
    try:
        match step.config:
            case ActivityConfig(for_each=each):
                if each:
                    open_items(build, step, fail_step)
                else:
                    schedule(build, step, attempt=1)
            case ApprovalConfig():
                open_approval(build, step, fail_step)
            case FormConfig():
                open_form(build, step, fail_step)
            case SignalConfig():
                await_signal(build, step, step.config)
            case SubflowConfig():
                start_subflow(build, step, step.config, fail_step)
            case WaitConfig():
                _arm_wait(build, step, step.config)
    except ExpressionError as error:
        fail_step(build, step.id, ErrorInfo("mapping_error", str(error), False))


def schedule(build: Build, step: Step, *, attempt: int) -> None:
    """Record that an attempt may be claimed, with its resolved input and idempotency key.

    Raises:
        ExpressionError: a value of the input mapping is missing or has the wrong type.
    """
    config = step.config
    assert isinstance(config, ActivityConfig)
    state = build.state.steps[step.id]
    first = state.first_scheduled_at if attempt > 1 else None
    build.emit(
        e.ActivityScheduled(
            at=build.now,
            step=step.id,
            generation=state.generation,
            attempt=attempt,
            key=call_key(build.state.run_id, step, state),
            input=resolved(build.plan.templates[step.id], scope_of(build.state), step.label),
            queue_due=within_total(config.retry, first or build.now, build.now, config.timeouts.queue_s),
        )
    )


def call_key(run_id: str, step: Step, state: StepState) -> str:
    """The idempotency key of the next call: every poll has its own, so that a service does not repeat its answer."""
    key = idempotency_key(run_id, step.id, state)
    polls = isinstance(step.config, ActivityConfig) and step.config.poll
    return f"{key}/poll/{state.polls + 1}" if polls else key


def _arm_wait(build: Build, step: Step, config: WaitConfig) -> None:
    worktime, text = build.plan.worktime, config.duration
    if not text or text.startswith("="):
        text = str(build.plan.templates[step.id](scope_of(build.state)))
    try:
        due = worktime.later(build.now, text) if config.duration else parse_local(text, worktime.zone)
    except ValueError as error:
        raise ExpressionError(str(error)) from None
    generation = build.state.steps[step.id].generation
    build.emit(e.WaitArmed(at=build.now, step=step.id, generation=generation, due=due))


def fail_step(build: Build, step_id: str, error: ErrorInfo) -> None:
    """End a step as failed and resolve what follows it."""
    build.emit(
        e.StepFailed(
            at=build.now,
            step=step_id,
            generation=build.state.steps[step_id].generation,
            error=error,
            edges=resolve_edges(build.plan, build.state, step_id, "failed", error=error),
        )
    )


def _cancel_rest(build: Build, step_id: str) -> None:
    """Cancel what the losing branches into this join have not finished and nobody else needs."""
    graph = successors_of(build.plan.definition)
    for other in reversed(list(build.plan.steps)):
        state = build.state.steps[other]
        started = state.status is StepStatus.RUNNING
        if started or state.status not in ACTIVE_STEPS | {StepStatus.PENDING}:
            continue
        reached = reachable_from(graph, [other])
        if other == step_id or step_id not in reached:
            continue
        behind = reachable_from(graph, [step_id])
        if reached - behind - {other} and any(
            build.state.steps[r].status is not StepStatus.CANCELLED for r in reached - behind - {other}
        ):
            continue
        edges = edges_of_untaken(build.plan, other)
        build.emit(
            e.StepCancelled(at=build.now, step=other, reason=f"'{build.plan.label(step_id)}' went on.", edges=edges)
        )


def settle_run(build: Build) -> None:
    """End, stall or stop the run where nothing else can go on."""
    state, plan = build.state, build.plan
    if state.is_terminal or state.status is RunStatus.PAUSED:
        return
    found = {i: standing(plan, state, i) for i in state.steps if ended_badly(state, i)}
    bad = [i for i, how in found.items() if how is not Standing.DEALT_WITH]
    unknown = [i for i, s in state.steps.items() if s.status is StepStatus.OUTCOME_UNKNOWN]
    failed = [i for i in bad if state.steps[i].outcome != "rejected"]
    for_sure = [i for i in failed if found[i] is Standing.NEEDED]
    policy = plan.definition.policies.failure
    if for_sure and policy is not FailurePolicy.STALL and not state.stopping:
        undo = policy is FailurePolicy.COMPENSATE
        stop(build, "failed", stall_reason(build, for_sure), compensate=undo)
        state = build.state
    if any(s.status in ACTIVE_STEPS for s in state.steps.values()):
        return
    if state.stopping and state.undo and compensate_next(build):
        return
    if state.stopping:
        build.emit(e.RunEnded(at=build.now, outcome=state.stopping, reason=state.reason))
    elif failed or unknown:
        if state.status is not RunStatus.STALLED:
            stuck = [*failed, *unknown]
            build.emit(e.RunStalled(at=build.now, reason=stall_reason(build, stuck), steps=tuple(stuck)))
    elif bad:
        names = ", ".join(f"'{plan.label(i)}'" for i in bad)
        build.emit(e.RunEnded(at=build.now, outcome="rejected", reason=f"Rejected at {names}."))
    else:
        build.emit(e.RunEnded(at=build.now, outcome="succeeded"))


def stall_reason(build: Build, failed: list[str]) -> str:
    """Why a person is needed, in whole sentences."""
    sentences = []
    for i in failed:
        step = build.state.steps[i]
        if step.outcome == "expired":
            sentences.append(_silence(build.plan.steps[i]))
        elif step.status is StepStatus.OUTCOME_UNKNOWN:
            message = step.error.message if step.error else ""
            sentences.append(sentence(f"The outcome of '{build.plan.label(i)}' is unknown: {message}"))
        else:
            message = step.error.message if step.error else "no reason was given"
            sentences.append(sentence(f"'{build.plan.label(i)}' failed: {message}"))
    return " ".join(sentences)


def _silence(step: Step) -> str:
    """What did not happen where a step expired."""
    if isinstance(step.config, SignalConfig):
        return f"The signal '{step.config.signal}' did not come in time at '{step.label}'."
    if isinstance(step.config, SubflowConfig):
        return f"The run of '{step.config.definition}' did not end in time at '{step.label}'."
    return f"Nobody {'filled in' if step.kind is StepKind.FORM else 'decided'} '{step.label}' in time."


def stop(build: Build, outcome: str, reason: str, actor: Actor | None = None, *, compensate: bool = False) -> None:
    """Begin to end the run: cancel what has not started, await what runs, then undo what was done if so wanted."""
    build.emit(e.RunStopping(at=build.now, outcome=outcome, reason=reason, actor=actor, compensate=compensate))
    for i, s in build.state.steps.items():
        if s.items and s.status is StepStatus.RUNNING:
            withdraw_items(build, i, reason)
        under_way = s.status is StepStatus.RUNNING or waits_for_child(s)
        idle = s.status in ACTIVE_STEPS and not under_way
        if idle or s.status in (StepStatus.PENDING, StepStatus.OUTCOME_UNKNOWN):
            build.emit(e.StepCancelled(at=build.now, step=i, reason=reason))
