"""The facts of a run. Each has a wire name and a version; a released one is never changed.

Every event carries `at` (aware UTC). Events that end a step carry `edges`: how each outgoing edge resolved, as
(edge key, state) pairs, so that replay never evaluates a condition again. The common part is in `event.py`; events
about lost answers are in `outcome_events.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from signoff.core.activity_events import ItemFailed as ItemFailed
from signoff.core.activity_events import ItemsOpened as ItemsOpened
from signoff.core.activity_events import ItemsSucceeded as ItemsSucceeded
from signoff.core.activity_events import ItemSucceeded as ItemSucceeded
from signoff.core.activity_events import ItemsWithdrawn as ItemsWithdrawn
from signoff.core.activity_events import PollAnswered as PollAnswered
from signoff.core.event import Edges as Edges
from signoff.core.event import Event as Event
from signoff.core.event import StepEvent as StepEvent
from signoff.core.migration_events import RunMigrated as RunMigrated
from signoff.core.outcome_events import EffectConfirmed as EffectConfirmed
from signoff.core.outcome_events import EffectDenied as EffectDenied
from signoff.core.outcome_events import OutcomeUnknown as OutcomeUnknown
from signoff.core.outcome_events import ProbeFoundNothing as ProbeFoundNothing
from signoff.core.outcome_events import StepCompletedByHand as StepCompletedByHand
from signoff.core.people_events import ApprovalExpired as ApprovalExpired
from signoff.core.people_events import ApprovalOpened as ApprovalOpened
from signoff.core.people_events import ApprovalSettled as ApprovalSettled
from signoff.core.people_events import ApprovalVoided as ApprovalVoided
from signoff.core.people_events import DecisionRecorded as DecisionRecorded
from signoff.core.people_events import FormOpened as FormOpened
from signoff.core.people_events import FormSubmitted as FormSubmitted
from signoff.core.people_events import FormVoided as FormVoided
from signoff.core.people_events import NextAsked as NextAsked
from signoff.core.people_events import PeopleEscalated as PeopleEscalated
from signoff.core.people_events import PeopleReassigned as PeopleReassigned
from signoff.core.people_events import ReminderSent as ReminderSent
from signoff.core.people_events import VoteWithdrawn as VoteWithdrawn
from signoff.core.people_events import WorkReturned as WorkReturned
from signoff.core.states import Actor, ErrorInfo
from signoff.core.undo_events import CompensationFailed as CompensationFailed
from signoff.core.undo_events import CompensationRetried as CompensationRetried
from signoff.core.undo_events import RunCompensating as RunCompensating
from signoff.core.undo_events import StepCompensated as StepCompensated
from signoff.core.waiting_events import SignalAwaited as SignalAwaited
from signoff.core.waiting_events import SignalReceived as SignalReceived
from signoff.core.waiting_events import SubflowEnded as SubflowEnded
from signoff.core.waiting_events import SubflowStarted as SubflowStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run of a frozen version began; a child names the step of the run that started it.

    `capped` is the tenant's limit where that, and not the definition, set the deadline.
    """

    wire: ClassVar[str] = "run.started"
    run_id: str
    tenant: str
    digest: str
    definition_version: int
    actor: Actor
    business_key: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    deadline: datetime | None = None
    parent: str = ""
    parent_step: str = ""
    parent_generation: int = 0
    depth: int = 0
    capped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinePassed(Event):
    """The run should have ended by `due`; `at` is when that was noticed.

    `capped` is the tenant's limit where that set the deadline; the definition's own is `then`.
    """

    wire: ClassVar[str] = "run.deadline_passed"
    due: datetime
    capped: str = ""
    then: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(Event):
    """Claims and clocks stopped."""

    wire: ClassVar[str] = "run.paused"
    actor: Actor
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(Event):
    """Clocks go on, every due time shifted by the length of the pause."""

    wire: ClassVar[str] = "run.resumed"
    actor: Actor
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStalled(Event):
    """Nothing can go on without a person."""

    wire: ClassVar[str] = "run.stalled"
    reason: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStopping(Event):
    """The run will end as `outcome` (cancelled or failed) once work under way has answered.

    Where it shall `compensate`, completed steps are undone before.
    """

    wire: ClassVar[str] = "run.stopping"
    outcome: str
    reason: str
    actor: Actor | None = None
    compensate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The run reached a terminal state: succeeded, rejected, failed, cancelled or terminated."""

    wire: ClassVar[str] = "run.ended"
    outcome: str
    reason: str = ""
    actor: Actor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityScheduled(StepEvent):
    """An attempt may be claimed. `input` is resolved; the outside call gets `key`.

    `item` is the item of a list it works on, -1 for the whole step. Where `probe` is not 0, it is that probe of a
    lost call; where `undo` is not 0, that attempt of the compensation.
    """

    wire: ClassVar[str] = "activity.scheduled"
    generation: int
    attempt: int
    key: str
    input: Any = None
    queue_due: datetime | None = None
    probe: int = 0
    item: int = -1
    undo: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityStarted(StepEvent):
    """A worker claimed the attempt under a lease with this fencing token."""

    wire: ClassVar[str] = "activity.started"
    generation: int
    attempt: int
    fence: int
    worker: str
    run_due: datetime
    item: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySucceeded(StepEvent):
    """The accepted result of the step's current claim; `probed` where a probe found that it had happened."""

    wire: ClassVar[str] = "activity.succeeded"
    generation: int
    attempt: int
    fence: int
    output: Any = None
    edges: Edges = ()
    probed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityFailed(StepEvent):
    """An attempt failed, timed out or was lost; a retry or `step.failed` follows in the same commit."""

    wire: ClassVar[str] = "activity.failed"
    generation: int
    attempt: int
    fence: int
    error: ErrorInfo
    item: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryArmed(StepEvent):
    """The next attempt begins at `due`; where `probe` is not 0, it is that probe of a lost call."""

    wire: ClassVar[str] = "activity.retry_armed"
    generation: int
    attempt: int
    due: datetime
    probe: int = 0
    item: int = -1
    undo: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed(StepEvent):
    """The step failed for good (until an operator retries or skips it)."""

    wire: ClassVar[str] = "step.failed"
    generation: int
    error: ErrorInfo
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitArmed(StepEvent):
    """A durable timer was set."""

    wire: ClassVar[str] = "wait.armed"
    generation: int
    due: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitElapsed(StepEvent):
    """The timer fired; `at` is when it really did, `due` when it should have."""

    wire: ClassVar[str] = "wait.elapsed"
    generation: int
    due: datetime
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepExpired(StepEvent):
    """What the step waited for did not come in time."""

    wire: ClassVar[str] = "step.expired"
    generation: int
    due: datetime
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBlocked(StepEvent):
    """A required source ended badly and nothing handles it; `cause` is the first such step."""

    wire: ClassVar[str] = "step.blocked"
    cause: str
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNotTaken(StepEvent):
    """All ways into the step died."""

    wire: ClassVar[str] = "step.not_taken"
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCancelled(StepEvent):
    """The step will not be done any more (cancelled run, or a branch that lost)."""

    wire: ClassVar[str] = "step.cancelled"
    reason: str
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSkipped(StepEvent):
    """An operator went past the step, with a reason and maybe a substitute output."""

    wire: ClassVar[str] = "step.skipped"
    actor: Actor
    reason: str
    output: Any = None
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRetried(StepEvent):
    """An operator began a new generation; what the failure had blocked is open again.

    `edges` are *incoming* ones whose condition had an error and was evaluated again.
    """

    wire: ClassVar[str] = "step.retried"
    generation: int
    actor: Actor
    reason: str
    new_effect: bool = False
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputEdited(Event):
    """An operator mended the run's input; it counts from the next mapping or condition on."""

    wire: ClassVar[str] = "run.input_edited"
    actor: Actor
    reason: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecorded(Event):
    """Something arrived that changes no state: a late result, a second decision, a refused command."""

    wire: ClassVar[str] = "evidence.recorded"
    kind: str
    actor: Actor
    command: str
    message: str
    step: str = ""
    data: dict[str, Any] = field(default_factory=dict)


ALL_EVENTS: tuple[type[Event], ...] = (
    RunStarted,
    DeadlinePassed,
    RunPaused,
    RunResumed,
    RunStalled,
    RunStopping,
    RunEnded,
    ActivityScheduled,
    ActivityStarted,
    ActivitySucceeded,
    ActivityFailed,
    RetryArmed,
    ProbeFoundNothing,
    PollAnswered,
    ItemsOpened,
    ItemSucceeded,
    ItemFailed,
    ItemsWithdrawn,
    ItemsSucceeded,
    OutcomeUnknown,
    EffectConfirmed,
    EffectDenied,
    StepCompletedByHand,
    StepFailed,
    WaitArmed,
    WaitElapsed,
    ApprovalOpened,
    DecisionRecorded,
    VoteWithdrawn,
    PeopleReassigned,
    NextAsked,
    ReminderSent,
    PeopleEscalated,
    ApprovalSettled,
    ApprovalExpired,
    ApprovalVoided,
    FormOpened,
    FormSubmitted,
    FormVoided,
    StepExpired,
    SignalAwaited,
    SignalReceived,
    SubflowStarted,
    SubflowEnded,
    WorkReturned,
    StepBlocked,
    StepNotTaken,
    StepCancelled,
    StepSkipped,
    StepRetried,
    RunCompensating,
    StepCompensated,
    CompensationFailed,
    CompensationRetried,
    InputEdited,
    RunMigrated,
    EvidenceRecorded,
)
