"""When an activity that polls is asked again, and when it gives up."""

from __future__ import annotations

from datetime import datetime, timedelta

from signoff.core.definition import Poll
from signoff.core.states import StepState
from signoff.core.worktime import WorkTime

MAX_POLLS = 1_000
"""A definition whose polls could be more is refused: each call is three events of the history."""


def deadline(poll: Poll, step: StepState, clock: WorkTime, now: datetime) -> datetime:
    """When it gives up: `for` after the first call was scheduled."""
    return clock.later(step.first_scheduled_at or now, poll.for_)


def next_poll_at(poll: Poll, step: StepState, clock: WorkTime, now: datetime) -> datetime | None:
    """When it is asked again after an answer of now; None where that was the last time."""
    end = deadline(poll, step, clock, now)
    if now >= end or step.polls + 1 >= MAX_POLLS:
        return None
    return min(clock.later(now, poll.every), end)


def most_polls(poll: Poll, clock: WorkTime, begin: datetime) -> float:
    """How many calls there could be.

    Raises:
        ValueError: a duration cannot be read.
    """
    every = clock.later(begin, poll.every) - begin
    whole = clock.later(begin, poll.for_) - begin
    return whole / every if every > timedelta(0) else float("inf")
