"""One write transaction of the durable scheduler: what was loaded, what changed, what must still spread."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from signoff.scheduler.errors import DependencyCycle, SchedulerError
from signoff.scheduler.states import TaskState
from signoff.scheduler.stored.ports import Tables
from signoff.scheduler.stored.version import Version, read_version

SECOND = 1_000_000
"""Microseconds."""


class StillSpreading(Exception):
    """The operation must wait until the end of an older generation has reached all its dependents."""


class Settings(NamedTuple):
    """Settings and flags of the graph, in the order the store gives them."""

    open_graph: int
    strict: int
    max_concurrency: int | None
    closing: str
    started: int
    suspect: int


@dataclass(slots=True)
class Entry:
    """An ended version on its way to its dependents; `entry` is 0 while it is not stored."""

    entry: int
    version: int
    node: int
    bad: int
    cursor: int = 0
    moved: bool = False


class Work:
    """Loads versions once, keeps their changes, and writes everything at its end, each write conditional.

    Attributes:
        tables: the store's rows in this transaction.
        at: the time of this transaction, microseconds.
        queue: ended versions whose dependents have not all heard of it.
    """

    def __init__(self, tables: Tables, at: int) -> None:
        self.tables = tables
        self.at = at
        self.settings = Settings(*tables.versions.settings())
        self.loaded: dict[int, Version] = {}
        self.queue: deque[Entry] = deque()
        self._before: dict[int, tuple[str, int]] = {}
        self._tallies: Counter[tuple[str, str, str, str]] = Counter()
        self._sums: Counter[tuple[str, str, str]] = Counter()
        self._longest: dict[tuple[str, str, str], float] = {}
        self.refused: Counter[str] = Counter()

    def adopt(self, row: Sequence[Any]) -> Version:
        """The version of a row; the same object each time, with what this transaction changed."""
        known = self.loaded.get(row[0])
        if known is None:
            known = self.loaded[row[0]] = read_version(row)
        return known

    def find(self, task: str) -> tuple[int | None, Version | None]:
        """(node, newest version) of a task id, each None if there is none."""
        node, row = self.tables.versions.find((task,)).get(task, (None, None))
        return node, None if row is None else self.adopt(row)

    def loaded_state(self, task: str) -> TaskState:
        """State of the newest version of a known task."""
        _, version = self.find(task)
        assert version is not None
        return version.state

    def keep_refused(self) -> None:
        """Count the refusals of a transaction that will commit."""
        for name, amount in self.refused.items():
            self.count(name, amount)
        self.refused.clear()

    def find_many(self, tasks: Sequence[str]) -> dict[str, tuple[int, Version | None]]:
        """The same for many ids; those without a node are left out."""
        found = self.tables.versions.find(tasks)
        return {task: (node, None if row is None else self.adopt(row)) for task, (node, row) in found.items()}

    def touch(self, version: Version) -> None:
        """Remember that a version is about to change."""
        if version.id not in self._before:
            self._before[version.id] = (version.state.value, version.fence)

    def move(self, version: Version, state: TaskState) -> None:
        """Change the state of a newest version."""
        self.touch(version)
        self.retally(version, -1)
        version.state = state
        self.retally(version, 1)
        if state is TaskState.READY:
            version.ready_at = self.at

    def retally(self, version: Version, change: int) -> None:
        """Count a version in (1) or out (-1)."""
        self._tallies[version.tenant, version.part, version.kind, version.state.value] += change

    def end(
        self, version: Version, state: TaskState, reason: str = "", actor: str = "", via: int | None = None
    ) -> None:
        """End a version and put it on the way to its dependents."""
        if version.state is TaskState.RUNNING:
            self.measure("run_time", version, version.claimed_at)
        self.move(version, state)
        version.lease_until = version.stop = 0
        version.reason, version.actor, version.via, version.cause_at = reason, actor, via, self.at
        self.spread_from(version)

    def spread_from(self, version: Version) -> None:
        """Let everything that waits for an ended version hear of it."""
        self.queue.append(Entry(0, version.id, version.node, int(version.state is not TaskState.SUCCEEDED)))

    def count(self, name: str, amount: float = 1, tenant: str = "", kind: str = "") -> None:
        """Add to a figure of the metrics."""
        if amount:
            self._sums[tenant, kind, name] += amount  # type: ignore[assignment]

    def measure(self, name: str, version: Version, since: int) -> None:
        """Add one duration that ends now."""
        seconds = max(self.at - since, 0) / SECOND
        group = (version.tenant, version.kind)
        self._sums[*group, f"{name}.count"] += 1
        self._sums[*group, f"{name}.total_s"] += seconds  # type: ignore[assignment]
        longest = (*group, f"{name}.longest_s")
        self._longest[longest] = max(self._longest.get(longest, 0.0), seconds)

    def refuse[E: SchedulerError](self, error: E, figure: str = "") -> E:
        """Count a refusal (the transaction will be rolled back, the counts are written after it)."""
        self.refused[figure or f"graph_error.{error.code}"] += 1
        if isinstance(error, DependencyCycle):
            self.refused["cycles"] += len(error.paths)
        return error

    def flush(self) -> None:
        """Write every change so far; entries that are left become (or stay) the stored frontier."""
        self.tables.versions.save([self.loaded[key].saved(*before) for key, before in self._before.items()])
        ledger = self.tables.ledger
        for entry in self.queue:
            if entry.entry and entry.moved:
                ledger.move_frontier(entry.entry, entry.cursor)
        ledger.add_frontier([(e.version, e.node, e.bad, e.cursor) for e in self.queue if not e.entry])
        ledger.add_tallies(self._tallies)
        ledger.add_figures(self._sums, self._longest)
        for done in (self._before, self.queue, self._tallies, self._sums, self._longest):
            done.clear()
