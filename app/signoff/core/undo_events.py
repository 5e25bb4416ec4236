"""Events about compensation: what has been done is undone, the last step first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from signoff.core.event import Event, StepEvent
from signoff.core.states import Actor, ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompensating(Event):
    """Nothing is under way any more; what these steps did is undone now, in this order."""

    wire: ClassVar[str] = "run.compensating"
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCompensated(StepEvent):
    """The step's effect was undone: by its compensation, or by hand where `actor` says so."""

    wire: ClassVar[str] = "step.compensated"
    generation: int
    attempt: int
    fence: int
    answer: Any = None
    actor: Actor | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationFailed(StepEvent):
    """The compensation failed for good: a person has to do something."""

    wire: ClassVar[str] = "step.compensation_failed"
    generation: int
    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationRetried(StepEvent):
    """An operator lets the compensation be tried again, with the same idempotency key."""

    wire: ClassVar[str] = "step.compensation_retried"
    generation: int
    actor: Actor
    reason: str
