"""Working time against a walker that looks at every minute (semantics §10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.calendar import parse_duration
from signoff.core.definition import BusinessCalendar
from signoff.core.worktime import WorkTime, compile_calendar
from tests.core.kit import World, approval, definition_of, document, wait

BERLIN = ZoneInfo("Europe/Berlin")
USUAL = BusinessCalendar()
SHORT = BusinessCalendar(("mon", "wed", "sat"), ("08:30-12:00", "13:00-17:30"), ("2027-03-29", "2027-10-30"))
NIGHTS = BusinessCalendar(("sat", "sun"), ("00:00-04:00", "22:00-24:00"))


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


@pytest.mark.parametrize(
    ("start", "duration", "expected"),
    [
        # 2027-01-04 is a Monday
        ("2027-01-04T09:00", "PT8H working", "2027-01-04T17:00"),
        ("2027-01-04T16:00", "PT2H working", "2027-01-05T10:00"),
        ("2027-01-08T16:00", "PT2H working", "2027-01-11T10:00"),
        ("2027-01-09T12:00", "PT1H working", "2027-01-11T10:00"),
        ("2027-01-04T10:30", "P2D working", "2027-01-06T10:30"),
        ("2027-01-08T10:30", "P1D working", "2027-01-11T10:30"),
        ("2027-01-09T23:00", "P1D working", "2027-01-12T09:00"),
        ("2027-01-04T20:00", "P1DT1H working", "2027-01-06T10:00"),
        # the night in which clocks change lies outside: an hour is an hour, a day keeps the wall clock
        ("2027-03-26T16:00", "PT2H working", "2027-03-29T10:00"),
        ("2027-03-26T16:00", "P1D working", "2027-03-29T16:00"),
    ],
)
def test_the_usual_week(start: str, duration: str, expected: str) -> None:
    assert compile_calendar(USUAL, BERLIN).later(local(start), duration) == local(expected)


def test_holidays_and_a_break_at_noon() -> None:
    calendar = compile_calendar(SHORT, BERLIN)
    assert calendar.later(local("2027-03-27T11:00"), "PT2H working") == local("2027-03-27T14:00")
    assert calendar.later(local("2027-03-27T12:30"), "P1D working") == local("2027-03-31T13:00"), "Monday is a holiday"


def is_open(calendar: WorkTime, at: datetime) -> bool:
    there = at.astimezone(calendar.zone)
    minute = there.hour * 60 + there.minute
    return calendar.is_working_day(there.date()) and any(a <= minute < b for a, b in calendar.periods)


@given(
    calendar=st.sampled_from([USUAL, SHORT, NIGHTS]),
    start=st.integers(0, 60 * 24 * 14),
    minutes=st.integers(1, 60 * 20),
    around=st.sampled_from(["2027-03-24T00:00", "2027-10-27T00:00", "2027-06-01T00:00"]),
)
def test_open_minutes_are_counted_one_by_one(calendar: BusinessCalendar, start: int, minutes: int, around: str) -> None:
    read = compile_calendar(calendar, BERLIN)
    begin = local(around) + timedelta(minutes=start)
    found = read.later(begin, f"PT{minutes}M working")
    at, left = begin, minutes
    while left:
        left -= is_open(read, at)
        at += timedelta(minutes=1)
    assert found == at


@given(st.integers(0, 60 * 24 * 14), st.integers(1, 30))
def test_working_days_end_on_working_days_in_open_hours(start: int, days: int) -> None:
    read = compile_calendar(SHORT, BERLIN)
    begin = local("2027-03-20T00:00") + timedelta(minutes=start)
    found = read.later(begin, f"P{days}D working")
    assert is_open(read, found)
    first, last = (x.astimezone(BERLIN).date() for x in (read.later(begin, "PT0S working"), found))
    between = [first + timedelta(days=i) for i in range(1, (last - first).days + 1)]
    assert sum(read.is_working_day(day) for day in between) == days


@pytest.mark.parametrize(
    "text", ["P1M working", "P1W working", "P1Y working", "PT2001H working", "P1D workingday", "working"]
)
def test_working_time_that_cannot_be_counted(text: str) -> None:
    with pytest.raises(ValueError, match=r"working|ISO 8601"):
        parse_duration(text)


@pytest.mark.parametrize(
    "calendar",
    [
        {"days": []},
        {"days": ["monday"]},
        {"hours": []},
        {"hours": ["9-17"]},
        {"hours": ["17:00-09:00"]},
        {"hours": ["09:00-24:30"]},
        {"hours": ["09:00-13:00", "12:00-17:00"]},
        {"holidays": ["Christmas"]},
    ],
)
def test_calendars_that_are_refused(calendar: dict[str, object]) -> None:
    doc = document(wait("a"), policies={"calendar": calendar})
    with pytest.raises(AssertionError, match="The business calendar is wrong"):
        definition_of(doc)


def test_steps_wait_and_expire_on_the_calendar_of_their_definition() -> None:
    policies = {"zone": "Europe/Berlin", "calendar": {"holidays": ["2027-01-05"]}}
    world = World(document(wait("a", "PT8H working"), approval("b", expires="P2D working"), policies=policies))
    # it is Monday 10:00 in Berlin; Tuesday is a holiday
    assert world.step("a").due == local("2027-01-06T10:00")
    assert world.step("b").due == local("2027-01-07T10:00")
