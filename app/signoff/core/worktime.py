"""Working time: durations counted on a business calendar (semantics §10).

A working day is a day of the calendar that is no holiday; it is open in the calendar's periods, on the wall clock of
the definition's zone. `P2D working` is the same time of day two working days later; `PT8H working` is eight open
hours later. What begins while nobody works begins at the next opening.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from signoff.core.calendar import Duration, add_duration, local_to_utc, parse_duration
from signoff.core.definition import BusinessCalendar

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_HOLIDAYS = 1000
_PERIOD = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)", re.ASCII)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WorkTime:
    """A business calendar that was read.

    Attributes:
        weekdays: numbers of the working days, Monday is 0.
        periods: (from, to) in minutes after midnight, in order.
        holidays: days on which nobody works.
        zone: whose wall clock counts.
    """

    weekdays: frozenset[int]
    periods: tuple[tuple[int, int], ...]
    holidays: frozenset[date]
    zone: ZoneInfo

    def later(self, at: datetime, text: str) -> datetime:
        """`at` plus a duration in its written form, as exact, calendar or working time.

        Raises:
            ValueError: the text is no duration.
        """
        duration = parse_duration(text)
        return self._working(at, duration) if duration.working else add_duration(at, duration, self.zone)

    def is_working_day(self, day: date) -> bool:
        """Whether somebody works on that day."""
        return day.weekday() in self.weekdays and day not in self.holidays

    def _working(self, at: datetime, duration: Duration) -> datetime:
        begin, _ = next(self._open_from(at))
        if duration.days:
            local = begin.astimezone(self.zone)
            day, left = local.date(), duration.days
            while left:
                day += _DAY
                left -= self.is_working_day(day)
            begin = local_to_utc(datetime.combine(day, local.time()), self.zone)
        left_s = timedelta(seconds=duration.seconds)
        if not left_s:
            return begin
        for opens, closes in self._open_from(begin):
            if left_s <= closes - opens:
                return opens + left_s
            left_s -= closes - opens
        raise AssertionError("working days never end")

    def _open_from(self, at: datetime) -> Iterator[tuple[datetime, datetime]]:
        """What is left of the opening periods from an instant on, without end."""
        day = at.astimezone(self.zone).date()
        while True:
            if self.is_working_day(day):
                for begin, end in self.periods:
                    opens, closes = self._instant(day, begin), self._instant(day, end)
                    if closes > max(opens, at):
                        yield max(opens, at), closes
            day += _DAY

    def _instant(self, day: date, minutes: int) -> datetime:
        midnight = datetime.combine(day, time())
        return local_to_utc(midnight + timedelta(minutes=minutes), self.zone).astimezone(UTC)


def compile_calendar(calendar: BusinessCalendar, zone: ZoneInfo) -> WorkTime:
    """Read a business calendar.

    Raises:
        ValueError: with a sentence, where it is wrong or never opens.
    """
    weekdays = frozenset(_weekday(d) for d in calendar.days)
    if not weekdays:
        raise ValueError("No day of the week is a working day.")
    periods = tuple(_period(p) for p in calendar.hours)
    if not periods:
        raise ValueError("A working day has no opening hours.")
    for (_, closes), (opens, _) in pairwise(periods):
        if opens < closes:
            raise ValueError("The opening hours overlap or are out of order.")
    if len(calendar.holidays) > MAX_HOLIDAYS:
        raise ValueError(f"There are more than {MAX_HOLIDAYS} holidays.")
    return WorkTime(weekdays, periods, frozenset(_holiday(d) for d in calendar.holidays), zone)


def _weekday(text: str) -> int:
    if text not in DAYS:
        raise ValueError(f"'{text[:20]}' is not one of {', '.join(DAYS)}.")
    return DAYS.index(text)


def _period(text: str) -> tuple[int, int]:
    match = _PERIOD.fullmatch(text)
    opens, closes = (int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])) if match else (0, 0)
    if not opens < closes <= 24 * 60:
        raise ValueError(f"'{text[:20]}' is no period of a day such as 09:00-17:00.")
    return opens, closes


def _holiday(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text[:20]}' is not a date such as 2027-12-25.") from None
