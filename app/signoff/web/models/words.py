"""Words and times as people read them: states, kinds, outcomes, "since when"."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

STEP_WORDS = {
    "pending": "Not started",
    "scheduled": "Queued",
    "running": "Running",
    "waiting": "Waiting",
    "retrying": "Will retry",
    "outcome_unknown": "Outcome unknown",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "rejected": "Rejected",
    "expired": "Expired",
    "skipped": "Skipped",
    "not_taken": "Not taken",
    "blocked": "Blocked",
    "cancelled": "Cancelled",
    "compensated": "Undone",
}
RUN_WORDS = {
    "running": "Running",
    "paused": "Paused",
    "stalled": "Needs a person",
    "cancelling": "Stopping",
    "compensating": "Undoing",
    "succeeded": "Succeeded",
    "rejected": "Rejected",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "terminated": "Terminated",
}
KIND_WORDS = {
    "activity": "Activity",
    "approval": "Approval",
    "wait": "Wait",
    "form": "Form",
    "signal": "Signal",
    "subflow": "Subflow",
}
EDGE_WORDS = {"": "not decided yet", "live": "taken", "dead": "not taken", "blocked": "blocked", "error": "in error"}
ACTION_WORDS = {
    "pause_run": "Pause",
    "resume_run": "Resume",
    "cancel_run": "Cancel run",
    "terminate_run": "Terminate",
    "edit_input": "Edit input",
    "retry_step": "Retry",
    "skip_step": "Skip",
    "confirm_effect": "It happened",
    "deny_effect": "It did not happen",
    "decide": "Decide",
    "submit_form": "Fill in",
    "complete_step": "Done by hand",
    "reassign_step": "Reassign",
    "withdraw_vote": "Withdraw your vote",
}


def step_word(status: str, kind: str = "") -> str:
    """The state of a step in one or two words."""
    if status == "succeeded":
        return {"approval": "Approved", "wait": "Elapsed", "form": "Filled in", "signal": "Received"}.get(
            kind, "Succeeded"
        )
    return STEP_WORDS.get(status, status)


def run_word(status: str) -> str:
    """The state of a run in a few words."""
    return RUN_WORDS.get(status, status)


def instant(at: datetime | None) -> str:
    """An instant to the second, in UTC; "–" where there is none."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "–"


def ago(at: datetime | None, now: datetime) -> str:
    """How long ago, in the largest unit that fits."""
    if at is None:
        return "–"
    return "just now" if now - at < timedelta(seconds=45) else f"{span(now - at)} ago"


def until(at: datetime, now: datetime) -> str:
    """How long from now, or that it is over."""
    return "due now" if at <= now else f"in {span(at - now)}"


def span(length: timedelta) -> str:
    """A length of time in its largest unit, rounded down: `3 days`, `1 hour`, `1 minute`."""
    seconds = max(0, int(length.total_seconds()))
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def short_digest(digest: str) -> str:
    """`sha256:` and the first twelve digits; the full one stands beside it as a title."""
    name, _, digits = digest.partition(":")
    return f"{name}:{digits[:12]}" if digits else digest


def value_text(value: object) -> str:
    """A JSON value as one reads it: `yes`, `1,250.5`, `–`; lists and objects as JSON."""
    match value:
        case None | "":
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:,.2f}"
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False, indent=1)
