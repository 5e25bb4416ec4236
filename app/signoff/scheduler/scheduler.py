"""TaskScheduler: hands out tasks in dependency order, in memory, under one lock. Guide: assets/docs/scheduler.md."""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any, Literal

from signoff.scheduler import endings
from signoff.scheduler.batch import add_batch, remember_work
from signoff.scheduler.claiming import claim
from signoff.scheduler.closing import close_scheduler
from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.cycles import cycle_paths
from signoff.scheduler.edges import add_edge
from signoff.scheduler.graph_input import GraphInput, read_batch
from signoff.scheduler.inspection import Inspector
from signoff.scheduler.listeners import Listener
from signoff.scheduler.records import Claim, CloseReport, RunReport, TaskSpec
from signoff.scheduler.snapshot import Metrics, snapshot
from signoff.scheduler.states import STATE_OF_CODE, TaskState
from signoff.scheduler.submission import add, as_ids
from signoff.scheduler.success import succeed
from signoff.scheduler.table import FIRST_GENERATION


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TaskScheduler:
    """A dependency-aware scheduler for one task graph, safe to use from many threads.

    Claim with ``ready``, run the function yourself (or let ``run`` do it), report with ``complete`` or ``fail``.
    A task id is any hashable; each submission of an id is a generation, numbered from 1, and every claim and
    callback carries it. Nothing survives the process; the guide says what that means.

    Args:
        max_concurrency: most tasks running at once; None for no limit, 0 hands out nothing.
        open_graph: False: a dependency must be submitted before its dependents or in the same batch. True: it
            may come later; until then the dependent is ``waiting``.
        strict: refuse a second submission of an id (except a retry that names its generation).
        timings: measure ready-wait, run time and propagation latency (a few clock readings per operation).
        clock: monotonic seconds, for durations.
        now: aware UTC time, for the record of failures and cancellations.
    """

    def __init__(
        self,
        *,
        max_concurrency: int | None = None,
        open_graph: bool = False,
        strict: bool = False,
        timings: bool = True,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        if max_concurrency is not None and max_concurrency < 0:
            raise ValueError(f"Expected max_concurrency of 0 or more, or None for no limit, not {max_concurrency}.")
        # The hot methods acquire inside `try` instead of `with self._lock`, which costs twice as much. The lock is
        # re-entrant so that an interrupt while waiting for it cannot make `finally` release somebody else's.
        self._lock = threading.RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._idle = threading.Condition(self._lock)
        self._core = SchedulerCore(
            max_concurrency=max_concurrency,
            open_graph=open_graph,
            strict=strict,
            timings=timings,
            clock=clock,
            now=now,
        )
        self._changes = self._core.feed.pending

    @property
    def tasks(self) -> Inspector:
        """Questions about tasks: state, cause, generation, counts, inputs, history, audit."""
        return Inspector(self._core, self._lock)

    def metrics(self) -> Metrics:
        """Take a snapshot of all counters and durations. O(V)."""
        with self._lock:
            return snapshot(self._core)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every ``StateChange`` from now on; the answer unsubscribes.

        Changes arrive in the order they happened, one at a time, outside the lock, in some thread that used the
        scheduler. A listener may call the scheduler; what it raises is logged, counted and goes no further.
        """
        with self._lock:
            self._core.unusual = self._core.watched = True
            return self._core.feed.subscribe(listener)

    def submit(
        self,
        task: Hashable,
        dependencies: Iterable[Hashable] = (),
        function: Callable[..., Any] | None = None,
        optional: Iterable[Hashable] = (),
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        kind: str = "",
        tenant: str = "",
        generation: int | None = None,
    ) -> int:
        """Add a task, or a new generation of one that is not running. O(its dependencies) for a new id.

        A new generation of a task that has not started replaces it; of one that has ended it is a retry (see guide).

        Args:
            task: the id.
            dependencies: tasks that must succeed first. Repeated ones are folded into one edge.
            function: what ``run`` calls; None for a task that needs no work.
            optional: tasks that must only have ended; one that is also required counts as required.
            args: positional arguments for the function.
            kwargs: keyword arguments for the function; without a function, both are ignored.
            kind: task type, for the metrics.
            tenant: for the metrics.
            generation: makes the submission idempotent: the current number again changes nothing, a higher one
                is a new generation, a lower one is a conflict. None means "the next one".

        Returns: the generation that is current now.

        Raises:
            UnknownDependency: closed graph, and a dependency was never submitted.
            DependencyCycle: the task would, directly or not, wait for itself.
            GenerationConflict: the current generation is running, or a higher one exists.
            DuplicateTask, SchedulerClosed: strict scheduler and a known id; after ``close``.
        """
        if type(dependencies) is not tuple:
            dependencies = as_ids(task, dependencies)
        core = self._core
        try:
            self._acquire()
            slot = add(core, task, dependencies, as_ids(task, optional) if optional else (), generation)
            if function is not None or kind or tenant:
                remember_work(core, slot, TaskSpec(task, (), function, (), args, kwargs, kind, tenant))
            given = core.generations.get(slot, FIRST_GENERATION) if core.generations else FIRST_GENERATION
        finally:
            self._release()
        if self._changes:
            core.feed.deliver()
        return given

    def submit_many(self, tasks: GraphInput, function: Callable[..., Any] | None = None) -> list[int]:
        """Add many tasks at once: all of them or, if any is refused, none. O(V+E) of the batch.

        Dependencies may point forward inside the batch, in closed graphs too; a cycle inside the batch is refused
        in open graphs too. A batch with ids submitted before is entered in dependency order.

        Args:
            tasks: an iterable of ``TaskSpec`` or of ``(id, dependencies)``; a mapping ``{node: predecessors}`` as
                graphlib takes it (a predecessor without a key becomes a task of its own, after the others); or a
                directed networkx graph, where an edge (a, b) means that b depends on a.
            function: for the forms without functions: ``run`` calls it with the id as its only argument.

        Returns:
            The generations, in the order of the tasks.

        Raises:
            TypeError: the input has none of these forms.
            DuplicateTask: also if an id occurs twice in the batch. Other errors are those of ``submit``.
        """
        batch = read_batch(tasks, function, self.tasks.__contains__)
        with self._lock:
            generations = add_batch(self._core, batch)
        self._core.feed.deliver()
        return generations

    def add_dependency(
        self, task: Hashable, dependency: Hashable, *, optional: bool = False, generation: int | None = None
    ) -> bool:
        """Add an edge to a task that is waiting or pending; ready, running and ended tasks refuse it.

        Returns:
            False if the edge exists already. An optional edge becomes a required one when asked for.

        Raises:
            UnknownTask, UnknownDependency, SchedulerClosed: as ``submit``.
            DependencyCycle: with the path the edge would close. O(tasks that depend on ``task``).
            StateConflict: the task is ready, running or has ended.
            GenerationConflict: another generation is current.
        """
        with self._lock:
            added = add_edge(self._core, task, dependency, optional, generation)
        self._core.feed.deliver()
        return added

    def check(self) -> list[list[Any]]:
        """Report cycles that can never run: one path ``[a, b, c, a]`` per group of tasks that wait for each other.

        Each task is a dependency of the next. Empty if there are none. Only open graphs can have any, and only
        until they are repaired: the first ``ready`` refuses to start with one. O(V+E).
        """
        with self._lock:
            paths = cycle_paths(self._core.table)
            self._core.meter.counts["cycles"] += len(paths)
            return paths

    def ready(self, limit: int | None = None, all_or_nothing: bool = False) -> list[Claim]:
        """Claim ready tasks: each becomes running, here and nowhere else. O(log V) per task.

        Args:
            limit: most tasks to claim; None for as many as there are. Never more than the free slots.
            all_or_nothing: claim exactly ``limit`` tasks (all ready ones if None), or none: an empty list if fewer
                are ready.

        Returns:
            Claims ``(task, generation)``, earliest submission first; empty after ``close``.

        Raises:
            CapacityExceeded: all-or-nothing, and fewer slots are free. Nothing was claimed.
            DependencyCycle: before the first claim of an open graph. Nothing was claimed.
            SchedulerClosed: all-or-nothing after ``close``.
            ValueError: a negative limit.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"Expected a limit of 0 or more tasks to claim, or None for all, not {limit}.")
        try:
            self._acquire()
            claims = claim(self._core, limit, all_or_nothing)
        finally:
            self._release()
        if self._changes:
            self._core.feed.deliver()
        return claims

    def complete(self, task: Hashable, generation: int, result: Any = None) -> TaskState:
        """Report that a claimed task succeeded; its dependents may become ready. O(its dependents).

        Returns:
            ``succeeded``, or the known end of this generation if it had ended already (nothing is released twice).

        Raises:
            UnknownTask: no such task.
            GenerationConflict: another generation is current; nothing was changed.
            StateConflict: the task was not claimed.
        """
        core = self._core
        try:
            self._acquire()
            if succeed(core, ((task, generation),)):
                state = endings.known_end(core, task, generation, "complete")
            else:
                state = TaskState.SUCCEEDED
                if result is not None:
                    core.table.result[core.table.index[task]] = result
            if core.closing:
                self._idle.notify_all()
        finally:
            self._release()
        if self._changes:
            core.feed.deliver()
        return state

    def complete_many(self, claims: Iterable[tuple[Any, int]]) -> None:
        """Report that many claimed tasks succeeded (without results), under one lock. O(their dependents).

        Raises:
            UnknownTask, GenerationConflict, StateConflict: as ``complete``, about the first claim refused; all
                other claims are recorded nevertheless.
        """
        core = self._core
        error = None
        try:
            self._acquire()
            refused = succeed(core, claims)
            if refused:
                error = endings.first_conflict(core, refused, "complete")
            if core.closing:
                self._idle.notify_all()
        finally:
            self._release()
        if self._changes:
            core.feed.deliver()
        if error is not None:
            raise error

    def fail(self, task: Hashable, generation: int, error: object = None) -> TaskState:
        """Report that a claimed task failed; everything that requires it becomes blocked, each with this cause.

        Returns, raises: as ``complete``. O(blocked tasks and their edges).
        """
        core = self._core
        with self._lock:
            slot = endings.running_slot(core, task, generation, "fail")
            if slot is not None:
                endings.fail(core, slot, error)
            state = self._ended(task)
        core.feed.deliver()
        return state

    def cancel(
        self,
        task: Hashable,
        *,
        generation: int | None = None,
        reason: str = "",
        by: str = "",
        confirmed: bool = False,
    ) -> TaskState:
        """Cancel a task that has not started at once, or ask a running one to stop.

        A running task stays running until its function confirms (``confirmed=True``, which the runner sends when the
        function raises ``TaskStopped``) or ends on its own. What requires a cancelled task becomes blocked.

        Args:
            task: the id.
            generation: refuse if another generation is current; None means the current one.
            reason: why, for the audit.
            by: who, for the audit.
            confirmed: the running function did stop.

        Returns:
            The state now: ``cancelled``, ``running`` (asked to stop), or the known end.

        Raises:
            UnknownTask: no such task.
            GenerationConflict: another generation is current.
            StateConflict: a stop is confirmed that nobody asked for.
        """
        core = self._core
        with self._lock:
            endings.cancel(core, task, generation, reason, by, confirmed)
            state = self._ended(task)
        core.feed.deliver()
        return state

    def attach_stop(self, claim: Claim, signal: Callable[[], None]) -> None:
        """Call ``signal`` when a stop of this running task is asked for (at once if it was). For own runners.

        ``signal`` runs under the scheduler's lock: set a flag and return. If the task has ended, nothing happens.

        Raises:
            UnknownTask, GenerationConflict, StateConflict: as ``complete``.
        """
        core = self._core
        with self._lock:
            slot = endings.running_slot(core, claim[0], claim[1], "attach a stop signal to")
            if slot is not None:
                core.watched = True
                core.stops.attach(slot, signal, slot in core.stop_requests)

    def close(self, timeout: float | None = None, queued: Literal["cancel", "keep"] = "cancel") -> CloseReport:
        """Refuse new submissions, stop claims, and wait for running tasks.

        Callbacks of running tasks are still taken, also after the timeout. May be called again, to wait longer or
        to cancel what was kept.

        Args:
            timeout: seconds to wait for running tasks; None waits until they ended, 0 does not wait.
            queued: what happens to waiting, pending and ready tasks: cancelled now, or kept as they are.

        Returns:
            What is still running, and what was cancelled or kept, each with its reason.

        Raises:
            ValueError: an unknown policy.
        """
        return close_scheduler(self._core, self._idle, timeout, queued)

    def run(
        self, workers: int | Executor = 4, *, concurrency: int | None = None, progress: bool | None = None
    ) -> RunReport:
        """Claim, call and report until no task is ready or running.

        A function that has a parameter named ``stop`` is handed the stop signal, one with a parameter named
        ``inputs`` the ``InputSummary`` of its dependencies. A function that raises fails its task only.

        Args:
            workers: number of threads, or any ``concurrent.futures.Executor`` (functions must then fit it).
            concurrency: most tasks in the executor at once; default: ``workers`` if that is a number, else
                twice the number of CPUs.
            progress: show a progress bar; None: for 100 tasks or more when standard error is a terminal.

        Returns:
            How the tasks of this run ended.

        Raises:
            DependencyCycle: before anything runs.
            BrokenExecutor: the executor died; tasks inside it are failed, the others stay ready.
        """
        from signoff.scheduler.runner import Runner

        return Runner(self, workers, concurrency, progress).run()

    def _ended(self, task: Hashable) -> TaskState:
        """State to answer a callback with; wakes ``close`` when nothing runs any more."""
        if self._core.closing:
            self._idle.notify_all()
        return STATE_OF_CODE[self._core.table.state[self._core.table.index[task]]]
