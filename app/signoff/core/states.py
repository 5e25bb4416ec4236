"""States of runs and steps (semantics §4). All immutable; only `evolve` makes new ones.

Those that are copied for every event have no slots: `altered` copies them in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from signoff.core.approval_state import ApprovalState as ApprovalState
from signoff.core.approval_state import Quota as Quota
from signoff.core.approval_state import Rung as Rung
from signoff.core.approval_state import Vote as Vote


class StepStatus(StrEnum):
    """Where a step is. The first part waits or works, the second is final for its generation.

    `outcome_unknown` waits for nothing but a person who says whether the call took effect.
    """

    PENDING = "pending"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    OUTCOME_UNKNOWN = "outcome_unknown"

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SKIPPED = "skipped"
    NOT_TAKEN = "not_taken"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    COMPENSATED = "compensated"


ACTIVE_STEPS = frozenset({StepStatus.SCHEDULED, StepStatus.RUNNING, StepStatus.WAITING, StepStatus.RETRYING})
FINAL_STEPS = frozenset(StepStatus) - ACTIVE_STEPS - {StepStatus.PENDING, StepStatus.OUTCOME_UNKNOWN}


class RunStatus(StrEnum):
    """Where a run is. "Waiting" is not a run state; it is an answer of `explain`."""

    RUNNING = "running"
    PAUSED = "paused"
    STALLED = "stalled"
    CANCELLING = "cancelling"
    COMPENSATING = "compensating"

    SUCCEEDED = "succeeded"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"


TERMINAL_RUNS = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.REJECTED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.TERMINATED}
)


CLAIMABLE_RUNS = (RunStatus.RUNNING, RunStatus.STALLED, RunStatus.COMPENSATING)
"""Where workers may take what is scheduled."""


class EdgeState(StrEnum):
    """How an edge resolved for the current generation of its source (semantics §3)."""

    LIVE = "live"
    DEAD = "dead"
    BLOCKED = "blocked"
    ERROR = "error"


class TimerKind(StrEnum):
    """What a timer does when it is due."""

    WAIT = "wait"
    RETRY = "retry"
    EXPIRY = "expiry"
    QUEUE = "queue"
    RUN = "run"
    DEADLINE = "deadline"
    LADDER = "ladder"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who or what sent a command, as the server established it (never from a request body).

    Attributes:
        kind: `person`, `service`, `worker` or `system`.
        id: stable id (login of a person).
        name: display name at that time.
        session: public id of the session they came with, for the engine to look it up; no event keeps it.
        channel: `web`, `api`, `cli`, `link`, `worker`, `timer`, `engine`.
    """

    kind: str
    id: str
    name: str = ""
    channel: str = ""
    session: str = ""

    @property
    def shown(self) -> str:
        """The name a reader sees."""
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class SignIn:
    """How somebody was signed in when they decided, as the server knows it.

    Attributes:
        method: `password`, `token`, `oidc`, `folder` for whoever owns the data folder.
        at: when they signed in.
        confirmed_at: when they last gave their credential, where that was later.
        session: public id of the session or token, never its secret.
        address: from where they signed in.
        agent: the browser or program, as it called itself.
    """

    method: str
    at: datetime | None = None
    confirmed_at: datetime | None = None
    session: str = ""
    address: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a step did not succeed: a stable code and a sentence."""

    code: str
    message: str
    retryable: bool = True


@dataclass(frozen=True)
class ItemState:
    """One item of a list that is being worked on: `scheduled`, `running` or `retrying`, with attempts of its own."""

    item: int
    status: StepStatus
    attempt: int = 1
    fence: int = 0
    since: datetime | None = None
    due: datetime | None = None
    first_scheduled_at: datetime | None = None
    error: ErrorInfo | None = None
    worker: str = ""


@dataclass(frozen=True)
class ItemsState:
    """How far a step is that calls for each item of a list. Its size depends on what is open, not on the list.

    Attributes:
        total: length of the list.
        next: the first item that was never begun, where `again` is empty.
        again: items left to do after a retry kept what had succeeded.
        open: those being worked on.
        failed: those that failed for good in this generation; nothing more begins then.
        error: of the first of them.
        done: how many have succeeded.
    """

    total: int
    next: int = 0
    again: tuple[int, ...] = ()
    open: tuple[ItemState, ...] = ()
    failed: tuple[int, ...] = ()
    error: ErrorInfo | None = None
    done: int = 0

    def find(self, item: int) -> ItemState | None:
        """That item, where it is being worked on."""
        return next((x for x in self.open if x.item == item), None)

    @property
    def upcoming(self) -> int | None:
        """The item that begins next, None where all have begun."""
        if self.again:
            return self.again[0]
        return self.next if self.next < self.total else None


@dataclass(frozen=True, slots=True)
class ItemsData:
    """The list of such a step, what its items gave so far and under which claim; kept out of snapshots like outputs."""

    items: list[Any]
    outputs: Mapping[int, Any]
    fences: Mapping[int, int]
    round: int


@dataclass(frozen=True)
class StepState:
    """One step of one run.

    Attributes:
        generation: 1, then one more per operator retry of this step or of one that had kept it from running.
        round: 1, then one more per send-back; part of the idempotency key.
        effect: 1, then one more where an operator declared a new effect.
        attempt: 1, 2, 3 … inside a generation; counted when it is scheduled.
        uncounted: how many of them were no tries of the work itself but probes or compensation.
        undo: number of the current or last attempt to undo it, from 1; 0 while it is not undone.
        polls: how many calls of an activity that polls were answered with "not yet".
        probe: number of the current probe of a lost call, from 1; 0 while none is needed.
        fence: fencing token of the newest claim; grows over all generations.
        changed: sequence of the event that last changed this step.
        due: when `timer` fires; None where none is armed.
        cause: id of the step that blocks this one.
        key: of the message that a signal step waits for.
        child: id of the newest run that a subflow step started.
        by_hand: name of who did the work without a worker, "" where a worker did.
    """

    status: StepStatus = StepStatus.PENDING
    generation: int = 1
    round: int = 1
    effect: int = 1
    attempt: int = 0
    fence: int = 0
    changed: int = 0
    since: datetime | None = None
    timer: TimerKind | None = None
    due: datetime | None = None
    first_scheduled_at: datetime | None = None
    outcome: str = ""
    error: ErrorInfo | None = None
    cause: str = ""
    worker: str = ""
    approval: ApprovalState | None = None
    key: str = ""
    child: str = ""
    uncounted: int = 0
    probe: int = 0
    polls: int = 0
    items: ItemsState | None = None
    undo: int = 0
    by_hand: str = ""

    @property
    def tries(self) -> int:
        """How often the work itself was begun in this generation."""
        return self.attempt - self.uncounted

    @property
    def expires(self) -> datetime | None:
        """When it expires; None where it waits for ever. The timer may have something to do before."""
        if self.timer is TimerKind.LADDER and self.approval is not None:
            return self.approval.expires
        return self.due if self.timer is TimerKind.EXPIRY else None


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class RunState:
    """One run, as folded from its events.

    Attributes:
        sequence: number of the last event, counted from 1; 0 before the first.
        outputs: step id to output; kept out of snapshots (they would grow quadratically).
        partial: step id to the list and the results so far of a step that works on items.
        edges: edge key to resolution; an absent key is not resolved yet.
        reason: why the run is stalled, paused, cancelling or over, as a sentence.
        input_changed: sequence of the last edit of the input, 0 before the first.
        retired: steps that had begun and are not in the present version any more, as they were.
        deadline: when the run should have ended, while that is still to come; its clock stops in a pause.
        overdue: that time has passed.
        undo: completed steps are undone before it ends.
        stopping: `cancelled` or `failed` while in-flight work is awaited before the run ends so.
        parent: id of the run that started this one with its step `parent_step`, "" where a person did.
        depth: how many runs stand above this one.
        capped: the tenant's limit on the time of a run, where that set the deadline.
    """

    run_id: str = ""
    tenant: str = ""
    digest: str = ""
    version: int = 0
    status: RunStatus = RunStatus.RUNNING
    sequence: int = 0
    since: datetime | None = None
    started_at: datetime | None = None
    started_by: str = ""
    business_key: str = ""
    reason: str = ""
    stopping: str = ""
    undo: bool = False
    paused_at: datetime | None = None
    input_changed: int = 0
    deadline: datetime | None = None
    overdue: bool = False
    parent: str = ""
    parent_step: str = ""
    parent_generation: int = 0
    depth: int = 0
    capped: str = ""
    input: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    steps: Mapping[str, StepState] = field(default_factory=lambda: _NOTHING)
    edges: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    outputs: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    retired: Mapping[str, StepState] = field(default_factory=lambda: _NOTHING)
    partial: Mapping[str, ItemsData] = field(default_factory=lambda: _NOTHING)

    @property
    def is_terminal(self) -> bool:
        """True where only evidence may still be appended."""
        return self.status in TERMINAL_RUNS


def idempotency_key(run_id: str, step: str, state: StepState) -> str:
    """The key handed to the outside service: the same over all attempts and retries of a round."""
    return f"{run_id}/{step}/{state.round}/{state.effect}"


def waits_for_child(step: StepState) -> bool:
    """True while the step waits for a run that it started."""
    return step.status is StepStatus.WAITING and bool(step.child)
