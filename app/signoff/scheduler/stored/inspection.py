"""Questions about the tasks of a stored graph; every answer is one consistent snapshot."""

from collections.abc import Iterator
from typing import Any

from signoff.scheduler.errors import UnknownTask
from signoff.scheduler.records import Cause, Claim, DependencyInput, InputSummary
from signoff.scheduler.states import TaskState
from signoff.scheduler.stored.metrics import state_counts
from signoff.scheduler.stored.ports import GraphStore, Tables
from signoff.scheduler.stored.version import StoredTaskInfo, TaskPage, Version, from_micros, read_version

_STOPPED = (TaskState.CANCELLED, TaskState.RUNNING)


class StoredInspector:
    """Read access to one stored graph: the methods of `Inspector`, and pages.

    Every method that takes a task raises ``UnknownTask`` if it was never submitted.
    """

    def __init__(self, store: GraphStore, page_size: int) -> None:
        self._store = store
        self._page_size = page_size

    def __contains__(self, task: object) -> bool:
        with self._store.read() as tables:
            found = tables.versions.find([task]).get(task) if isinstance(task, str) else None
            return found is not None and found[1] is not None

    def __len__(self) -> int:
        with self._store.read() as tables:
            return sum(count for *_, count in tables.ledger.tallies())

    def ids(self) -> Iterator[str]:
        """All ids, in the order their newest generation was submitted; loaded a page at a time."""
        return (info.task for info in self._iter())

    def page(
        self,
        after: int | None = None,
        limit: int = 100,
        *,
        state: TaskState | None = None,
        tenant: str | None = None,
        partition: str | None = None,
        kind: str | None = None,
    ) -> TaskPage:
        """One page of tasks (newest generations) in submission order.

        The cursor is the place of the last task in that order, which never changes: going from cursor to cursor
        shows every task that was there all along exactly once, whatever happens in between. A task submitted
        again moves to the end, as in the order of claims; one that leaves or enters the asked state between two
        pages may be missing or shown.

        Args:
            after: the cursor of the page before; None for the first.
            limit: most tasks on the page, 1 or more.
            state: only tasks in this state.
            tenant: only this tenant's.
            partition: only those of this partition.
            kind: only this task type.
        """
        wanted = {"state": state, "tenant": tenant, "part": partition, "kind": kind}
        filters = {name: str(value) for name, value in wanted.items() if value is not None}
        with self._store.read() as tables:
            rows = tables.pages.page(after or 0, max(limit, 1) + 1, filters)
            shown = [read_version(row) for row in rows[: max(limit, 1)]]
            tasks = tuple(_info(tables, version) for version in shown)
        return TaskPage(tasks, shown[-1].id if len(rows) > len(shown) else None)

    def state(self, task: str) -> TaskState:
        """State of the newest generation."""
        with self._store.read() as tables:
            return _state(tables, _newest(tables, task))

    def generation(self, task: str) -> int:
        """Number of the newest generation."""
        with self._store.read() as tables:
            return _newest(tables, task).generation

    def cause(self, task: str) -> Cause | None:
        """Why the newest generation failed, is blocked or was cancelled, or why it was asked to stop."""
        with self._store.read() as tables:
            return _cause(tables, _newest(tables, task))

    def info(self, task: str, generation: int | None = None) -> StoredTaskInfo:
        """Everything about one generation (default: the newest)."""
        with self._store.read() as tables:
            version = _newest(tables, task)
            if generation is not None and generation != version.generation:
                older = [read_version(row) for row in tables.pages.generations(version.node)]
                version = next((v for v in older if v.generation == generation), version)
                if version.generation != generation:
                    raise UnknownTask(task, f"look at generation {generation} of")
            return _info(tables, version)

    def history(self, task: str) -> list[StoredTaskInfo]:
        """All generations of a task, oldest first."""
        with self._store.read() as tables:
            node = _newest(tables, task).node
            return [_info(tables, read_version(row)) for row in tables.pages.generations(node)]

    def counts(self) -> dict[TaskState, int]:
        """Number of tasks per state, newest generations only. O(tenants), and edges from unknown ids."""
        with self._store.read() as tables:
            return state_counts(tables)

    def unknown(self, after: str = "", limit: int = 1000) -> dict[str, list[str]]:
        """Dependencies nobody submitted yet, each with tasks waiting for it; at most ``limit`` such edges."""
        found: dict[str, list[str]] = {}
        with self._store.read() as tables:
            for dependency, task in tables.pages.unknown(after, limit):
                found.setdefault(dependency, []).append(task)
        return found

    def inputs(self, task: str) -> InputSummary:
        """The dependencies of a task with their states and results, failed optional ones included."""
        with self._store.read() as tables:
            edges = tables.edges.into(_newest(tables, task).id)
            items = [_input(tables, name, bool(required), newest) for _, name, required, _, newest in edges]
            return InputSummary(tuple(items))

    def audit(self) -> Iterator[tuple[Claim, Cause]]:
        """Who cancelled what, when, why, and along which path, in submission order; loaded a page at a time."""
        after = 0
        while True:
            with self._store.read() as tables:
                versions = [read_version(row) for row in tables.pages.audited(after, self._page_size)]
                entries = [(v, _cause(tables, v)) for v in versions]
            for version, cause in entries:
                if cause is not None and cause.state in _STOPPED:
                    yield (version.task, version.generation), cause
            if len(versions) < self._page_size:
                return
            after = versions[-1].id

    def _iter(self) -> Iterator[StoredTaskInfo]:
        page = self.page(None, self._page_size)
        yield from page.tasks
        while page.cursor is not None:
            page = self.page(page.cursor, self._page_size)
            yield from page.tasks


def _newest(tables: Tables, task: str) -> Version:
    _, row = tables.versions.find([task]).get(task, (0, None))
    if row is None:
        raise UnknownTask(task, "look at")
    return read_version(row)


def _state(tables: Tables, version: Version) -> TaskState:
    is_waiting = version.state is TaskState.PENDING and tables.pages.is_waiting(version.id)
    return TaskState.WAITING if is_waiting else version.state


def _cause(tables: Tables, version: Version) -> Cause | None:
    """O(length of the path)."""
    if version.state not in (TaskState.FAILED, TaskState.BLOCKED, TaskState.CANCELLED) and not version.stop:
        return None
    root, path = version, [version.task]
    while root.via is not None:
        root = read_version(tables.pages.by_id(root.via))
        path.append(root.task)
    at = from_micros(root.cause_at)
    return Cause(root.task, root.generation, root.state, root.reason, root.actor, at, tuple(reversed(path)))


def _info(tables: Tables, version: Version) -> StoredTaskInfo:
    edges = tables.edges.into(version.id)
    payload, result, error = tables.pages.body(version.id)
    return StoredTaskInfo(
        task=version.task,
        generation=version.generation,
        state=_state(tables, version),
        dependencies=tuple(name for _, name, required, _, _ in edges if required),
        optional=tuple(name for _, name, required, _, _ in edges if not required),
        cause=_cause(tables, version),
        result=result,
        error=error,
        kind=version.kind,
        tenant=version.tenant,
        stop_requested=bool(version.stop),
        payload=payload,
        partition=version.part,
        worker=version.worker,
        fence=version.fence,
        lease_until=from_micros(version.lease_until) if version.lease_until else None,
        expiries=version.expiries,
    )


def _input(tables: Tables, name: str, required: bool, newest: int | None) -> DependencyInput:
    if newest is None:
        return DependencyInput(name, 0, required, None)
    version = read_version(tables.pages.by_id(newest))
    result: Any
    _, result, error = tables.pages.body(newest)
    return DependencyInput(name, version.generation, required, _state(tables, version), result, error)
