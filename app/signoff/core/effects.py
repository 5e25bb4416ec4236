"""What the outside has to do or know after a decision: rows of attempts, timers, approvals; notices.

Effects are derived from states and events by `react`; the store writes them in the same commit, and
nothing leaves the process before that commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from signoff.core.states import TimerKind


class AttemptStatus(StrEnum):
    """Where an attempt's row is: claimable, held back by a pause, leased, or over."""

    READY = "ready"
    HELD = "held"
    LEASED = "leased"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AttemptPut:
    """A new attempt."""

    step: str
    generation: int
    attempt: int
    status: AttemptStatus
    key: str
    input: Any
    pool: str
    priority: int
    connector: str
    item: int = -1


@dataclass(frozen=True, slots=True)
class AttemptMoved:
    """An attempt changed its status; `fence` is the token of its newest claim (0 before the first)."""

    step: str
    generation: int
    attempt: int
    status: AttemptStatus
    fence: int = 0
    worker: str = ""
    heartbeat_s: float = 30.0
    item: int = -1


@dataclass(frozen=True, slots=True)
class TimerSet:
    """A timer must fire at `due`."""

    step: str
    kind: TimerKind
    generation: int
    attempt: int
    due: datetime


@dataclass(frozen=True, slots=True)
class TimerCleared:
    """A timer fired or became obsolete."""

    step: str
    kind: TimerKind
    generation: int
    attempt: int
    due: datetime


@dataclass(frozen=True, slots=True)
class ApprovalPut:
    """People are asked; each on the roster finds it in their inbox. `opened` is the wire name of the event.

    `later` are those of a sequence whose turn has not come.
    """

    step: str
    generation: int
    round: int
    label: str
    instructions: str
    roster: tuple[str, ...]
    required: int
    shown: Any
    shown_digest: str
    due: datetime | None
    opened: str = "approval.opened"
    later: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalMoved:
    """An approval or form closed (as its outcome, `failed`, `skipped`, `cancelled`), or its people changed (`open`).

    `voted` are all who have voted, `asked` are newly or again asked, `removed` are asked no more, `released` neither,
    but see what became of it.
    """

    step: str
    generation: int
    status: str
    voted: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadLetterPut:
    """Work that failed for good and that nothing handled: an operator may replay it."""

    step: str
    generation: int
    code: str
    message: str
    attempts: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class DeadLetterGone:
    """It was replayed, skipped or outrun, or its run is over."""

    step: str
    generation: int


@dataclass(frozen=True, slots=True)
class SignalWaitPut:
    """A step waits for a message: one that was kept is delivered in the same commit."""

    step: str
    generation: int
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class SignalWaitGone:
    """The step does not wait for its message now (it has it, is over, or its run is paused)."""

    step: str
    generation: int
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class ChildStart:
    """A step waits for a run that must be started in the same commit."""

    step: str
    generation: int
    child: str
    definition: str
    version: int
    digest: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChildMoved:
    """A child must be paused, resumed, cancelled or terminated (`do`), because that happened above it.

    Where what was done above is undone, what the child did is undone too (`compensate`).
    """

    child: str
    do: str
    reason: str
    compensate: bool = False


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """This run was started by a step of another one, which must learn how it ended."""

    parent: str
    step: str
    generation: int
    child: str
    outcome: str
    reason: str
    output: Any


@dataclass(frozen=True, slots=True)
class Notice:
    """Something people outside may want to hear of; delivered at least once through the outbox."""

    topic: str
    step: str = ""
    data: dict[str, Any] = field(default_factory=dict)


Effect = (
    AttemptPut
    | AttemptMoved
    | TimerSet
    | TimerCleared
    | ApprovalPut
    | ApprovalMoved
    | DeadLetterPut
    | DeadLetterGone
    | SignalWaitPut
    | SignalWaitGone
    | ChildStart
    | ChildMoved
    | ChildEnded
    | Notice
)
