"""Events in whole sentences, the same in the history of every face."""

from __future__ import annotations

from typing import Any

from signoff.core import events as e
from signoff.core.files import is_file
from signoff.core.plan import Plan
from signoff.core.wording import clock


def actor_of(event: e.Event) -> str:
    """The name of who did it; "" where no person or worker did."""
    actor = getattr(event, "actor", None)
    if actor is not None:
        return _who(event)
    return str(getattr(event, "worker", ""))


def _who(event: Any) -> str:
    """The name of who did it, and for whom."""
    right = getattr(event, "delegation", None)
    return f"{event.actor.shown} on behalf of {right.name}" if right else str(event.actor.shown)


def sentence_of(event: e.Event, plan: Plan) -> str:
    """What happened, for people."""
    step = getattr(event, "step", "")
    label = f"'{plan.label(step)}'" if step in plan.steps else f"'{step}'"
    return (
        _about_run(event, plan)
        or _about_activity(event, label)
        or _about_people(event, label, plan)
        or _about_mending(event, label)
        or _about_step(event, label, plan)
    )


def _about_run(event: e.Event, plan: Plan) -> str:
    match event:
        case e.RunStarted():
            key = f" for '{event.business_key}'" if event.business_key else ""
            if event.parent:
                asked = f"for {event.actor.shown}" if event.actor.id else ""
                where = f"Step '{event.parent_step}' of the run {event.parent}"
                return f"{where} started the run {asked} with version {event.definition_version}."
            return f"{event.actor.shown} started the run{key} with version {event.definition_version}."
        case e.DeadlinePassed() if event.capped:
            return f"The run did not end by {clock(event.due)}, within the {event.capped} that a run may take here."
        case e.DeadlinePassed():
            return f"The run did not end by its deadline, {clock(event.due)}."
        case e.RunCompensating():
            labels = ", ".join(f"'{plan.label(i)}'" if i in plan.steps else i for i in event.steps)
            return f"What was done is being undone, the last first: {labels}."
        case e.RunPaused():
            return f"{event.actor.shown} paused the run: {event.reason}"
        case e.RunResumed():
            return f"{event.actor.shown} resumed the run: {event.reason}"
        case e.RunStalled():
            return f"The run needs a person. {event.reason}"
        case e.RunStopping():
            who = event.actor.shown if event.actor else "The failure policy"
            what = "stopping the run and undoing what was done" if event.compensate else "stopping the run"
            return f"{who} is {what}: {event.reason}"
        case e.RunEnded():
            who = f" by {event.actor.shown}" if event.actor else ""
            return f"The run ended as {event.outcome}{who}." + (f" {event.reason}" if event.reason else "")
        case e.InputEdited():
            return f"{event.actor.shown} changed the input: {event.reason}"
        case e.RunMigrated():
            versions = f"version {event.from_version} to version {event.definition_version}"
            by = f" by the plan {event.plan_id}, which {event.approved_by} approved" if event.plan_id else ""
            return f"{event.actor.shown} moved the run from {versions}{by}: {event.reason}"
        case e.EvidenceRecorded():
            return f"Kept as evidence ({event.kind}): {event.message}"
        case _:
            return ""


def _of_item(event: e.ActivityScheduled | e.ActivityStarted | e.ActivityFailed | e.RetryArmed, label: str) -> str:
    return label if event.item < 0 else f"item {event.item} of {label}"


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]


def _about_activity(event: e.Event, label: str) -> str:
    match event:
        case e.ActivityScheduled():
            if event.undo:
                return f"{label} may be undone (attempt {event.undo})."
            if event.probe:
                return f"A probe may find out whether {label} happened (attempt {event.attempt})."
            return f"{_begin(_of_item(event, label))} may be done (attempt {event.attempt})."
        case e.ActivityStarted():
            what = f"(attempt {event.attempt}, fencing token {event.fence})"
            return f"Worker '{event.worker}' began {_of_item(event, label)} {what}."
        case e.ActivitySucceeded():
            if event.probed:
                return f"The probe found that {label} had happened: it succeeded."
            return f"{label} succeeded at attempt {event.attempt}."
        case e.ItemsOpened():
            kept = f"; {len(event.kept)} of them had succeeded before" if event.kept else ""
            return f"{label} began with a list of {len(event.items)} items{kept}."
        case e.ItemSucceeded():
            return f"Item {event.item} of {label} succeeded at attempt {event.attempt}."
        case e.ItemFailed():
            return f"Item {event.item} of {label} failed: {event.error.message}"
        case e.ItemsWithdrawn():
            return f"Nothing more of {label} begins: {event.reason}"
        case e.ItemsSucceeded():
            return f"{label} succeeded with all {len(event.output)} items."
        case e.PollAnswered():
            again = f", so it is asked again at {clock(event.due)}" if event.due else ""
            return f"{label} was answered, but what it waits for is not true yet{again}."
        case e.ProbeFoundNothing():
            return f"The probe found that {label} had not happened."
        case e.OutcomeUnknown():
            return f"The outcome of {label} is unknown: {event.error.message}"
        case e.ActivityFailed():
            return f"Attempt {event.attempt} of {_of_item(event, label)} failed: {event.error.message}"
        case e.RetryArmed():
            if event.undo:
                return f"Undoing {label} will be tried again at {clock(event.due)} (attempt {event.undo})."
            if event.probe:
                return f"A probe will find out at {clock(event.due)} whether {label} happened."
            return (
                f"{_begin(_of_item(event, label))} will be tried again at {clock(event.due)} (attempt {event.attempt})."
            )
        case _:
            return ""


def _about_people(event: e.Event, label: str, plan: Plan) -> str:
    match event:
        case e.ApprovalOpened():
            return _opening(event, label)
        case e.DecisionRecorded():
            comment = f": {event.comment}" if event.comment else "."
            values = f" ({_values(event.values)})" if event.values else ""
            return f"{_who(event)} {event.outcome} {label}{values}{comment}"
        case e.VoteWithdrawn():
            comment = f": {event.comment}" if event.comment else "."
            return f"{event.actor.shown} withdrew the decision on {label}{comment}"
        case e.PeopleReassigned():
            more = [f"{', '.join(event.added)} asked as well"] if event.added else []
            more += [f"{', '.join(event.removed)} asked no more"] if event.removed else []
            return f"{event.actor.shown} reassigned {label} ({'; '.join(more)}): {event.reason}"
        case e.NextAsked():
            return f"{label} was approved by enough, so it was put before {event.name}: {', '.join(event.people)}."
        case e.ReminderSent():
            whom = ", ".join(event.people) or "nobody, because nobody is left who may answer"
            return f"{label} was not answered yet: reminder {event.number} went to {whom}."
        case e.PeopleEscalated():
            return _escalation(event, label)
        case e.ApprovalSettled():
            return f"{label} is {event.outcome}."
        case e.ApprovalExpired():
            return f"{label} expired: nobody decided by {clock(event.due)}."
        case e.FormOpened():
            return f"{', '.join(event.roster)} {'was' if len(event.roster) == 1 else 'were'} asked to fill in {label}."
        case e.FormSubmitted():
            return f"{_who(event)} filled in {label}."
        case e.FormVoided():
            return f"{label} is asked again: {event.reason}"
        case e.WorkReturned():
            target = plan.label(event.to) if event.to in plan.steps else event.to
            return f"{_who(event)} sent the work back from {label} to '{target}': {event.comment}"
        case e.ApprovalVoided():
            return f"The decisions on {label} so far are void: {event.reason}"
        case _:
            return ""


def _about_mending(event: e.Event, label: str) -> str:
    match event:
        case e.StepSkipped():
            return f"{event.actor.shown} skipped {label}: {event.reason}"
        case e.EffectConfirmed():
            return f"{event.actor.shown} said that {label} had happened: {event.reason}"
        case e.StepCompletedByHand():
            return f"{event.actor.shown} did {label} by hand: {event.reason}"
        case e.EffectDenied():
            return f"{event.actor.shown} said that {label} had not happened, so it is done again: {event.reason}"
        case e.StepCompensated():
            by_hand = f"{event.actor.shown} undid {label} by hand: {event.reason}" if event.actor else ""
            return by_hand or f"{label} was undone."
        case e.CompensationFailed():
            return f"{label} could not be undone: {event.error.message}"
        case e.CompensationRetried():
            return f"{event.actor.shown} lets undoing {label} be tried again: {event.reason}"
        case e.StepRetried():
            new = " as a new effect" if event.new_effect else ""
            return f"{event.actor.shown} began {label} again{new}: {event.reason}"
        case _:
            return ""


def _opening(event: e.ApprovalOpened, label: str) -> str:
    if event.quotas:
        each = [f"{q.required} of {q.name} ({', '.join(q.people)})" for q in event.quotas]
        how = ", then ".join(each) if event.in_sequence else " and ".join(each)
        return f"{label} was put before {how}."
    count = f"{event.required} of " if event.required > 1 else ""
    return f"{label} was put before {count}{', '.join(event.roster)}."


def _values(values: dict[str, object]) -> str:
    """What was filled in, cut where it is long."""
    text = ", ".join(f"{name}: {_value(value)}" for name, value in values.items())
    return text if len(text) <= 300 else f"{text[:299]}…"


def _value(value: object) -> object:
    return f"file “{value['name']}”" if isinstance(value, dict) and is_file(value) else value


def _escalation(event: e.PeopleEscalated, label: str) -> str:
    asked = ", ".join(event.asked) or "nobody who may"
    begun = f"{label} was not answered by {asked} until {clock(event.due)}, so it was escalated"
    if not event.added:
        return f"{begun}, but nobody new could be asked."
    return f"{begun} to {', '.join(event.added)}{', who took over.' if event.removed else ' as well.'}"


def _about_step(event: e.Event, label: str, plan: Plan) -> str:
    match event:
        case e.StepFailed():
            return f"{label} failed: {event.error.message}"
        case e.SignalAwaited():
            return f"{label} waits for the signal '{event.name}' with the key '{event.key}'."
        case e.SignalReceived():
            early = event.sent_at < event.at
            when = f", which had come at {clock(event.sent_at)}" if early else ""
            return f"{label} got the signal '{event.name}' from {event.actor.shown} (message '{event.message}'){when}."
        case e.SubflowStarted():
            which = f"version {event.definition_version} of '{event.definition}'"
            return f"{label} started the run {event.child} of {which}."
        case e.SubflowEnded():
            why = f": {event.error.message}" if event.error else "."
            return f"{label} {event.outcome} with the run {event.child}{why}"
        case e.StepExpired():
            return f"{label} expired at {clock(event.due)}."
        case e.WaitArmed():
            return f"{label} waits until {clock(event.due)}."
        case e.WaitElapsed():
            return f"{label} is over (due {clock(event.due)})."
        case e.StepBlocked():
            cause = plan.label(event.cause) if event.cause in plan.steps else event.cause
            return f"{label} cannot begin, because '{cause}' did not end well."
        case e.StepNotTaken():
            return f"{label} was not taken."
        case e.StepCancelled():
            return f"{label} was cancelled: {event.reason}"
        case _:
            return event.wire
