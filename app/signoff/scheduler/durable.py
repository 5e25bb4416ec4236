"""DurableTaskScheduler: the scheduler whose graph lives in a store. Guide: assets/docs/scheduler.md."""

import json
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from signoff.scheduler.closing import CANCELLED_REASON, KEPT_REASON
from signoff.scheduler.errors import DependencyCycle, SchedulerError, SettingsConflict
from signoff.scheduler.graph_input import GraphInput
from signoff.scheduler.snapshot import Metrics
from signoff.scheduler.states import TaskState
from signoff.scheduler.stored import callbacks, submission
from signoff.scheduler.stored.inspection import StoredInspector
from signoff.scheduler.stored.metrics import stored_metrics
from signoff.scheduler.stored.paths import all_cycles
from signoff.scheduler.stored.ports import GraphStore
from signoff.scheduler.stored.spread import spread
from signoff.scheduler.stored.version import (
    LeasedClaim,
    Renewal,
    StoredCloseReport,
    StoredTask,
    Version,
    from_micros,
    to_micros,
)
from signoff.scheduler.stored.work import SECOND, StillSpreading, Work

POLL_S = 0.1
"""How often `close` looks whether other processes have finished."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class DurableTaskScheduler:
    """`TaskScheduler` for graphs that outlive the process or do not fit into memory: same names, same states.

    Any number of threads and processes may drive one graph. A claim is a lease: renew it while the work goes on;
    when it runs out the task is ready again and **may run a second time** (execution is at least once), but the
    fencing token of the first claim does not count any more. Ids are texts; payloads and results are JSON.

    Args:
        store: one graph, as `signoff.store.tasks.open_task_graph` opens it. The scheduler closes nothing.
        max_concurrency: most tasks running at once, over all processes; None for no limit.
        open_graph: as in `TaskScheduler`.
        strict: as in `TaskScheduler`. These three belong to the graph: whoever opens it again must say the same.
        lease_s: how long a claim holds without being renewed, seconds.
        window: most tasks that `ready` loads when no limit is given.
        page: about how many edges or tasks one transaction touches; what is left follows in further transactions.
        worker: name written beside a claim; default: host-independent process number.
        now: aware UTC time; leases of all processes are compared by it. On a server ``open_durable_scheduler`` gives
            the server's; on a file the clocks must agree to well below ``lease_s``.
        clock: monotonic seconds, for waiting and for propagation latency.

    Raises:
        SettingsConflict: the graph exists with other settings.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        max_concurrency: int | None = None,
        open_graph: bool = False,
        strict: bool = False,
        lease_s: float = 60.0,
        window: int = 1000,
        page: int = 1000,
        worker: str = "",
        now: Callable[[], datetime] = _utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_concurrency is not None and max_concurrency < 0:
            raise ValueError(f"Expected max_concurrency of 0 or more, or None for no limit, not {max_concurrency}.")
        if lease_s <= 0 or window < 1 or page < 1:
            raise ValueError("Expected a lease_s above 0 and a window and a page of 1 or more.")
        asked = {"open_graph": open_graph, "strict": strict, "max_concurrency": max_concurrency}
        stored = dict(zip(asked, store.ensure(open_graph, strict, max_concurrency), strict=True))
        if stored != asked:
            raise SettingsConflict(asked, stored)
        self._store = store
        self._lease = round(lease_s * SECOND)
        self._window, self._page = window, page
        self._worker = worker or f"process {os.getpid()}"
        self._now, self._clock = now, clock
        self._ended = threading.Condition()
        self.most_loaded = 0

    @property
    def tasks(self) -> StoredInspector:
        """Questions about tasks: state, cause, generation, counts, inputs, history, audit, pages."""
        return StoredInspector(self._store, self._page)

    def metrics(self) -> Metrics:
        """All counters and durations, over all processes. O(tenants × task types)."""
        with self._store.read() as tables:
            return stored_metrics(tables)

    def submit(
        self,
        task: str,
        dependencies: Iterable[Hashable] = (),
        payload: Any = None,
        optional: Iterable[Hashable] = (),
        kind: str = "",
        tenant: str = "",
        partition: str = "",
        generation: int | None = None,
    ) -> int:
        """Add a task, or a new generation of one that is not running; see `TaskScheduler.submit`.

        Instead of a function a task has a ``kind`` and a JSON ``payload``. Dependencies may be in other partitions.

        Returns, raises: as `TaskScheduler.submit`.
        """
        spec = StoredTask(task, (), payload, (), kind, tenant, partition, generation)
        edges = submission.edges_of(task, dependencies, optional)
        return self._write(lambda work: submission.add(work, spec, edges))

    def submit_many(self, tasks: GraphInput | Iterable[StoredTask]) -> list[int]:
        """Add many tasks in one transaction: all of them or, if any is refused, none.

        Takes the forms of `TaskScheduler.submit_many` (without functions) and `StoredTask`s. Other writers wait
        meanwhile, so feed a big graph in batches of some thousands.
        """
        specs = submission.read_batch(tasks)
        return self._write(lambda work: submission.add_batch(work, specs))

    def add_dependency(
        self, task: str, dependency: str, *, optional: bool = False, generation: int | None = None
    ) -> bool:
        """Add an edge to a task that is waiting or pending; see `TaskScheduler.add_dependency`."""
        return self._write(lambda work: submission.add_edge(work, task, dependency, optional, generation))

    def check(self) -> list[list[str]]:
        """Report cycles that can never run; see `TaskScheduler.check`. O(V+E) in one snapshot, 12 bytes per task."""
        with self._store.read() as tables:
            paths = all_cycles(tables)
        if paths:
            self._write(lambda work: work.count("cycles", len(paths)))
        return paths

    def ready(
        self,
        limit: int | None = None,
        all_or_nothing: bool = False,
        *,
        tenant: str | None = None,
        partition: str | None = None,
        lease_s: float | None = None,
    ) -> list[LeasedClaim]:
        """Claim ready tasks under a lease; first take back leases that ran out, and help a propagation along.

        Only the tasks claimed are loaded: at most ``limit``, or the window.

        Args:
            limit: most tasks to claim; None for as many as the window holds. Never more than the free slots.
            all_or_nothing: claim exactly ``limit`` tasks (all ready ones if None), or none.
            tenant: only this tenant's tasks.
            partition: only tasks of this partition.
            lease_s: another lease than the scheduler's, seconds.

        Returns:
            Claims, earliest submission first (among those asked for); empty after ``close``.

        Raises:
            CapacityExceeded, DependencyCycle, SchedulerClosed, ValueError: as `TaskScheduler.ready`.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"Expected a limit of 0 or more tasks to claim, or None for all, not {limit}.")
        length = self._lease if lease_s is None else round(lease_s * SECOND)

        def claim(work: Work) -> list[LeasedClaim] | None:
            self._help(work)
            if work.settings.suspect and not (work.settings.started or work.settings.closing):
                return None
            count = callbacks.claimable(work, limit, all_or_nothing, self._window)
            rows = work.tables.versions.ready(count, tenant, partition) if count else []
            short = all_or_nothing and limit is not None and len(rows) < limit
            versions = [] if short else [work.adopt(row) for row in rows]
            until = work.at + length
            callbacks.lease(work, versions, self._worker, until)
            return _claims(work, versions, until)

        while True:
            claims = self._write(claim)
            if claims is not None:
                return claims
            self._refuse_cycles()

    def complete(self, task: str, generation: int, result: Any = None, *, fence: int) -> TaskState:
        """Report that a claimed task succeeded; its dependents may become ready. O(its dependents), in pages.

        A claim whose lease ran out still counts as long as nobody took it back.

        Returns: ``succeeded``, or the known end of this generation (nothing is released twice, no result replaced).

        Raises:
            UnknownTask, GenerationConflict, StateConflict: as `TaskScheduler.complete`.
            LeaseLost: the fencing token does not count any more.
        """
        claim = LeasedClaim(task, generation, fence, self._now())
        return self._write(lambda work: callbacks.complete(work, claim, result))

    def complete_many(self, claims: Iterable[LeasedClaim]) -> None:
        """Report that many claimed tasks succeeded (without results), some hundreds per transaction.

        Raises: as ``complete``, about the first claim refused; all other claims are recorded nevertheless.
        """
        left, error, size = list(claims), None, max(self._page // 4, 1)
        while left:
            part, left = left[:size], left[size:]
            refused = self._write(partial(callbacks.complete_many, claims=part))
            error = error or refused
        if error is not None:
            raise error

    def fail(self, task: str, generation: int, error: object = None, *, fence: int) -> TaskState:
        """Report that a claimed task failed; everything that requires it becomes blocked, a page at a time.

        Returns, raises: as ``complete``.
        """
        claim = LeasedClaim(task, generation, fence, self._now())
        return self._write(lambda work: callbacks.fail(work, claim, error))

    def cancel(
        self,
        task: str,
        *,
        generation: int | None = None,
        reason: str = "",
        by: str = "",
        confirmed: bool = False,
        fence: int | None = None,
    ) -> TaskState:
        """Cancel a task that has not started at once, or ask a running one to stop; see `TaskScheduler.cancel`.

        The worker hears of it when it renews its lease, and confirms with ``confirmed=True`` and its ``fence``.
        If it does not renew any more, the task is cancelled when its lease runs out.
        """
        return self._write(lambda work: callbacks.cancel(work, task, generation, reason, by, confirmed, fence))

    def renew(self, claims: Sequence[LeasedClaim], lease_s: float | None = None) -> list[Renewal]:
        """Extend the leases of running claims (a heartbeat); send it several times per ``lease_s``.

        Returns:
            For each claim: ``held``, ``stop`` (held, and somebody asks for a stop), or ``lost`` (stop working: the
            task was given on or has ended).
        """
        length = self._lease if lease_s is None else round(lease_s * SECOND)
        return self._write(lambda work: callbacks.renew(work, claims, work.at + length))

    def advance(self) -> bool:
        """Do one page of what other transactions left: propagation, a close, leases that ran out.

        ``ready`` does the same; a graph that nobody claims from can be brought up to date with this.

        Returns: whether there is more.
        """

        def step(work: Work) -> bool:
            self._help(work)
            ledger = work.tables.ledger
            queued = ledger.count(TaskState.PENDING) + ledger.count(TaskState.READY)
            more = bool(ledger.frontier(1) or work.tables.versions.expired(work.at, 1))
            return more or (work.settings.closing == "cancel" and queued > 0)

        return self._write(step)

    def close(self, timeout: float | None = None, queued: Literal["cancel", "keep"] = "cancel") -> StoredCloseReport:
        """Refuse new submissions, stop claims in every process, and wait for running tasks; see `TaskScheduler.close`.

        The decision is stored first; queued tasks are cancelled a page per transaction. If the process dies in
        between, whoever opens the graph next goes on. A closed graph stays closed.
        """
        if queued not in ("cancel", "keep"):
            raise ValueError(f"Expected queued tasks to be closed by 'cancel' or 'keep', not {queued!r}.")
        with self._store.read() as tables:
            before = tables.ledger.count(TaskState.CANCELLED)
        self._write(lambda work: work.tables.versions.change_graph(closing=queued))
        while self.advance():
            pass
        deadline = None if timeout is None else self._clock() + timeout
        while self._running() and (deadline is None or self._clock() < deadline):
            left = POLL_S if deadline is None else min(POLL_S, deadline - self._clock())
            with self._ended:
                self._ended.wait(max(left, 0))
            self.advance()
        with self._store.read() as tables:
            kept = tables.ledger.count(TaskState.PENDING) + tables.ledger.count(TaskState.READY)
            running = tables.ledger.count(TaskState.RUNNING)
            done = tables.ledger.count(TaskState.CANCELLED) - before
        cancelled = {CANCELLED_REASON: done} if queued == "cancel" and done else {}
        return StoredCloseReport(not running, running, cancelled, {KEPT_REASON: kept} if kept else {})

    def _running(self) -> int:
        with self._store.read() as tables:
            return tables.ledger.count(TaskState.RUNNING)

    def _help(self, work: Work) -> None:
        """A page of what is left: propagation first, then leases, then a close; written before anything is asked."""
        start = self._clock()
        spread(work, self._page, stored=True)
        callbacks.expire(work, self._page)
        work.count("propagation_s", self._clock() - start)
        work.flush()
        if work.settings.closing == "cancel" and not work.tables.ledger.frontier(1):
            callbacks.cancel_queued(work, self._page)
            work.flush()

    def _refuse_cycles(self) -> None:
        """Look for cycles in a snapshot; they are excluded if nothing was submitted in between."""
        with self._store.read() as tables:
            seen = tables.versions.settings()[5]
            paths = all_cycles(tables)

        def settle(work: Work) -> None:
            if paths:
                raise work.refuse(DependencyCycle(paths))
            work.tables.versions.clear_suspect(seen)

        self._write(settle)

    def _write[T](self, operation: Callable[[Work], T]) -> T:
        """Run an operation in one transaction, then spread what it ended, page by page."""
        while True:
            try:
                answer, left = self._transaction(operation)
            except StillSpreading:
                while self.advance():
                    pass
                continue
            while left:
                left = self.advance()
            with self._ended:
                self._ended.notify_all()
            return answer

    def _transaction[T](self, operation: Callable[[Work], T]) -> tuple[T, bool]:
        """One transaction; the answer, and whether something of it is left to spread."""
        work: Work | None = None
        try:
            with self._store.write() as tables:
                work = Work(tables, to_micros(self._now()))
                answer = operation(work)
                if work.queue:
                    start = self._clock()
                    spread(work, self._page, stored=False)
                    work.count("propagation_s", self._clock() - start)
                left = bool(work.queue)
                work.flush()
                self.most_loaded = max(self.most_loaded, len(work.loaded))
                return answer, left
        except SchedulerError:
            if work is not None and work.refused:
                self._count_refusals(work)
            raise

    def _count_refusals(self, work: Work) -> None:
        """The refused transaction was rolled back; its counts are not."""
        with self._store.write() as tables:
            tables.ledger.add_figures({("", "", name): count for name, count in work.refused.items()}, {})


def _claims(work: Work, versions: Sequence[Version], until: int) -> list[LeasedClaim]:
    ends = from_micros(until)
    bodies: dict[int, bytes] = {}
    for start in range(0, len(versions), 500):
        bodies |= dict(work.tables.versions.payloads([v.id for v in versions[start : start + 500]]))
    return [
        LeasedClaim(
            v.task, v.generation, v.fence, ends, json.loads(bodies[v.id]) if v.id in bodies else None,
            v.kind, v.tenant, v.part, v.expiries,
        )
        for v in versions
    ]  # fmt: skip
