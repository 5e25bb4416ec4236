"""`evolve(plan, state, event)`: the only way a state comes into being. Total, pure, and free of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.evolve import approvals, effects, items, migrating, runs, steps, undoing
from signoff.core.plan import Plan
from signoff.core.states import RunState


def _item_or(
    of_item: Callable[[RunState, Any], RunState], of_step: Callable[[Plan, RunState, Any], RunState]
) -> Callable[[Plan, RunState, Any], RunState]:
    """Facts about an attempt are about an item of a list, or about the whole step."""
    return lambda plan, state, event: of_step(plan, state, event) if event.item < 0 else of_item(state, event)


_HANDLERS: dict[type[e.Event], Callable[[Plan, RunState, Any], RunState]] = {
    e.RunStarted: runs.started,
    e.DeadlinePassed: runs.deadline_passed,
    e.RunPaused: runs.paused,
    e.RunResumed: runs.resumed,
    e.RunStalled: runs.stalled,
    e.RunStopping: runs.stopping,
    e.RunEnded: runs.ended,
    e.InputEdited: runs.input_edited,
    e.RunMigrated: migrating.migrated,
    e.EvidenceRecorded: runs.unchanged,
    e.ActivityScheduled: _item_or(items.scheduled, steps.scheduled),
    e.ActivityStarted: _item_or(items.started, steps.started),
    e.ActivitySucceeded: steps.succeeded,
    e.ActivityFailed: _item_or(items.attempt_failed, steps.attempt_failed),
    e.RetryArmed: _item_or(items.retry_armed, steps.retry_armed),
    e.PollAnswered: effects.polled,
    e.ItemsOpened: items.opened,
    e.ItemSucceeded: items.succeeded,
    e.ItemFailed: items.failed,
    e.ItemsWithdrawn: items.withdrawn,
    e.ItemsSucceeded: items.all_succeeded,
    e.ProbeFoundNothing: effects.probe_found_nothing,
    e.OutcomeUnknown: effects.outcome_unknown,
    e.EffectConfirmed: effects.confirmed,
    e.EffectDenied: effects.denied,
    e.StepCompletedByHand: effects.completed_by_hand,
    e.StepFailed: steps.failed,
    e.WaitArmed: steps.wait_armed,
    e.WaitElapsed: steps.elapsed,
    e.StepBlocked: steps.blocked,
    e.StepNotTaken: steps.not_taken,
    e.StepCancelled: steps.cancelled,
    e.StepSkipped: steps.skipped,
    e.StepRetried: steps.retried,
    e.RunCompensating: undoing.compensating,
    e.StepCompensated: undoing.compensated,
    e.CompensationFailed: undoing.failed,
    e.CompensationRetried: undoing.retried,
    e.ApprovalOpened: approvals.opened,
    e.DecisionRecorded: approvals.decided,
    e.VoteWithdrawn: approvals.vote_withdrawn,
    e.PeopleReassigned: approvals.reassigned,
    e.NextAsked: approvals.next_asked,
    e.ReminderSent: approvals.reminded,
    e.PeopleEscalated: approvals.escalated,
    e.ApprovalSettled: approvals.settled,
    e.ApprovalExpired: approvals.expired,
    e.ApprovalVoided: approvals.voided,
    e.FormOpened: approvals.form_opened,
    e.FormSubmitted: approvals.submitted,
    e.FormVoided: approvals.voided,
    e.StepExpired: steps.expired,
    e.SignalAwaited: steps.signal_awaited,
    e.SignalReceived: steps.signal_received,
    e.SubflowStarted: steps.subflow_started,
    e.SubflowEnded: steps.subflow_ended,
    e.WorkReturned: approvals.returned,
}


def evolve(plan: Plan, state: RunState, event: e.Event) -> RunState:
    """The state after one more event; its sequence is one higher."""
    return _HANDLERS[type(event)](plan, altered(state, sequence=state.sequence + 1), event)


def replay(plan: Plan, events: Iterable[e.Event], state: RunState | None = None) -> RunState:
    """Fold events over a state (an empty one by default)."""
    current = state or RunState()
    for event in events:
        current = evolve(plan, current, event)
    return current
