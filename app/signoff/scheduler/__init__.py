"""The task scheduler: dependency order, generations, exact claims, and a runner.

``TaskScheduler`` (in memory) and ``DurableTaskScheduler`` (in a store) are the ways in;
``assets/docs/scheduler.md`` is the guide.
"""

from signoff.scheduler.durable import DurableTaskScheduler
from signoff.scheduler.errors import (
    CapacityExceeded,
    DependencyCycle,
    DuplicateTask,
    GenerationConflict,
    LeaseLost,
    SchedulerClosed,
    SchedulerError,
    SettingsConflict,
    StateConflict,
    TaskStopped,
    UnknownDependency,
    UnknownTask,
)
from signoff.scheduler.records import (
    Cause,
    Claim,
    CloseReport,
    InputSummary,
    RunReport,
    StateChange,
    TaskInfo,
    TaskSpec,
)
from signoff.scheduler.scheduler import TaskScheduler
from signoff.scheduler.snapshot import Metrics
from signoff.scheduler.states import TaskState
from signoff.scheduler.stop import StopSignal
from signoff.scheduler.stored.version import (
    LeasedClaim,
    Renewal,
    StoredCloseReport,
    StoredTask,
    StoredTaskInfo,
    TaskPage,
)

__all__ = [
    "CapacityExceeded",
    "Cause",
    "Claim",
    "CloseReport",
    "DependencyCycle",
    "DuplicateTask",
    "DurableTaskScheduler",
    "GenerationConflict",
    "InputSummary",
    "LeaseLost",
    "LeasedClaim",
    "Metrics",
    "Renewal",
    "RunReport",
    "SchedulerClosed",
    "SchedulerError",
    "SettingsConflict",
    "StateChange",
    "StateConflict",
    "StopSignal",
    "StoredCloseReport",
    "StoredTask",
    "StoredTaskInfo",
    "TaskInfo",
    "TaskPage",
    "TaskScheduler",
    "TaskSpec",
    "TaskState",
    "TaskStopped",
    "UnknownDependency",
    "UnknownTask",
]
