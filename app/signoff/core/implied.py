"""What a state implies: the timers that are armed, the attempts that are open, who is asked, what is waited for.

`react` makes rows from what changed of it; the verifier and the tests compare whole databases with it.
"""

from __future__ import annotations

from signoff.core.definition import SignalConfig
from signoff.core.effects import AttemptStatus, DeadLetterPut, SignalWaitPut, TimerSet
from signoff.core.flow import needs_somebody
from signoff.core.plan import Plan
from signoff.core.quorum import upcoming
from signoff.core.states import (
    CLAIMABLE_RUNS,
    ApprovalState,
    RunState,
    RunStatus,
    StepStatus,
    TimerKind,
    waits_for_child,
)

AttemptKey = tuple[str, int, int, int]
"""Step, generation, item, attempt."""


Standing = dict[str, tuple[int, int]]
"""Login to (whether an answer is awaited, whether one was given)."""
ASKED, VOTED, LOOKS_ON = (1, 0), (0, 1), (0, 0)


def implied_timer(run: RunState, step_id: str) -> TimerSet | None:
    """The one timer that must be armed for a step, or None."""
    step = run.steps.get(step_id)
    if step is None or step.timer is None or step.due is None or run.is_terminal or run.status is RunStatus.PAUSED:
        return None
    return TimerSet(step_id, step.timer, step.generation, step.attempt, step.due)


def implied_deadline(run: RunState) -> TimerSet | None:
    """The timer of the whole run, or None; its step is empty."""
    held = run.is_terminal or run.status is RunStatus.PAUSED or run.stopping
    return None if run.deadline is None or held else TimerSet("", TimerKind.DEADLINE, 0, 0, run.deadline)


def implied_timers(run: RunState) -> list[TimerSet]:
    """Every timer that must be armed for a run."""
    found = [implied_deadline(run), *(implied_timer(run, i) for i in run.steps)]
    return [timer for timer in found if timer]


def implied_attempt(run: RunState, step_id: str) -> AttemptStatus | None:
    """The status of the step's newest attempt while it is open, or None."""
    step = run.steps.get(step_id)
    if step is None or run.is_terminal:
        return None
    if step.status is StepStatus.SCHEDULED:
        return AttemptStatus.READY if run.status in CLAIMABLE_RUNS else AttemptStatus.HELD
    return AttemptStatus.LEASED if step.status is StepStatus.RUNNING else None


def implied_attempts(run: RunState, step_id: str) -> dict[AttemptKey, AttemptStatus]:
    """The open attempts of a step, by (step, generation, item, attempt); item -1 is the whole step."""
    step = run.steps.get(step_id)
    if step is None or run.is_terminal:
        return {}
    if step.items is None:
        one = implied_attempt(run, step_id)
        return {(step_id, step.generation, -1, step.attempt): one} if one else {}
    ready = AttemptStatus.READY if run.status in CLAIMABLE_RUNS else AttemptStatus.HELD
    meant = {StepStatus.SCHEDULED: ready, StepStatus.RUNNING: AttemptStatus.LEASED}
    return {
        (step_id, step.generation, x.item, x.attempt): meant[x.status] for x in step.items.open if x.status in meant
    }


def implies_open_approval(run: RunState, step_id: str) -> bool:
    """True while people are asked."""
    step = run.steps.get(step_id)
    return bool(step and step.approval and step.status is StepStatus.WAITING and not run.is_terminal)


def standing(approval: ApprovalState | None) -> Standing:
    """Everybody who sees an approval or form, and how they stand to it."""
    if approval is None:
        return {}
    later = upcoming(approval.quotas, approval.roster) if approval.in_sequence else ()
    found = dict.fromkeys((*approval.released, *later), LOOKS_ON)
    found |= dict.fromkeys(approval.roster, ASKED)
    return found | dict.fromkeys((p for v in approval.votes for p in (v.person, v.human)), VOTED)


def implied_dead_letters(plan: Plan, run: RunState) -> dict[str, DeadLetterPut]:
    """Activities that were tried, failed for good and need somebody, by step, while the run can still go on."""
    if run.is_terminal or (run.stopping and not run.undo):
        return {}
    return {
        i: DeadLetterPut(i, s.generation, s.error.code, s.error.message, s.attempt if s.polls else s.tries, s.since)
        for i, s in run.steps.items()
        if s.status is StepStatus.FAILED
        and s.attempt
        and s.error
        and (s.undo or (not run.stopping and needs_somebody(plan, run, i)))
    }


def implied_signal(plan: Plan, run: RunState, step_id: str) -> SignalWaitPut | None:
    """The message that a step takes now, or None; while a run is paused its messages are kept."""
    step, config = run.steps.get(step_id), plan.steps[step_id].config
    waits = step is not None and step.status is StepStatus.WAITING and run.status is not RunStatus.PAUSED
    if step is None or not waits or run.is_terminal or not isinstance(config, SignalConfig):
        return None
    return SignalWaitPut(step_id, step.generation, config.signal, step.key)


def implied_children(run: RunState) -> dict[str, str]:
    """The runs that steps wait for, with the step that does."""
    return {} if run.is_terminal else {s.child: i for i, s in run.steps.items() if waits_for_child(s)}
