"""What a real run went through, to be played against another version of its definition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from signoff.core import events as e
from signoff.core.codec import decode_event
from signoff.core.script import Script, script_of
from signoff.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Recording:
    """The start of a real run, how it ended, and a script of everything that came from outside."""

    input: Mapping[str, Any]
    started_by: str
    started_at: datetime
    outcome: str
    script: Script
    people: tuple[str, ...]


def from_history(history: str | Path | Iterable[Any]) -> Recording:
    """A recording of a run.

    Args:
        history: the file that `signoff run history RUN --json` wrote, or the answer of
            `signoff.queries.list_events(tenant, run_id)`.

    Raises:
        InvalidInput: it does not begin with the start of a run.
    """
    listed = json.loads(Path(history).read_text("utf-8")) if isinstance(history, str | Path) else history
    events = [_event(x) for x in listed]
    first = events[0] if events else None
    if not isinstance(first, e.RunStarted):
        raise InvalidInput("The history does not begin with the start of a run.", remedy="Export the whole history.")
    ended = [x.outcome for x in events if isinstance(x, e.RunEnded)]
    edited = [x.input for x in events if isinstance(x, e.InputEdited)]
    people = {p for x in events for p in getattr(x, "roster", ())}
    return Recording(
        edited[-1] if edited else first.input,
        first.actor.id,
        first.at,
        ended[-1] if ended else "",
        script_of(events),
        tuple(sorted(people)),
    )


def _event(x: Any) -> e.Event:
    """From an `EventView` or its JSON; histories do not say the version of an event's payload, which is today's."""
    values = x if isinstance(x, Mapping) else {n: getattr(x, n) for n in ("at", "type", "step", "data")}
    at = values["at"]
    wire = values["type"]
    known = next((cls for cls in e.ALL_EVENTS if cls.wire == wire), None)
    if known is None:
        raise InvalidInput(f"The history holds an event '{str(wire)[:60]}' that this release does not know.")
    at = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    return decode_event(wire, known.version, at, values.get("step", ""), values.get("data") or {})
