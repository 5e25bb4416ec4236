"""Events of activities that call more than once: polls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from signoff.core.event import StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswered(StepEvent):
    """A call was answered, and what is waited for is not true yet; the next call is due, or `step.failed` follows."""

    wire: ClassVar[str] = "activity.poll_answered"
    generation: int
    attempt: int
    fence: int
    due: datetime | None = None
