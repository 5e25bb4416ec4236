"""What can go wrong when a task graph is built or driven; each error says what to do about it."""

from collections.abc import Hashable, Sequence

from signoff.core.graph import format_path
from signoff.errors import SignoffError


class SchedulerError(SignoffError):
    """Something was asked of the scheduler that it does not do; nothing was changed unless stated."""

    default_code = "scheduler"


class UnknownTask(SchedulerError):
    """An operation names a task that was never submitted."""

    default_code = "scheduler.unknown_task"

    def __init__(self, task: Hashable, wanted: str) -> None:
        self.task = task
        super().__init__(
            f"Expected to {wanted} task {task!r}, but no task of that id was submitted.",
            remedy="Submit it first, or check the id.",
        )


class UnknownDependency(SchedulerError):
    """A closed graph was given a dependency that was not submitted before (or in the same batch)."""

    default_code = "scheduler.unknown_dependency"

    def __init__(self, task: Hashable, dependency: Hashable) -> None:
        self.task = task
        self.dependency = dependency
        super().__init__(
            f"Expected task {task!r} to depend on {dependency!r}, but {dependency!r} was not submitted.",
            remedy="Submit it first or in the same submit_many, or open the scheduler with open_graph=True.",
        )


class DuplicateTask(SchedulerError):
    """A strict scheduler was given an id it has already."""

    default_code = "scheduler.duplicate_task"

    def __init__(self, task: Hashable, why: str, remedy: str) -> None:
        self.task = task
        super().__init__(f"Expected to submit task {task!r}, but {why}.", remedy=remedy)


class DependencyCycle(SchedulerError):
    """Dependencies form a cycle, so its tasks could never run.

    Attributes:
        path: one concrete cycle ``[a, b, c, a]``; each task is a dependency of the next.
        paths: all cycles known at that moment, one per group of tasks that wait for each other.
    """

    default_code = "scheduler.dependency_cycle"

    def __init__(self, paths: Sequence[Sequence[Hashable]]) -> None:
        self.paths = [list(path) for path in paths]
        self.path = self.paths[0]
        more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
        super().__init__(
            f"Expected dependencies without a cycle, but {format_path(self.path)}{more}.",
            remedy="Cancel or resubmit one of these tasks without the dependency that closes the cycle.",
        )


class StateConflict(SchedulerError):
    """The task is not in a state that allows the operation."""

    default_code = "scheduler.state_conflict"

    def __init__(self, task: Hashable, wanted: str, obstacle: str, remedy: str) -> None:
        self.task = task
        super().__init__(f"Expected to {wanted} task {task!r}, but {obstacle}.", remedy=remedy)


class GenerationConflict(StateConflict):
    """A callback or submission speaks of another generation than the one that counts now.

    Attributes:
        generation: the generation the caller named, or None if it named none.
        current: the generation that counts.
    """

    default_code = "scheduler.generation_conflict"

    def __init__(
        self,
        task: Hashable,
        wanted: str,
        generation: int | None,
        current: int,
        *,
        obstacle: str = "",
        remedy: str = "Drop this result: it belongs to a version that was replaced.",
    ) -> None:
        self.generation = generation
        self.current = current
        text = obstacle or f"generation {generation} was named and generation {current} is current"
        super().__init__(task, wanted, text, remedy)


class CapacityExceeded(SchedulerError):
    """All-or-nothing claim of more tasks than there are free slots.

    Attributes:
        requested: number of tasks asked for.
        free: number of free slots.
    """

    default_code = "scheduler.capacity_exceeded"

    def __init__(self, requested: int, free: int) -> None:
        self.requested = requested
        self.free = free
        super().__init__(
            f"Expected to claim {requested} tasks at once, but only {free} slots are free.",
            remedy="Ask for less, wait for running tasks to finish, or claim without all_or_nothing.",
        )


class SchedulerClosed(SchedulerError):
    """The scheduler was closed and takes no new work."""

    default_code = "scheduler.closed"

    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"Expected to {wanted}, but the scheduler is closed.",
            remedy="Create a new TaskScheduler for new work.",
        )


class TaskStopped(Exception):
    """Raised by a task function (usually by ``stop.raise_if_set()``) to confirm that it stopped early."""


class LeaseLost(StateConflict):
    """Durable form: the claim a callback speaks of ran out and was given on, or the fencing token is wrong.

    Attributes:
        generation: the generation of the claim.
        fence: its fencing token.
        current: the token that counts.
    """

    default_code = "scheduler.lease_lost"

    def __init__(self, task: Hashable, wanted: str, generation: int, fence: int, current: int, state: str) -> None:
        self.generation, self.fence, self.current = generation, fence, current
        super().__init__(
            task,
            wanted,
            f"the claim with fencing token {fence} of generation {generation} does not hold any more "
            f"(it is {state}, token {current})",
            "Drop this result; renew leases more often, or ask for longer ones.",
        )


class SettingsConflict(SchedulerError):
    """A durable graph is opened with other settings than it was created with."""

    default_code = "scheduler.settings_conflict"

    def __init__(self, asked: object, stored: object) -> None:
        super().__init__(
            f"Expected to open the graph with {asked}, but it was created with {stored}.",
            remedy="Open it with the settings it was created with, or use another graph name.",
        )
