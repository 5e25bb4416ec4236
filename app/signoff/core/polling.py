"""When an activity that polls is asked again, and when it gives up."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from signoff.core.calendar import add_duration, parse_duration
from signoff.core.definition import Poll
from signoff.core.states import StepState

MAX_POLLS = 1_000
"""A definition whose polls could be more is refused: each call is three events of the history."""


def deadline(poll: Poll, step: StepState, zone: ZoneInfo, now: datetime) -> datetime:
    """When it gives up: `for` after the first call was scheduled."""
    return add_duration(step.first_scheduled_at or now, parse_duration(poll.for_), zone)


def next_poll_at(poll: Poll, step: StepState, zone: ZoneInfo, now: datetime) -> datetime | None:
    """When it is asked again after an answer of now; None where that was the last time."""
    end = deadline(poll, step, zone, now)
    if now >= end or step.polls + 1 >= MAX_POLLS:
        return None
    return min(add_duration(now, parse_duration(poll.every), zone), end)


def most_polls(poll: Poll, zone: ZoneInfo, begin: datetime) -> float:
    """How many calls there could be.

    Raises:
        ValueError: a duration cannot be read.
    """
    every = add_duration(begin, parse_duration(poll.every), zone) - begin
    whole = add_duration(begin, parse_duration(poll.for_), zone) - begin
    return whole / every if every > timedelta(0) else float("inf")
