"""What one tenant may have and use (W15), so that no tenant and no runaway workflow takes the capacity of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from signoff.core.calendar import parse_duration
from signoff.core.definition import MAX_STEPS
from signoff.core.states import Actor

MOST = 1_000_000_000
MAX_WEIGHT = 1000
MAX_NAMED = 200
MAX_NAME_CHARS = 200
EVENTS_PER_RUN = 10_000
BY_LIMITS = Actor("system", "limits", "Limits", "engine")
"""Who pauses a run that has used up what it may."""


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the workers may be used.

    Attributes:
        at_once: calls under way at the same time; None sets no limit, 0 lets nothing begin.
        per_minute: calls begun in a minute, spread evenly; None sets no limit.
    """

    at_once: int | None = None
    per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a tenant; None sets no limit.

    Attributes:
        steps: steps of a definition, when it is published.
        depth: steps on the longest branch of a definition, when it is published.
        open_runs: runs that have not ended; further ones are not started. Runs of subflows count, but always start.
        starts_per_minute: runs started in a minute, spread evenly.
        armed_timers: timers armed at the same time; no further runs start.
        events_per_run: a run is paused each time that its history has grown by as many events.
        run_time: how long a run may take, a duration; then it is paused. Empty sets no limit.
        activities: all activities of the tenant together.
        pools: activities by worker pool.
        connectors: activities by connector.
        weight: the tenant's part of the workers beside others that wait too; 2 gets twice as many calls as 1.
    """

    steps: int = MAX_STEPS
    depth: int = MAX_STEPS
    open_runs: int | None = None
    starts_per_minute: int | None = None
    armed_timers: int | None = None
    events_per_run: int | None = EVENTS_PER_RUN
    run_time: str = ""
    activities: Share = Share()
    pools: Mapping[str, Share] = field(default_factory=dict)
    connectors: Mapping[str, Share] = field(default_factory=dict)
    weight: int = 1


UNLIMITED = Limits()
"""What holds where nothing was set."""

_RANGES: dict[str, tuple[int, int, bool]] = {
    "steps": (1, MAX_STEPS, False),
    "depth": (1, MAX_STEPS, False),
    "open_runs": (0, MOST, True),
    "starts_per_minute": (0, MOST, True),
    "armed_timers": (0, MOST, True),
    "events_per_run": (100, MOST, True),
    "weight": (1, MAX_WEIGHT, False),
    "at_once": (0, MOST, True),
    "per_minute": (1, MOST, True),
}
"""Smallest, greatest, and whether there may be no limit."""


def read_limits(document: Mapping[str, Any]) -> tuple[Limits, tuple[str, ...]]:
    """Limits from their JSON form; what is not named keeps its default. Second: every problem as a sentence."""
    problems: list[str] = []
    known = {f.name for f in fields(Limits)}
    given: dict[str, Any] = {}
    for name, value in document.items():
        if name not in known:
            problems.append(f"There is no limit '{str(name)[:40]}'; there are: {', '.join(sorted(known))}.")
        elif name == "run_time":
            problems += _bad_duration(value)
            given[name] = value
        elif name == "activities":
            given[name] = _share(value, name, problems)
        elif name in ("pools", "connectors"):
            given[name] = _shares(value, name, problems)
        else:
            problems += _bad_number(value, name, name)
            given[name] = value
    return (UNLIMITED, tuple(problems)) if problems else (Limits(**given), ())


def odd_names(limits: Limits) -> tuple[str, ...]:
    """Names that no pool or connector can have, as sentences: such a limit would hold nothing back, unseen."""
    return tuple(
        f"A name in '{where}' must have 1 to {MAX_NAME_CHARS} characters that can be seen."
        for where, names in (("pools", limits.pools), ("connectors", limits.connectors))
        if not all(0 < len(n.strip()) == len(n) <= MAX_NAME_CHARS and n.isprintable() for n in names)
    )


def write_limits(limits: Limits) -> dict[str, Any]:
    """The JSON form, without what is at its default."""
    written: dict[str, Any] = {}
    for f in fields(Limits):
        value = getattr(limits, f.name)
        if value == getattr(UNLIMITED, f.name):
            continue
        if isinstance(value, Share):
            written[f.name] = _write_share(value)
        elif isinstance(value, Mapping):
            written[f.name] = {name: _write_share(share) for name, share in sorted(value.items())}
        else:
            written[f.name] = value
    return written


def _write_share(share: Share) -> dict[str, int]:
    both = {"at_once": share.at_once, "per_minute": share.per_minute}
    return {name: value for name, value in both.items() if value is not None}


def _share(value: Any, where: str, problems: list[str]) -> Share:
    if not isinstance(value, Mapping) or not set(value) <= {"at_once", "per_minute"}:
        problems.append(f"'{where}' must be an object with 'at_once' and 'per_minute'.")
        return Share()
    for name, number in value.items():
        problems += _bad_number(number, name, f"{where}.{name}")
    return Share(**value) if not problems else Share()


def _shares(value: Any, where: str, problems: list[str]) -> dict[str, Share]:
    if not isinstance(value, Mapping) or len(value) > MAX_NAMED:
        problems.append(f"'{where}' must be an object of at most {MAX_NAMED} names, each with its limits.")
        return {}
    return {str(name): _share(share, f"{where}.{str(name)[:60]}", problems) for name, share in value.items()}


def _bad_number(value: Any, name: str, where: str) -> list[str]:
    least, most, optional = _RANGES[name]
    if value is None and optional:
        return []
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return []
    return [f"'{where}' must be a whole number from {least} to {most}{', or null for no limit' if optional else ''}."]


def _bad_duration(value: Any) -> list[str]:
    if value == "":
        return []
    try:
        duration = parse_duration(str(value))
    except ValueError as error:
        return [f"'run_time': {error}"]
    return ["'run_time' is over at once."] if duration.is_zero else []
