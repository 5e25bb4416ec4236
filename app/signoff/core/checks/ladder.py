"""Reminders and escalation: durations that can be read and begin in time, somebody to ask; and whom any step asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from signoff.core.calendar import find_zone, parse_duration
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import AskingConfig, Definition, Step
from signoff.core.problem import Problem
from signoff.core.worktime import WorkTime, compile_calendar

MAX_REMINDERS = 50
MAX_RUNGS = 10
_SOME_MONDAY = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)


def check_people(s: Step, groups: Sequence[str], people: Sequence[str], around: Surroundings) -> Iterator[Problem]:
    """Groups and people that exist, as far as that is known."""
    for g in groups:
        if around.groups is not None and g not in around.groups:
            known = ", ".join(sorted(around.groups)) or "none"
            message = f"'{s.label}' asks the group '{g}', which does not exist."
            yield Problem("unknown_group", message, f"Groups: {known}.", s.id)
        elif around.group_sizes.get(g) == 0:
            message = f"'{s.label}' asks the group '{g}', which has no members."
            yield Problem("empty_group", message, "Add members.", s.id)
    for p in people:
        if around.people is not None and p not in around.people:
            message = f"'{s.label}' asks '{p}', who has no account."
            yield Problem("unknown_person", message, "Correct the login.", s.id)


def check_ladder(d: Definition, s: Step, c: AskingConfig, around: Surroundings) -> Iterator[Problem]:
    """Everything about reminders and escalation of one step."""
    if c.reminders:
        yield from _reminders(s, c.reminders.every, c.reminders.at_most)
    if len(c.escalation) > MAX_RUNGS:
        message = f"'{s.label}' escalates {len(c.escalation)} times; at most {MAX_RUNGS} are allowed."
        yield Problem("too_many_rungs", message, "Remove some.", s.id)
    for number, rung in enumerate(c.escalation, 1):
        if not rung.after.strip():
            message = f"Escalation {number} of '{s.label}' does not say after how long."
            yield Problem("no_duration", message, "Give a duration such as P3D.", s.id)
        else:
            yield from check_duration(s, rung.after)
        if not rung.groups and not rung.people:
            message = f"Escalation {number} of '{s.label}' asks nobody."
            yield Problem("no_approvers", message, "Name a group or people.", s.id)
        yield from check_people(s, rung.groups, rung.people, around)
    yield from _in_time(d, s, c)


def _reminders(s: Step, every: str, at_most: int) -> Iterator[Problem]:
    if not every.strip():
        message = f"The reminders of '{s.label}' do not say how often."
        yield Problem("no_duration", message, "Give a duration such as P1D or P1D working.", s.id)
    else:
        yield from check_duration(s, every)
    if not 1 <= at_most <= MAX_REMINDERS:
        message = f"'{s.label}' must send between 1 and {MAX_REMINDERS} reminders."
        yield Problem("bad_reminders", message, "Correct the number.", s.id)


def _in_time(d: Definition, s: Step, c: AskingConfig) -> Iterator[Problem]:
    """What would never happen, because the step has expired before; and rungs out of order."""
    worktime = _worktime(d)
    rungs = [_reckoned(worktime, r.after) for r in c.escalation]
    expires = _reckoned(worktime, c.expires) if c.expires else None
    known = [at for at in rungs if at]
    if known != sorted(known) or len(set(known)) < len(known):
        message = f"The escalations of '{s.label}' are not in the order of their times."
        yield Problem("rungs_out_of_order", message, "Put the earliest first.", s.id)
    if expires is None:
        return
    for number, at in enumerate(rungs, 1):
        if at and at >= expires:
            message = f"Escalation {number} of '{s.label}' never happens: it expires before or then."
            yield Problem("never_happens", message, "Escalate earlier, or let it expire later.", s.id)
    first = _reckoned(worktime, c.reminders.every) if c.reminders else None
    if first and first >= expires:
        message = f"'{s.label}' never sends a reminder: it expires before or then."
        yield Problem("never_happens", message, "Remind earlier, or let it expire later.", s.id)


def _worktime(d: Definition) -> WorkTime | None:
    try:
        return compile_calendar(d.policies.calendar, find_zone(d.policies.zone) or ZoneInfo("UTC"))
    except ValueError:
        return None


def _reckoned(worktime: WorkTime | None, text: str) -> datetime | None:
    try:
        return worktime.later(_SOME_MONDAY, text) if worktime and text.strip() else None
    except ValueError:
        return None


def check_duration(s: Step, text: str) -> Iterator[Problem]:
    """A duration that can be read and waits for something."""
    try:
        duration = parse_duration(text)
    except ValueError as error:
        yield Problem("bad_duration", f"In '{s.label}': {error}", "Correct the duration.", s.id)
        return
    if duration.is_zero:
        message = f"In '{s.label}': '{text}' waits for nothing."
        yield Problem("bad_duration", message, "Give a longer duration.", s.id)
