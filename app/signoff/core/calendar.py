"""Durations and local times (semantics §10): exact hours, calendar days, gaps and folds.

All instants are aware UTC datetimes. A local time that does not exist moves forward by the gap; one that
exists twice is the first; a month later than the 31st is the last day of the month.
"""

from __future__ import annotations

import calendar as _months
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_DURATION = re.compile(
    r"P(?=.)(?:(?P<years>\d{1,9})Y)?(?:(?P<months>\d{1,9})M)?(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,6})?)S)?)?",
    re.ASCII,
)
WORKING = " WORKING"
MAX_DURATION_DAYS = 3660
MAX_WORKING_HOURS = 2000
FIRST_YEAR, LAST_YEAR = 1970, 2199


@dataclass(frozen=True, slots=True)
class Duration:
    """An ISO 8601 duration. Months and days count on the calendar of a zone, seconds are exact.

    Where `working`, days are working days and seconds pass only while the business calendar is open; see `worktime`.
    """

    months: int = 0
    days: int = 0
    seconds: float = 0.0
    working: bool = False

    @property
    def is_zero(self) -> bool:
        """True where nothing would be waited for."""
        return not (self.months or self.days or self.seconds)


def parse_duration(text: str) -> Duration:
    """Read a duration such as `PT2H30M`, `P3D`, `P1M2W` or, on the business calendar, `P2D working`.

    Raises:
        ValueError: with a sentence, where the text is no ISO 8601 duration or longer than ten years.
    """
    iso, word, rest = text.strip().upper().partition(WORKING)
    match = _DURATION.fullmatch(iso)
    if not match or rest:
        raise ValueError(f"'{text[:40]}' is not an ISO 8601 duration such as PT2H, P3D or P1M.")
    part = {k: float(v) if v else 0.0 for k, v in match.groupdict().items()}
    found = Duration(
        months=int(part["years"] * 12 + part["months"]),
        days=int(part["weeks"] * 7 + part["days"]),
        seconds=part["hours"] * 3600 + part["minutes"] * 60 + part["seconds"],
        working=bool(word),
    )
    if found.working and (found.months or part["weeks"]):
        raise ValueError(f"'{text[:40]}' counts working time in weeks or months; say it in days or hours.")
    if found.working and found.seconds > MAX_WORKING_HOURS * 3600:
        raise ValueError(f"'{text[:40]}' is longer than {MAX_WORKING_HOURS} working hours.")
    if found.months * 31 + found.days + found.seconds / 86400 > MAX_DURATION_DAYS:
        raise ValueError(f"'{text[:40]}' is longer than ten years.")
    return found


def find_zone(name: str) -> ZoneInfo | None:
    """The IANA zone of that name, or None."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def add_duration(at: datetime, duration: Duration, zone: ZoneInfo) -> datetime:
    """`at` plus the duration: months and days on the wall clock of `zone`, then exact seconds.

    Raises:
        ValueError: working time, which needs a business calendar; see `worktime`.
    """
    if duration.working:
        raise ValueError("Working time needs a business calendar.")
    result = at
    if duration.months or duration.days:
        local = at.astimezone(zone).replace(tzinfo=None)
        month = local.month - 1 + duration.months
        year, month = local.year + month // 12, month % 12 + 1
        day = min(local.day, _months.monthrange(year, month)[1])
        local = local.replace(year=year, month=month, day=day) + timedelta(days=duration.days)
        result = local_to_utc(local, zone)
    return result + timedelta(seconds=duration.seconds)


def local_to_utc(local: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a wall-clock time; gaps move forward, of two the first.

    `fold=0` is the first of two, and inside a gap it keeps the offset before it (PEP 495): moved forward by the gap.
    """
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def parse_local(text: str, zone: ZoneInfo) -> datetime:
    """An ISO 8601 date-time: with an offset it is that instant, without one a local time in `zone`.

    Raises:
        ValueError: with a sentence.
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"'{text[:40]}' is not a date and time such as 2027-03-28T09:00.") from None
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ValueError(f"'{text[:40]}' is not between the years {FIRST_YEAR} and {LAST_YEAR}.")
    return at.astimezone(UTC) if at.tzinfo else local_to_utc(at, zone)
