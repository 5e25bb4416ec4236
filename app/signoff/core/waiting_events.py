"""Facts about steps that wait for something from outside the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from signoff.core.event import Edges, StepEvent
from signoff.core.states import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAwaited(StepEvent):
    """The step waits for a message of this name and key."""

    wire: ClassVar[str] = "signal.awaited"
    generation: int
    name: str
    key: str
    due: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalReceived(StepEvent):
    """The step got its message: `output` is the checked payload, `sent_at` when the message came in."""

    wire: ClassVar[str] = "signal.received"
    generation: int
    name: str
    key: str
    message: str
    actor: Actor
    sent_at: datetime
    output: Any = None
    edges: Edges = ()
