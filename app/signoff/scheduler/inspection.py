"""Questions about the tasks of a scheduler; every answer is consistent (taken under the lock) and a copy."""

import threading
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.errors import UnknownTask
from signoff.scheduler.records import (
    NO_WORK,
    Cause,
    Claim,
    DependencyInput,
    InputSummary,
    TaskInfo,
    Work,
)
from signoff.scheduler.states import PENDING, READY, RUNNING, STATE_OF_CODE, TaskState


class Inspector:
    """Read access to the tasks of one scheduler.

    Every method that takes a task raises ``UnknownTask`` if it was never submitted.
    """

    def __init__(self, core: SchedulerCore, lock: threading.RLock) -> None:
        self._core = core
        self._table = core.table
        self._lock = lock

    def __contains__(self, task: object) -> bool:
        return self._table.find(task) is not None

    def __len__(self) -> int:
        return self._table.size - len(self._table.previous)

    def ids(self) -> list[Any]:
        """All ids, in the order their newest generation was submitted. O(V)."""
        with self._lock:
            return [self._table.ids[slot] for slot in self._table.current_slots()]

    def state(self, task: Any) -> TaskState:
        """State of the newest generation. O(1), or O(dependencies) for a pending task of an open graph."""
        with self._lock:
            return self._table.state_of(self._slot(task))

    def generation(self, task: Any) -> int:
        """Number of the newest generation."""
        with self._lock:
            return self._table.generation_of(self._slot(task))

    def cause(self, task: Any) -> Cause | None:
        """Why the newest generation failed, is blocked or was cancelled, or why it was asked to stop."""
        with self._lock:
            return self._cause(self._slot(task))

    def info(self, task: Any, generation: int | None = None) -> TaskInfo:
        """Everything about one generation (default: the newest).

        Raises:
            UnknownTask: also if the task never had that generation.
        """
        with self._lock:
            slot = self._slot(task)
            if generation is not None:
                found = self._table.slot_of_generation(task, generation)
                if found is None:
                    raise UnknownTask(task, f"look at generation {generation} of")
                slot = found
            return self._info(slot)

    def history(self, task: Any) -> list[TaskInfo]:
        """All generations of a task, oldest first."""
        with self._lock:
            slots = [self._slot(task)]
            while (older := self._table.previous.get(slots[-1])) is not None:
                slots.append(older)
            return [self._info(slot) for slot in reversed(slots)]

    def counts(self) -> dict[TaskState, int]:
        """Number of tasks per state, newest generations only; every state has an entry. O(V)."""
        with self._lock:
            return count_states(self._core)

    def unknown(self) -> dict[Any, list[Any]]:
        """Dependencies nobody submitted yet, each with the tasks waiting for it."""
        table = self._table
        with self._lock:
            alive = {
                dependency: [table.ids[slot] for slot in slots if table.state[slot] == PENDING]
                for dependency, slots in table.unknown_ids().items()
            }
            return {dependency: tasks for dependency, tasks in alive.items() if tasks}

    def inputs(self, task: Any) -> InputSummary:
        """The dependencies of a task with their states and results, failed optional ones included."""
        with self._lock:
            slot = self._slot(task)
            optional = self._table.optional.get(slot, ())
            items = [self._input(dep, True) for dep in dict.fromkeys(self._table.dependencies[slot])]
            return InputSummary((*items, *(self._input(dep, False) for dep in optional)))

    def work(self, task: Any) -> Work:
        """The function and arguments of the newest generation; its ``function`` is None if none was given."""
        with self._lock:
            return self._table.work.get(self._slot(task), NO_WORK)

    def audit(self) -> list[tuple[Claim, Cause]]:
        """Who cancelled what, when, why, and along which path: one entry per version it reached, and per stop request.

        In submission order; versions replaced before they started are included. O(V).
        """
        table = self._table
        with self._lock:
            entries = []
            for slot in range(table.size):
                if table.state[slot] > RUNNING or slot in self._core.stop_requests:
                    cause = self._cause(slot)
                    if cause is not None and cause.state in (TaskState.CANCELLED, TaskState.RUNNING):
                        entries.append(((table.ids[slot], table.generation_of(slot)), cause))
            return entries

    def _slot(self, task: Any) -> int:
        slot = self._table.find(task)
        if slot is None:
            raise UnknownTask(task, "look at")
        return slot

    def _cause(self, slot: int) -> Cause | None:
        table = self._table
        path = [slot]
        while (via := table.blocked_via.get(path[-1])) is not None:
            path.append(via)
        root = table.cause.get(path[-1]) or self._core.stop_requests.get(path[-1])
        if root is None:
            return None
        ids = tuple(table.ids[step] for step in reversed(path))
        return Cause(root.task, root.generation, root.state, root.reason, root.by, root.at, ids)

    def _info(self, slot: int) -> TaskInfo:
        table = self._table
        work = table.work.get(slot, NO_WORK)
        return TaskInfo(
            task=table.ids[slot],
            generation=table.generation_of(slot),
            state=table.state_of(slot),
            dependencies=tuple(dict.fromkeys(table.dependencies[slot])),
            optional=table.optional.get(slot, ()),
            cause=self._cause(slot),
            result=table.result.get(slot),
            error=table.error.get(slot),
            kind=work.kind,
            tenant=work.tenant,
            stop_requested=slot in self._core.stop_requests,
        )

    def _input(self, dependency: Any, required: bool) -> DependencyInput:
        table = self._table
        slot = table.find(dependency)
        if slot is None:
            return DependencyInput(dependency, 0, required, None)
        return DependencyInput(
            dependency,
            table.generation_of(slot),
            required,
            table.state_of(slot),
            table.result.get(slot),
            table.error.get(slot),
        )


def count_states(core: SchedulerCore) -> dict[TaskState, int]:
    """Number of newest generations per state; call under the lock. O(V), mostly one byte search per state."""
    table = core.table
    counts = dict.fromkeys(TaskState, 0)
    for code, state in enumerate(STATE_OF_CODE):
        counts[state] = table.state.count(code, 0, table.size) - table.retired[code]
    awaiting = (slot for slots in table.unknown_ids().values() for slot in slots)
    waiting = {slot for slot in awaiting if table.state[slot] == PENDING}
    counts[TaskState.WAITING] = len(waiting)
    counts[TaskState.PENDING] -= len(waiting)
    return counts


def unfinished_count(core: SchedulerCore) -> int:
    """Number of tasks that are waiting, pending or ready; call under the lock."""
    table = core.table
    return table.state.count(PENDING, 0, table.size) + table.state.count(READY, 0, table.size)
