"""Facts about steps that wait for something from outside the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from signoff.core.event import Edges, StepEvent
from signoff.core.states import Actor, ErrorInfo


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SubflowStarted(StepEvent):
    """The step waits for a run of another definition: `child` is its id, started in the same commit."""

    wire: ClassVar[str] = "subflow.started"
    generation: int
    child: str
    definition: str
    definition_version: int
    digest: str
    input: dict[str, Any] = field(default_factory=dict)
    due: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubflowEnded(StepEvent):
    """The child run ended: `outcome` is succeeded, rejected or failed (also where it was cancelled)."""

    wire: ClassVar[str] = "subflow.ended"
    generation: int
    child: str
    outcome: str
    error: ErrorInfo | None = None
    output: Any = None
    edges: Edges = ()
