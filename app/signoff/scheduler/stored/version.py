"""The values of the durable scheduler: a stored version as it is worked on, and what callers get and give."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from signoff.scheduler.records import TaskInfo
from signoff.scheduler.states import TRANSITIONS, TaskState, Transition

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

LEASE_TRANSITIONS: Final = (
    Transition(TaskState.RUNNING, TaskState.READY, "its lease ran out"),
    Transition(TaskState.RUNNING, TaskState.CANCELLED, "its lease ran out after it was asked to stop"),
)
"""What the durable form adds to `states.TRANSITIONS`."""

DURABLE_ALLOWED: Final = frozenset((t.source, t.target) for t in (*TRANSITIONS, *LEASE_TRANSITIONS))


def to_micros(at: datetime) -> int:
    """Microseconds since 1970 of an aware datetime, exact."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime of stored microseconds."""
    return _EPOCH + timedelta(microseconds=micros)


@dataclass(slots=True)
class Version:
    """One generation of a task as stored; the fields are in the order of the store's rows."""

    id: int
    node: int
    task: str
    generation: int
    state: TaskState
    unmet: int
    fence: int
    worker: str
    lease_until: int
    expiries: int
    stop: int
    tenant: str
    part: str
    kind: str
    ready_at: int
    claimed_at: int
    cause_at: int
    via: int | None
    reason: str
    actor: str

    def saved(self, was_state: str, was_fence: int) -> tuple[Any, ...]:
        """What the store writes, on condition of the state and fence this was read with."""
        return (
            self.state.value, self.unmet, self.fence, self.worker, self.lease_until, self.expiries, self.stop,
            self.ready_at, self.claimed_at, self.cause_at, self.via, self.reason, self.actor,
            self.id, self.generation, was_state, was_fence,
        )  # fmt: skip


_STATE: Final = {state.value: state for state in TaskState}


def read_version(row: Sequence[Any]) -> Version:
    """A version from a row of the store."""
    version = Version(*row)
    version.state = _STATE[version.state]
    return version


@dataclass(frozen=True, slots=True)
class StoredTask:
    """What the durable `submit_many` takes per task; the fields mean what the arguments of `submit` mean."""

    task: str
    dependencies: Sequence[Hashable] = ()
    payload: Any = None
    optional: Sequence[Hashable] = ()
    kind: str = ""
    tenant: str = ""
    partition: str = ""
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class LeasedClaim:
    """A task version that the caller may run until the lease ends.

    Attributes:
        task: the id.
        generation: its generation; goes back with every callback.
        fence: the fencing token; goes back with every callback, and grows with every claim of this version.
        lease_until: when the claim may be given to somebody else, aware UTC.
        payload: what the task was submitted with (JSON).
        kind: task type.
        tenant: whose it is.
        partition: where it belongs.
        expiries: how often a lease on this version ran out before: above 0, it may have run already.
    """

    task: str
    generation: int
    fence: int
    lease_until: datetime
    payload: Any = None
    kind: str = ""
    tenant: str = ""
    partition: str = ""
    expiries: int = 0


class Renewal(StrEnum):
    """The answer to a heartbeat."""

    HELD = "held"
    STOP = "stop"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class StoredTaskInfo(TaskInfo):
    """`TaskInfo` and what only the durable form has."""

    payload: Any
    partition: str
    worker: str
    fence: int
    lease_until: datetime | None
    expiries: int


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One page of tasks in submission order; `cursor` asks for the next one and is None after the last."""

    tasks: tuple[StoredTaskInfo, ...]
    cursor: int | None


@dataclass(frozen=True, slots=True)
class StoredCloseReport:
    """What `close` found and did. The tasks themselves are in the pages, each with its reason.

    Attributes:
        finished: True if nothing is running any more.
        running_count: tasks still running when `close` returned.
        cancelled: number of queued tasks this call cancelled, by reason.
        kept: number of queued tasks that were left as they are, by reason.
    """

    finished: bool
    running_count: int
    cancelled: Mapping[str, int]
    kept: Mapping[str, int]
