"""When something would be due, in words, for whoever draws a process."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from signoff.core.calendar import find_zone, local_to_utc, parse_local
from signoff.core.definition import Policies
from signoff.core.wording import clock
from signoff.core.worktime import compile_calendar


def duration_words(policies: Policies, text: str, now: datetime) -> str:
    """When a duration that began now would be over; what is wrong with it; "" where there is none or it is computed."""
    if not text.strip() or text.startswith("="):
        return ""
    zone = find_zone(policies.zone) or ZoneInfo("UTC")
    try:
        due = compile_calendar(policies.calendar, zone).later(now, text)
    except ValueError as error:
        return str(error)
    return f"Begun now, it would be over on {_both(due, zone)}."


def until_words(policies: Policies, text: str) -> str:
    """Which instant a local time is, and what was done where it does not exist or exists twice; "" where unknown."""
    if not text.strip() or text.startswith("="):
        return ""
    zone = find_zone(policies.zone) or ZoneInfo("UTC")
    try:
        due = parse_local(text, zone)
    except ValueError as error:
        return str(error)
    return f"That is {_both(due, zone)}.{_odd(text, zone)}"


def _odd(text: str, zone: ZoneInfo) -> str:
    wanted = datetime.fromisoformat(text.strip())
    if wanted.tzinfo:
        return ""
    due = local_to_utc(wanted, zone)
    if due.astimezone(zone).replace(tzinfo=None) != wanted:
        return " The clocks go forward: the time asked for does not exist that day."
    second = wanted.replace(tzinfo=zone, fold=1)
    return " The clocks go back: of two such times this is the first." if second.timestamp() != due.timestamp() else ""


def _both(due: datetime, zone: ZoneInfo) -> str:
    local = due.astimezone(zone)
    there = f"{local:%Y-%m-%d %H:%M} {local.tzname()}"
    return there if not local.utcoffset() else f"{there} ({clock(due)})"
