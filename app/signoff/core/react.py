"""`react(plan, before, after, events)`: the effects that make the rows match the new state. Pure.

What a state implies (its claimable attempts, timers, open approvals) is computed in `implied`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signoff.core import events as e
from signoff.core.definition import ActivityConfig, ApprovalConfig, FormConfig, StepKind
from signoff.core.effects import (
    ApprovalMoved,
    ApprovalPut,
    AttemptMoved,
    AttemptPut,
    AttemptStatus,
    ChildEnded,
    ChildMoved,
    ChildStart,
    DeadLetterGone,
    Effect,
    Notice,
    SignalWaitGone,
    TimerCleared,
    TimerSet,
)
from signoff.core.implied import (
    ASKED,
    LOOKS_ON,
    VOTED,
    AttemptKey,
    Standing,
    implied_attempts,
    implied_children,
    implied_dead_letters,
    implied_deadline,
    implied_signal,
    implied_timer,
    implies_open_approval,
    standing,
)
from signoff.core.limits import BY_LIMITS
from signoff.core.plan import Plan
from signoff.core.probes import connector_of
from signoff.core.quorum import upcoming
from signoff.core.states import (
    CLAIMABLE_RUNS,
    RunState,
    RunStatus,
    StepStatus,
)


def react(
    plan: Plan, before: RunState, after: RunState, events: Sequence[e.Event], earlier: Plan | None = None
) -> list[Effect]:
    """Effects of one decision, in the order in which they must be written.

    `plan` is the one of `after`; where the run has just moved to another version, `earlier` is the one of `before`.
    """
    effects: list[Effect] = []
    whole = before.status is not after.status
    touched = [i for i, s in after.steps.items() if whole or before.steps.get(i) is not s]
    if after.deadline or before.deadline:
        _timer(implied_deadline(before), implied_deadline(after), effects)
    kinds = plan.kinds | earlier.kinds if earlier else plan.kinds
    gone = [i for i in before.steps if i not in after.steps] if earlier else []
    for step in touched:
        _timer(implied_timer(before, step), implied_timer(after, step), effects)
    for step in touched if StepKind.SIGNAL in kinds else ():
        _signals(earlier or plan, plan, before, after, step, effects)
    for step in gone:
        _timer(implied_timer(before, step), None, effects)
    _attempts(plan, before, after, events, touched, gone, effects)
    if after.parent or StepKind.SUBFLOW in kinds:
        _children(plan, before, after, events, effects)
    _approvals(plan, before, after, events, touched, gone, effects)
    if any(s.status is StepStatus.FAILED for run in (before, after) for s in run.steps.values()):
        _dead_letters(earlier or plan, plan, before, after, effects)
    _notices(plan, after, events, effects)
    return effects


def _children(plan: Plan, before: RunState, after: RunState, events: Sequence[e.Event], out: list[Effect]) -> None:
    """Children to start, to hold with their parent, and to stop where nobody waits for them any more."""
    ended = {x.child for x in events if isinstance(x, e.SubflowEnded)}
    for event in events:
        if isinstance(event, e.SubflowStarted):
            version, name = event.definition_version, event.definition
            out.append(ChildStart(event.step, event.generation, event.child, name, version, event.digest, event.input))
    was, now = implied_children(before), implied_children(after)
    begun = {x.child: None for x in events if isinstance(x, e.SubflowStarted)}
    for child in (was.keys() | begun.keys()) - now.keys() - ended:  # also one that was overtaken as it began
        do = "terminate" if after.status is RunStatus.TERMINATED else "cancel"
        out.append(ChildMoved(child, do, f"The run '{after.run_id}' waits for it no more.", after.undo))
    turned = before.status is not after.status
    for child in now:
        if after.status is RunStatus.PAUSED and (turned or child not in was):
            out.append(ChildMoved(child, "pause", f"The run '{after.run_id}' that started it was paused."))
        elif turned and after.status is RunStatus.CANCELLING:
            why = f"The run '{after.run_id}' that started it is being stopped."
            out.append(ChildMoved(child, "cancel", why, after.undo))
        elif turned and before.status is RunStatus.PAUSED:
            out.append(ChildMoved(child, "resume", f"The run '{after.run_id}' that started it was resumed."))
    if after.parent and any(isinstance(x, e.RunEnded) for x in events):
        output = child_output(plan, after) if after.status is RunStatus.SUCCEEDED else None
        step, generation = after.parent_step, after.parent_generation
        out.append(ChildEnded(after.parent, step, generation, after.run_id, str(after.status), after.reason, output))


def child_output(plan: Plan, run: RunState) -> dict[str, Any]:
    """What a run gives to the step that started it: the outputs of its end steps that were done, by step id."""
    done = (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
    return {i: run.outputs.get(i) for i in plan.steps if not plan.outgoing[i] and run.steps[i].status in done}


def _signals(earlier: Plan, plan: Plan, before: RunState, after: RunState, step: str, out: list[Effect]) -> None:
    was = implied_signal(earlier, before, step) if step in before.steps else None
    now = implied_signal(plan, after, step)
    if was != now:
        if was:
            out.append(SignalWaitGone(was.step, was.generation, was.name, was.key))
        if now:
            out.append(now)


def _timer(was: TimerSet | None, now: TimerSet | None, out: list[Effect]) -> None:
    if was != now:
        if was:
            out.append(TimerCleared(was.step, was.kind, was.generation, was.attempt, was.due))
        if now:
            out.append(now)


def _attempts(
    plan: Plan,
    before: RunState,
    after: RunState,
    events: Sequence[e.Event],
    touched: list[str],
    gone: list[str],
    out: list[Effect],
) -> None:
    """Rows of attempts: what the events say, then whatever the new state implies differently."""
    rows: dict[AttemptKey, AttemptStatus] = {}
    for step in touched:
        rows.update(implied_attempts(before, step))
    for step in gone:
        for _, generation, item, attempt in implied_attempts(before, step):
            old = before.steps[step]
            cancelled = AttemptStatus.CANCELLED
            out.append(AttemptMoved(step, generation, attempt, cancelled, old.fence, old.worker, item=item))
    for event in events:
        match event:
            case e.ActivityScheduled():
                put = _put(plan, event, after)
                out.append(put)
                rows[_key(event)] = put.status
            case e.ActivityStarted():
                out.append(_leased(plan, event))
                rows[_key(event)] = AttemptStatus.LEASED
            case (
                e.ActivitySucceeded()
                | e.ProbeFoundNothing()
                | e.PollAnswered()
                | e.ItemSucceeded()
                | e.StepCompensated(actor=None)
            ):
                out.append(_moved(event, AttemptStatus.SUCCEEDED))
                rows.pop(_key(event), None)
            case e.ActivityFailed():
                out.append(_moved(event, AttemptStatus.FAILED))
                rows.pop(_key(event), None)
            case _:
                pass
    for key, status in rows.items():
        now = implied_attempts(after, key[0]).get(key)
        if now is not status:
            moved = now or AttemptStatus.CANCELLED
            step, generation, item, attempt = key
            state = after.steps[step]
            out.append(AttemptMoved(step, generation, attempt, moved, state.fence, state.worker, item=item))


_Attempt = (
    e.ActivityScheduled
    | e.ActivityStarted
    | e.ActivitySucceeded
    | e.ActivityFailed
    | e.ProbeFoundNothing
    | e.PollAnswered
    | e.ItemSucceeded
    | e.StepCompensated
)


def _key(event: _Attempt) -> AttemptKey:
    return event.step, event.generation, getattr(event, "item", -1), event.attempt


def _put(plan: Plan, event: e.ActivityScheduled, after: RunState) -> AttemptPut:
    config = plan.steps[event.step].config
    assert isinstance(config, ActivityConfig)
    held = after.status not in CLAIMABLE_RUNS
    return AttemptPut(
        event.step,
        event.generation,
        event.attempt,
        AttemptStatus.HELD if held else AttemptStatus.READY,
        event.key,
        event.input,
        config.pool,
        config.priority,
        connector_of(config, event.probe, event.undo),
        event.item,
    )


def _leased(plan: Plan, event: e.ActivityStarted) -> AttemptMoved:
    config = plan.steps[event.step].config
    assert isinstance(config, ActivityConfig)
    return AttemptMoved(
        event.step,
        event.generation,
        event.attempt,
        AttemptStatus.LEASED,
        event.fence,
        event.worker,
        config.timeouts.heartbeat_s,
        event.item,
    )


def _moved(
    event: e.ActivitySucceeded
    | e.ActivityFailed
    | e.ProbeFoundNothing
    | e.PollAnswered
    | e.ItemSucceeded
    | e.StepCompensated,
    status: AttemptStatus,
) -> AttemptMoved:
    item = getattr(event, "item", -1)
    return AttemptMoved(event.step, event.generation, event.attempt, status, event.fence, item=item)


def _approvals(
    plan: Plan,
    before: RunState,
    after: RunState,
    events: Sequence[e.Event],
    touched: list[str],
    gone: list[str],
    out: list[Effect],
) -> None:
    """Rows of approvals and forms: opened, answered, closed where the new state no longer asks in that generation."""
    asked: dict[tuple[str, int], Standing] = {}
    for step in touched:
        if implies_open_approval(before, step):
            old = before.steps[step]
            asked[step, old.generation] = standing(old.approval)
    closed = [i for i in gone if implies_open_approval(before, i)]
    out += [ApprovalMoved(i, before.steps[i].generation, "cancelled") for i in closed]
    for event in events:
        if isinstance(event, e.ApprovalOpened | e.FormOpened):
            put = _asked(plan, event)
            out.append(put)
            asked[event.step, event.generation] = {
                **dict.fromkeys(put.later, LOOKS_ON),
                **dict.fromkeys(put.roster, ASKED),
            }
    for (step, generation), was in asked.items():
        state = after.steps[step]
        if state.generation != generation:
            out.append(ApprovalMoved(step, generation, "cancelled"))
            continue
        moved = _people_moved(was, standing(state.approval))
        if not implies_open_approval(after, step):
            out.append(ApprovalMoved(step, generation, state.outcome or "cancelled", *moved))
        elif any(moved):
            out.append(ApprovalMoved(step, generation, "open", *moved))


People = tuple[str, ...]


def _people_moved(was: Standing, now: Standing) -> tuple[People, People, People, People]:
    """(voted, newly or again asked, gone, only looking on) where that differs from before."""
    new = {p: how for p, how in now.items() if was.get(p) != how}
    return (
        tuple(p for p, how in new.items() if how == VOTED),
        tuple(p for p, how in new.items() if how == ASKED),
        tuple(p for p in was if p not in now),
        tuple(p for p, how in new.items() if how == LOOKS_ON),
    )


def _asked(plan: Plan, event: e.ApprovalOpened | e.FormOpened) -> ApprovalPut:
    config = plan.steps[event.step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    return ApprovalPut(
        event.step,
        event.generation,
        event.round,
        plan.label(event.step),
        config.instructions,
        event.roster,
        event.required if isinstance(event, e.ApprovalOpened) else 1,
        event.shown,
        event.shown_digest,
        event.due,
        event.wire,
        upcoming(event.quotas, event.roster) if isinstance(event, e.ApprovalOpened) and event.in_sequence else (),
    )


def _dead_letters(earlier: Plan, plan: Plan, before: RunState, after: RunState, out: list[Effect]) -> None:
    was, now = implied_dead_letters(earlier, before), implied_dead_letters(plan, after)
    out += [DeadLetterGone(i, x.generation) for i, x in was.items() if now.get(i) != x]
    out += [x for i, x in now.items() if was.get(i) != x]


def _notices(plan: Plan, after: RunState, events: Sequence[e.Event], out: list[Effect]) -> None:
    for event in events:
        match event:
            case e.ApprovalOpened() | e.FormOpened():
                data = {"label": plan.label(event.step), "roster": list(event.roster), "generation": event.generation}
                out.append(Notice(event.wire, event.step, data))
            case e.PeopleReassigned():
                data = {"label": plan.label(event.step), "roster": list(event.added), "removed": list(event.removed)}
                out.append(Notice(event.wire, event.step, data | {"generation": event.generation}))
            case e.NextAsked():
                data = {"label": plan.label(event.step), "roster": list(event.people), "generation": event.generation}
                out.append(Notice(event.wire, event.step, data))
            case e.ReminderSent():
                told = {"label": plan.label(event.step), "people": list(event.people), "number": event.number}
                told |= {"generation": event.generation}
                out.append(Notice("reminder", event.step, told))
            case e.PeopleEscalated():
                data = {"label": plan.label(event.step), "people": list(event.added), "removed": list(event.removed)}
                data |= {"asked": list(event.asked)}
                out.append(Notice("escalated", event.step, data | {"generation": event.generation}))
            case e.WorkReturned():
                data = {"to": event.to, "by": event.actor.id, "comment": event.comment}
                out.append(Notice("work.returned", event.step, data))
            case e.ApprovalVoided() | e.FormVoided():
                out.append(Notice(event.wire, event.step, {"reason": event.reason}))
            case e.RunPaused() if event.actor == BY_LIMITS:
                out.append(Notice("run.paused", "", {"reason": event.reason}))
            case e.DeadlinePassed() if not event.capped:
                out.append(Notice("run.overdue", "", {"due": event.due.isoformat()}))
            case e.RunStalled():
                out.append(Notice("run.stalled", "", {"reason": event.reason}))
            case e.RunEnded():
                out.append(Notice("run.ended", "", {"outcome": event.outcome, "reason": event.reason}))
            case _:
                pass
