"""Policies about time: the zone, the business calendar, the deadline of a run."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from signoff.core.calendar import find_zone, parse_duration
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import DeadlinePolicy, Definition
from signoff.core.problem import Problem
from signoff.core.retention import MAX_DAYS
from signoff.core.worktime import compile_calendar


def check_times(d: Definition, _: Surroundings) -> Iterator[Problem]:
    """Times that can be read, a calendar that opens, a deadline that waits for something."""
    policies = d.policies
    if find_zone(policies.zone) is None:
        message = f"The time zone '{policies.zone[:60]}' is not known."
        yield Problem("unknown_zone", message, "Use an IANA name such as Europe/Berlin.", path="policies.zone")
    try:
        compile_calendar(policies.calendar, ZoneInfo("UTC"))
    except ValueError as error:
        message = f"The business calendar is wrong. {error}"
        yield Problem("bad_calendar", message, "Correct its days, hours or holidays.", path="policies.calendar")
    if policies.deadline:
        yield from _deadline(policies.deadline)
    elif policies.on_deadline is not DeadlinePolicy.NOTIFY:
        message = "The definition says what happens at the deadline of a run, but has none."
        yield Problem("unused_deadline", message, "Give a deadline.", path="policies.deadline")
    days = policies.retention_days
    if days is not None and not 1 <= days <= MAX_DAYS:
        message = f"Ended runs cannot be kept for {days} days."
        remedy = f"Write a whole number from 1 to {MAX_DAYS}, or leave it out."
        yield Problem("bad_retention", message, remedy, path="policies.retention_days")


def _deadline(text: str) -> Iterator[Problem]:
    try:
        zero = parse_duration(text).is_zero
    except ValueError as error:
        yield Problem("bad_duration", f"The deadline: {error}", "Correct the duration.", path="policies.deadline")
        return
    if zero:
        message = f"The deadline '{text}' is over at once."
        yield Problem("bad_duration", message, "Give a longer duration.", path="policies.deadline")
