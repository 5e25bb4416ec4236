"""Events of activities that call more than once: polls, and calls for each item of a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from signoff.core.event import Edges, StepEvent
from signoff.core.states import ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswered(StepEvent):
    """A call was answered, and what is waited for is not true yet; the next call is due, or `step.failed` follows."""

    wire: ClassVar[str] = "activity.poll_answered"
    generation: int
    attempt: int
    fence: int
    due: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsOpened(StepEvent):
    """A step began to work on a list. Items of `kept` had succeeded before a retry and are not done again."""

    wire: ClassVar[str] = "activity.items_opened"
    generation: int
    round: int
    items: list[Any] = field(default_factory=list)
    kept: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSucceeded(StepEvent):
    """The accepted result of one item's current claim."""

    wire: ClassVar[str] = "activity.item_succeeded"
    generation: int
    item: int
    attempt: int
    fence: int
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFailed(StepEvent):
    """One item failed for good: nothing more begins, and what is under way is awaited."""

    wire: ClassVar[str] = "activity.item_failed"
    generation: int
    item: int
    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsWithdrawn(StepEvent):
    """The run is being stopped: only items whose calls are under way are awaited."""

    wire: ClassVar[str] = "activity.items_withdrawn"
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsSucceeded(StepEvent):
    """All items have succeeded; `output` is the list of their results in the order of the items."""

    wire: ClassVar[str] = "activity.items_succeeded"
    generation: int
    output: list[Any] = field(default_factory=list)
    edges: Edges = ()
