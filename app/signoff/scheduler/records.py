"""The plain values the scheduler hands out: claims, causes, audit records, reports and task descriptions."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from signoff.scheduler.states import TaskState

# One task version that the caller may now run: (task, generation). Both go back with every callback.
type Claim = tuple[Any, int]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What ``submit_many`` takes per task; the fields mean what the arguments of ``submit`` mean."""

    task: Hashable
    dependencies: Sequence[Hashable] = ()
    function: Callable[..., Any] | None = None
    optional: Sequence[Hashable] = ()
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] | None = None
    kind: str = ""
    tenant: str = ""
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What a runner calls for a task: ``function(*args, **kwargs)``; no function means nothing to do."""

    function: Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    tenant: str = ""


NO_WORK = Work()


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a task ended without success, or was asked to stop.

    Attributes:
        task: the task where it began (the one that failed or was cancelled; for a rejected dependency that one).
        generation: its generation.
        state: how that task ended, or ``running`` while a stop request is not confirmed.
        reason: in words: given by the caller, or the error.
        by: who asked for it; empty if nobody said.
        at: when, aware UTC.
        path: from ``task`` to the task asked about, both included, along required edges.
    """

    task: Any
    generation: int
    state: TaskState
    reason: str
    by: str
    at: datetime
    path: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class StateChange:
    """What listeners receive: one task version went from one state to another.

    Attributes:
        task: the id.
        generation: its generation.
        source: the state before; None at submission.
        target: the state after.
        at: reading of the scheduler's clock, seconds.
    """

    task: Any
    generation: int
    source: TaskState | None
    target: TaskState
    at: float


@dataclass(frozen=True, slots=True)
class DependencyInput:
    """One dependency as its dependent sees it when it runs.

    Attributes:
        task: the dependency.
        generation: its current generation.
        required: False for an optional edge.
        state: how it stands; None if nobody submitted it yet.
        result: what it was completed with.
        error: what it failed with.
    """

    task: Any
    generation: int
    required: bool
    state: TaskState | None
    result: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class InputSummary:
    """All dependencies of a task, in the order they were given, required ones first."""

    dependencies: tuple[DependencyInput, ...] = ()

    @property
    def results(self) -> dict[Any, Any]:
        """Results of the dependencies that succeeded, by id."""
        return {item.task: item.result for item in self.dependencies if item.state is TaskState.SUCCEEDED}

    @property
    def failed_optional(self) -> tuple[Any, ...]:
        """Ids of optional dependencies that ended without success."""
        return tuple(
            item.task
            for item in self.dependencies
            if not item.required
            and item.state is not None
            and item.state.is_terminal
            and item.state is not TaskState.SUCCEEDED
        )


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """Everything known about one generation of a task; see ``Inspector.info``."""

    task: Any
    generation: int
    state: TaskState
    dependencies: tuple[Any, ...]
    optional: tuple[Any, ...]
    cause: Cause | None
    result: Any
    error: Any
    kind: str
    tenant: str
    stop_requested: bool


@dataclass(frozen=True, slots=True)
class CloseReport:
    """What ``close`` found and did.

    Attributes:
        finished: True if nothing is running any more.
        running: claims that were still running when ``close`` returned.
        cancelled: queued tasks that were cancelled, each with the reason.
        kept: queued tasks that were left as they are, each with the reason.
    """

    finished: bool
    running: tuple[Claim, ...]
    cancelled: Mapping[Any, str]
    kept: Mapping[Any, str]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What ``run`` did: how many tasks of this run ended in which state.

    Attributes:
        succeeded: number of functions that returned.
        failed: error by task.
        cancelled: tasks whose function confirmed a stop.
        unfinished: tasks left waiting, pending or ready (closed early, or waiting for unknown dependencies).
    """

    succeeded: int
    failed: Mapping[Any, BaseException]
    cancelled: tuple[Any, ...]
    unfinished: int
