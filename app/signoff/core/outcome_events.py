"""Events about work that no worker answered for: what a probe found, what nobody knows, what a person said or did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from signoff.core.event import Edges, StepEvent
from signoff.core.states import Actor, ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFoundNothing(StepEvent):
    """A probe found that the lost call had not taken effect; a retry or `step.failed` follows."""

    wire: ClassVar[str] = "activity.probe_found_nothing"
    generation: int
    attempt: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeUnknown(StepEvent):
    """Nobody knows whether the call took effect: only a person can say, and nothing is tried by itself."""

    wire: ClassVar[str] = "step.outcome_unknown"
    generation: int
    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectConfirmed(StepEvent):
    """An operator says that the call took effect: the step succeeded with this output."""

    wire: ClassVar[str] = "effect.confirmed"
    generation: int
    actor: Actor
    reason: str
    output: Any = None
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectDenied(StepEvent):
    """An operator says that the call took no effect: a new generation calls again with the same key."""

    wire: ClassVar[str] = "effect.denied"
    generation: int
    actor: Actor
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCompletedByHand(StepEvent):
    """Somebody did the work without a worker and says what came of it: the step succeeded with this output."""

    wire: ClassVar[str] = "step.completed_by_hand"
    generation: int
    actor: Actor
    reason: str
    output: Any = None
    edges: Edges = ()
