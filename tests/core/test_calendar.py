"""Durations and local times, in particular those that do not exist or exist twice (semantics §10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.calendar import Duration, add_duration, find_zone, local_to_utc, parse_duration, parse_local
from tests.core.kit import World, document, wait

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT72H", Duration(0, 0, 259200.0)),
        ("P3D", Duration(0, 3, 0.0)),
        ("P1Y2M3W4DT5H6M7.5S", Duration(14, 25, 18367.5)),
        ("pt1m", Duration(0, 0, 60.0)),
        ("P1M", Duration(1, 0, 0.0)),
        (" P2W ", Duration(0, 14, 0.0)),
        ("PT0S", Duration()),
    ],
)
def test_durations_that_can_be_read(text: str, expected: Duration) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "3D",
        "P3",
        "P-3D",
        "P1.5D",
        "PT1H30",
        "P3DT",
        "P11Y",
        "P9999999999D",
        "P" + "9" * 400 + "D",
        "P٣D",
    ],
)
def test_durations_that_cannot(text: str) -> None:
    with pytest.raises(ValueError, match=r"ISO 8601 duration|ten years"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("start", "duration", "expected"),
    [
        # exact hours pass over the change, calendar days keep the wall clock
        ("2027-03-27T12:00", "PT24H", "2027-03-28T11:00Z"),
        ("2027-03-27T12:00", "P1D", "2027-03-28T10:00Z"),
        ("2027-10-30T12:00", "P1D", "2027-10-31T11:00Z"),
        ("2027-10-30T12:00", "PT24H", "2027-10-31T10:00Z"),
        # into the gap and into the doubled hour
        ("2027-03-27T02:30", "P1D", "2027-03-28T01:30Z"),
        ("2027-10-30T02:30", "P1D", "2027-10-31T00:30Z"),
        # days first, then exact time
        ("2027-03-27T12:00", "P1DT1H", "2027-03-28T11:00Z"),
        # a month later than the 31st is the last day of the month
        ("2027-01-31T12:00", "P1M", "2027-02-28T11:00Z"),
        ("2028-01-31T12:00", "P1M", "2028-02-29T11:00Z"),
        ("2027-12-31T12:00", "P2M", "2028-02-29T11:00Z"),
        ("2028-02-29T12:00", "P1Y", "2029-02-28T11:00Z"),
    ],
)
def test_adding_in_berlin(start: str, duration: str, expected: str) -> None:
    at = local_to_utc(datetime.fromisoformat(start), BERLIN)
    assert add_duration(at, parse_duration(duration), BERLIN) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("local", "zone", "expected"),
    [
        ("2027-03-28T02:30", "Europe/Berlin", "2027-03-28T01:30Z"),  # does not exist: moved forward by the gap
        ("2027-03-28T01:59", "Europe/Berlin", "2027-03-28T00:59Z"),
        ("2027-03-28T03:00", "Europe/Berlin", "2027-03-28T01:00Z"),
        ("2027-10-31T02:30", "Europe/Berlin", "2027-10-31T00:30Z"),  # exists twice: the first
        ("2027-10-31T03:00", "Europe/Berlin", "2027-10-31T02:00Z"),
        ("2027-04-04T01:45", "Australia/Lord_Howe", "2027-04-03T14:45Z"),  # half an hour, first of two
        ("2027-10-03T02:15", "Australia/Lord_Howe", "2027-10-02T15:45Z"),  # half an hour, in the gap
        ("2011-12-30T12:00", "Pacific/Apia", "2011-12-30T22:00Z"),  # a whole day that did not exist
        ("2027-06-01T12:00", "Asia/Kathmandu", "2027-06-01T06:15Z"),
        ("2027-03-28", "Europe/Berlin", "2027-03-27T23:00Z"),
        ("2027-03-28T02:30+00:00", "Europe/Berlin", "2027-03-28T02:30Z"),
        ("2027-03-28T02:30-05:00", "Europe/Berlin", "2027-03-28T07:30Z"),
    ],
)
def test_local_times(local: str, zone: str, expected: str) -> None:
    assert parse_local(local, ZoneInfo(zone)) == datetime.fromisoformat(expected)


@pytest.mark.parametrize("text", ["", "tomorrow", "2027-13-01", "0001-01-01T00:00", "9999-12-31T23:59", "2027-02-30"])
def test_times_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not"):
        parse_local(text, BERLIN)


@pytest.mark.parametrize(
    ("until", "fires_at"), [("2027-03-28T02:30", "2027-03-28T01:30Z"), ("2027-10-31T02:30", "2027-10-31T00:30Z")]
)
def test_c18_a_wait_until_an_odd_hour_fires_exactly_once(until: str, fires_at: str) -> None:
    world = World(document(wait("w", until=until), policies={"zone": "Europe/Berlin"}))
    due = datetime.fromisoformat(fires_at)
    assert world.step("w").due == due
    assert f"{due:%Y-%m-%d %H:%M} UTC" in world.explain().of("w").sentence
    world.now = due - timedelta(seconds=1)
    assert world.no(world.timer("w")).code == "not_due"
    world.now = due + timedelta(hours=2)
    timer = world.timer("w")
    world.ok(timer)
    assert world.no(timer).code == "obsolete_timer"
    elapsed = world.events[-2]
    assert (elapsed.wire, elapsed.at, elapsed.due) == ("wait.elapsed", world.now, due)  # type: ignore[attr-defined]


def test_a_time_in_the_past_is_due_at_once() -> None:
    world = World(document(wait("w", until="2020-01-01T00:00")))
    world.ok(world.timer("w"))
    assert world.run == "succeeded"


def test_zones() -> None:
    assert find_zone("Europe/Berlin") is not None
    for name in ("", "Berlin", "../etc/passwd", "/etc/passwd", "Europe", "\0", "x" * 5000):
        assert find_zone(name) is None, name


@settings(deadline=None, max_examples=200)
@given(
    at=st.integers(157_766_400, 4_102_444_800).map(lambda s: datetime.fromtimestamp(s, UTC)),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]),
    days=st.integers(0, 500),
    months=st.integers(0, 30),
)
def test_calendar_time_keeps_the_wall_clock_and_never_runs_backwards(
    at: datetime, zone: str, days: int, months: int
) -> None:
    where = ZoneInfo(zone)
    later = add_duration(at, Duration(months, days), where)
    assert later >= at - timedelta(hours=1)  # a doubled hour is left by its first
    before, after = at.astimezone(where), later.astimezone(where)
    moved = (after.hour, after.minute) != (before.hour, before.minute)
    gap = local_to_utc(after.replace(tzinfo=None), where) == later
    assert gap
    if moved:
        wall = after.replace(tzinfo=None, hour=before.hour, minute=before.minute)
        assert local_to_utc(wall, where).astimezone(where).replace(tzinfo=None) != wall
