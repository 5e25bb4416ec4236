"""The common part of all events, see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Common part of all facts."""

    wire: ClassVar[str] = ""
    version: ClassVar[int] = 1
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """A fact about one step."""

    step: str
