"""One answer for a run and each of its steps: what is, since when, why, who or what it waits for, what next.

The graph, the inbox, the API, the CLI, alerts and notebooks all show these sentences (semantics §11).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from signoff.core.answering import who_may_answer
from signoff.core.asking_words import asking_words, due_of
from signoff.core.deadline_words import deadline, overdue
from signoff.core.definition import (
    ActivityConfig,
    Join,
    SignalConfig,
    StepKind,
    SubflowConfig,
)
from signoff.core.ended_words import ended_words
from signoff.core.flow import needs_somebody
from signoff.core.plan import Plan
from signoff.core.progress import Progress
from signoff.core.quorum import find_person
from signoff.core.states import ACTIVE_STEPS, RunState, RunStatus, StepState, StepStatus, TimerKind
from signoff.core.undo_words import undo_words
from signoff.core.wording import clock, listed, sentence
from signoff.core.work_words import items_words, poll_words, probe_words

NOBODY: Mapping[str, str] = MappingProxyType({})
NOTHING_REPORTED: Mapping[str, Progress] = MappingProxyType({})
ALL_ACTIONS: tuple[str, ...] = (
    "decide",
    "submit_form",
    "retry_step",
    "skip_step",
    "confirm_effect",
    "deny_effect",
    "complete_step",
    "reassign_step",
    "withdraw_vote",
    "pause_run",
    "resume_run",
    "cancel_run",
    "terminate_run",
    "edit_input",
)


@dataclass(frozen=True, slots=True)
class StepExplanation:
    """The answer for one step.

    Attributes:
        sentence: what is and why.
        next: what happens by itself and when; "" where nothing does.
        progress: what work under way reported last, None where it reported nothing.
        waits_for: logins that may still decide; empty where nobody is asked.
        child: id of the run that a subflow step started; its own explanation says more.
        actions: command names that the state allows now, already filtered by what the reader may do.
    """

    step: str
    label: str
    kind: str
    status: str
    since: datetime | None
    sentence: str
    next: str = ""
    waits_for: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    due: datetime | None = None
    child: str = ""
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class RunExplanation:
    """The answer for the whole run."""

    status: str
    sentence: str
    since: datetime | None
    next: str
    actions: tuple[str, ...]
    steps: tuple[StepExplanation, ...]

    def of(self, step: str) -> StepExplanation:
        """The explanation of one step."""
        return next(s for s in self.steps if s.step == step)


def explain(
    plan: Plan,
    state: RunState,
    *,
    may: Collection[str] = ALL_ACTIONS,
    reader: str = "",
    names: Mapping[str, str] = NOBODY,
    progress: Mapping[str, Progress] = NOTHING_REPORTED,
    children: Mapping[str, str] = NOBODY,
    held_back: Mapping[str, str] = NOBODY,
    acts_for: Collection[str] = (),
) -> RunExplanation:
    """Explain a run.

    Args:
        plan: of the run's version.
        state: the run as it is.
        may: names of commands that the reader's roles permit.
        reader: login of the reader; decides whether "decide" is offered.
        names: login to the name that people see; a login that is not there is shown as it is.
        progress: by step, what work under way reported last.
        held_back: by step, the limit that keeps a call from beginning, a sentence.
        children: by run id, what the runs say for which steps wait.
        acts_for: logins of those for whom the reader decides now.
    """
    told = (with_progress(_step(plan, state, i, may, reader, names, acts_for), progress.get(i)) for i in plan.steps)
    told = (replace(x, sentence=f"{x.sentence} {held_back[x.step]}") if x.step in held_back else x for x in told)
    steps = tuple(
        replace(x, sentence=f"{x.sentence} There: {children[x.child]}")
        if x.status == StepStatus.WAITING and x.child in children
        else x
        for x in told
    )
    return RunExplanation(
        status=state.status,
        sentence=_run_sentence(plan, state, steps) + overdue(state),
        since=state.since,
        next=f"{_run_next(state, steps)} {deadline(plan, state)}".strip(),
        actions=tuple(a for a in _run_actions(state) if a in may),
        steps=steps,
    )


def with_progress(told: StepExplanation, reported: Progress | None) -> StepExplanation:
    """The explanation of work under way with what it reported last."""
    if reported is None or told.status != StepStatus.RUNNING or reported.at is None:
        return told
    said = sentence(f"It reported {reported.said or 'that it is alive'} ({reported.at:%H:%M:%S} UTC)")
    return replace(told, sentence=f"{told.sentence} {said}", progress=reported)


def _run_actions(state: RunState) -> tuple[str, ...]:
    if state.is_terminal:
        return ()
    if state.stopping:
        mend = ("edit_input",) if state.status is RunStatus.STALLED else ()
        return (*mend, "terminate_run")
    turn = "resume_run" if state.status is RunStatus.PAUSED else "pause_run"
    return (turn, "edit_input", "cancel_run", "terminate_run")


def _run_sentence(plan: Plan, state: RunState, steps: tuple[StepExplanation, ...]) -> str:
    match state.status:
        case RunStatus.SUCCEEDED:
            return f"The run succeeded on {clock(state.since)}."
        case RunStatus.REJECTED:
            return f"The run was rejected on {clock(state.since)}. {sentence(state.reason)}"
        case RunStatus.FAILED:
            return f"The run failed on {clock(state.since)}. {sentence(state.reason)}"
        case RunStatus.CANCELLED | RunStatus.TERMINATED:
            return sentence(f"The run was {state.status} on {clock(state.since)}: {state.reason}")
        case RunStatus.PAUSED:
            return (
                f"The run has been paused since {clock(state.since)}: {sentence(state.reason)} "
                "Nothing starts and no clock runs."
            )
        case RunStatus.STALLED:
            return f"The run needs a person. {sentence(state.reason)}"
        case RunStatus.CANCELLING:
            running = ", ".join(f"'{s.label}'" for s in steps if _is_under_way(s))
            return f"The run is being stopped ({state.reason}); it waits for the answer of {running or 'nothing'}."
        case RunStatus.COMPENSATING:
            undone = " ".join(s.sentence for s in steps if s.status in ACTIVE_STEPS)
            return f"What the run did is being undone ({state.reason.rstrip('.')}). {undone}".rstrip()
        case RunStatus.RUNNING:
            active = [
                s
                for s in steps
                if s.status in ("scheduled", "running", "waiting", "retrying", "failed", "expired", "outcome_unknown")
            ]
            return " ".join(s.sentence for s in active) or "The run is going on."


def _is_under_way(step: StepExplanation) -> bool:
    return step.status == StepStatus.RUNNING or (step.status == StepStatus.WAITING and bool(step.child))


def _run_next(state: RunState, steps: tuple[StepExplanation, ...]) -> str:
    if state.is_terminal:
        return ""
    if state.status is RunStatus.STALLED:
        if any(s.status == StepStatus.OUTCOME_UNKNOWN for s in steps):
            return "An operator finds out whether it happened and says so, or cancels the run."
        if state.stopping:
            return "An operator tries it again, says that it was done by hand, or terminates the run."
        return "An operator retries or skips the step, mends the input, or cancels the run."
    if state.status is RunStatus.PAUSED:
        return "An operator resumes the run."
    return " ".join(dict.fromkeys(s.next for s in steps if s.next and s.status in ACTIVE_STEPS))


def _step(
    plan: Plan,
    state: RunState,
    step_id: str,
    may: Collection[str],
    reader: str,
    names: Mapping[str, str],
    acts_for: Collection[str],
) -> StepExplanation:
    definition, step = plan.steps[step_id], state.steps[step_id]
    waits_for = who_may_answer(plan, state, step_id)
    asked = tuple(names.get(p, p) for p in waits_for)
    sentence, following = _step_words(plan, state, step_id, step, asked, names)
    actions = [a for a in _step_actions(plan, state, step_id, step) if a in may]
    if reader and not any(find_person(p, waits_for) for p in (reader, *acts_for)):
        actions = [a for a in actions if a not in ("decide", "submit_form")]
    voted = step.approval.votes if step.approval else ()
    if reader and not find_person(reader, (v.human for v in voted)):
        actions = [a for a in actions if a != "withdraw_vote"]
    return StepExplanation(
        step=step_id,
        label=definition.label,
        kind=definition.kind,
        status=step.status,
        since=step.since,
        sentence=sentence,
        next=following,
        waits_for=waits_for,
        actions=tuple(actions),
        due=due_of(step),
        child=step.child,
    )


def _step_actions(plan: Plan, state: RunState, step_id: str, step: StepState) -> tuple[str, ...]:
    if step.undo and step.status is StepStatus.FAILED and not state.is_terminal:
        return ("retry_step", "skip_step")
    if state.is_terminal or state.stopping:
        return ()
    actions = []
    if step.approval and step.status is StepStatus.WAITING and state.status is not RunStatus.PAUSED:
        actions.append("submit_form" if plan.steps[step_id].kind is StepKind.FORM else "decide")
        actions += ["withdraw_vote"] if step.approval.votes else []
    if step.status is StepStatus.OUTCOME_UNKNOWN:
        actions += ["confirm_effect", "deny_effect"]
    unhandled = not step.outcome or needs_somebody(plan, state, step_id)
    if step.status in (StepStatus.FAILED, StepStatus.EXPIRED) and unhandled:
        actions.append("retry_step")
    open_now = (StepStatus.FAILED, StepStatus.EXPIRED, StepStatus.SCHEDULED, StepStatus.RETRYING, StepStatus.WAITING)
    if step.status in open_now and unhandled and plan.steps[step_id].is_skippable:
        actions.append("skip_step")
    if plan.steps[step_id].kind is StepKind.ACTIVITY and step.status in open_now and unhandled:
        actions.append("complete_step")
    if step.approval and step.status is StepStatus.WAITING:
        actions.append("reassign_step")
    return tuple(actions)


def _step_words(
    plan: Plan,
    state: RunState,
    step_id: str,
    step: StepState,
    waits_for: tuple[str, ...],
    names: Mapping[str, str],
) -> tuple[str, str]:
    """What is, and what happens by itself: nothing in a run that is over or paused."""
    said, following = (
        undo_words(plan, step_id, step)
        or _open_words(plan, state, step_id, step, waits_for, names)
        or ended_words(plan, state, step_id, step)
    )
    if state.is_terminal:
        return said, ""
    if state.status is RunStatus.PAUSED and step.status in (StepStatus.PENDING, *ACTIVE_STEPS):
        return said, "It goes on when the run is resumed."
    return said, following


def _open_words(
    plan: Plan,
    state: RunState,
    step_id: str,
    step: StepState,
    waits_for: tuple[str, ...],
    names: Mapping[str, str],
) -> tuple[str, str] | None:
    label = f"'{plan.label(step_id)}'"
    config = plan.steps[step_id].config
    attempts = config.retry.max_attempts if isinstance(config, ActivityConfig) else 1
    match step.status:
        case StepStatus.PENDING:
            open_edges = [e for e in plan.incoming[step_id] if e.key not in state.edges]
            before = list(dict.fromkeys(f"'{plan.label(e.source)}'" for e in open_edges))
            word = "and" if plan.steps[step_id].join is Join.ALL else "or"
            return f"{label} has not begun.", f"It begins after {listed(before, word)}." if before else ""
        case StepStatus.SCHEDULED | StepStatus.RUNNING | StepStatus.RETRYING if step.items:
            return items_words(step.items, label)
        case StepStatus.SCHEDULED | StepStatus.RUNNING | StepStatus.RETRYING if step.probe:
            return probe_words(step, label)
        case StepStatus.OUTCOME_UNKNOWN:
            message = step.error.message if step.error else "its answer was lost"
            return (
                sentence(f"The outcome of {label} has been unknown since {clock(step.since)}: {message}"),
                "An operator says whether it happened: then the run goes on, or the call is made again.",
            )
        case StepStatus.SCHEDULED:
            return f"{label} has waited for a free worker since {clock(step.since)}.", "A worker takes it."
        case StepStatus.RUNNING:
            return (
                f"{label} is being done by worker '{step.worker}' since {clock(step.since)} "
                f"(attempt {step.tries} of {attempts}).",
                f"It must answer by {clock(step.due)}." if step.due else "",
            )
        case StepStatus.RETRYING:
            message = step.error.message if step.error else "it failed"
            return (
                sentence(f"{label} failed at attempt {step.tries} of {attempts}: {message}"),
                f"It tries again at {clock(step.due)}." if step.due else "",
            )
        case StepStatus.WAITING if isinstance(config, ActivityConfig) and config.poll:
            return poll_words(plan, config.poll, step, label)
        case StepStatus.WAITING:
            return _waiting_words(plan, step_id, step, label, waits_for, names)
        case _:
            return None


def _waiting_words(
    plan: Plan, step_id: str, step: StepState, label: str, waits_for: tuple[str, ...], names: Mapping[str, str]
) -> tuple[str, str]:
    if plan.steps[step_id].kind is StepKind.WAIT:
        return f"{label} waits until {clock(step.due)}.", f"The run goes on at {clock(step.due)}."
    expiry = f"It expires at {clock(step.due)}." if step.timer is TimerKind.EXPIRY and step.due else ""
    config = plan.steps[step_id].config
    if isinstance(config, SubflowConfig):
        said = f"{label} has waited for the run {step.child} of '{config.definition}' since {clock(step.since)}."
        return said, f"It goes on when that run has ended. {expiry}".rstrip()
    if isinstance(config, SignalConfig):
        what = f"the signal '{config.signal}' with the key '{step.key}'"
        return f"{label} has waited for {what} since {clock(step.since)}.", expiry
    return asking_words(plan, step_id, step, waits_for, names)
