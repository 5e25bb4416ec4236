"""The in-memory task scheduler: dependency order, generations, exact claims, and a runner.

``TaskScheduler`` is the way in; ``assets/docs/scheduler.md`` is the guide.
"""

from signoff.scheduler.errors import (
    CapacityExceeded,
    DependencyCycle,
    DuplicateTask,
    GenerationConflict,
    SchedulerClosed,
    SchedulerError,
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

__all__ = [
    "CapacityExceeded",
    "Cause",
    "Claim",
    "CloseReport",
    "DependencyCycle",
    "DuplicateTask",
    "GenerationConflict",
    "InputSummary",
    "Metrics",
    "RunReport",
    "SchedulerClosed",
    "SchedulerError",
    "StateChange",
    "StateConflict",
    "StopSignal",
    "TaskInfo",
    "TaskScheduler",
    "TaskSpec",
    "TaskState",
    "TaskStopped",
    "UnknownDependency",
    "UnknownTask",
]
