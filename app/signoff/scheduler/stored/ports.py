"""What the durable scheduler needs of a store, as protocols: the store knows SQL and decides nothing.

Rows of versions come as plain tuples in the order of the fields of `version.Version`. Times are integer
microseconds since 1970 UTC. Everything happens inside the transaction the rows were handed out for.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

type Row = tuple[Any, ...]


class Versions(Protocol):
    """Nodes (task ids) and versions (their generations)."""

    def settings(self) -> Row:
        """(open_graph, strict, max_concurrency, closing, started, suspect)."""
        ...

    def change_graph(self, *, closing: str | None = None, started: bool = False, suspect: int = 0) -> None:
        """Set the closing policy, note the first claim, or add to the count of suspect submissions."""
        ...

    def clear_suspect(self, seen: int) -> bool:
        """Reset that count if it is still the one seen."""
        ...

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, Row | None]]:
        """Name → (node, its newest version or None)."""
        ...

    def add_node(self, name: str) -> int:
        """A node nobody submitted yet."""
        ...

    def add(self, node: int, row: Sequence[Any], payload: Any) -> int:
        """A new newest version (generation, state, unmet, tenant, part, kind, ready_at, cause_at, via)."""
        ...

    def save(self, rows: Sequence[Sequence[Any]]) -> None:
        """Conditional writes: `Version.saved` gives the rows."""
        ...

    def put_result(self, version: int, result: Any) -> None:
        """Keep a result."""
        ...

    def put_error(self, version: int, error: str) -> None:
        """Keep an error."""
        ...

    def payloads(self, versions: Sequence[int]) -> list[tuple[int, bytes]]:
        """(version, payload as JSON) of those that have one."""
        ...

    def ready(self, limit: int, tenant: str | None, part: str | None) -> list[Row]:
        """Ready versions, earliest submission first."""
        ...

    def expired(self, now: int, limit: int) -> list[Row]:
        """Running versions whose lease has ended."""
        ...

    def queued(self, limit: int) -> list[Row]:
        """Versions that have not started."""
        ...

    def iter_unfinished(self) -> Iterator[tuple[int, int, str, int]]:
        """(version, node, state, unmet) of all that have not ended."""
        ...


class Edges(Protocol):
    """Dependencies: a source is a node, a target a version."""

    def add(self, rows: Sequence[tuple[int, int, int, int, int]]) -> None:
        """Edges (source, target, required, open, position)."""
        ...

    def close(self, pairs: Sequence[tuple[int, int]]) -> None:
        """These (source, target) are not waited for any more."""
        ...

    def close_into(self, version: int) -> None:
        """Nothing is waited for by this version any more."""
        ...

    def require(self, source: int, target: int, position: int) -> None:
        """Turn an optional edge into a required one."""
        ...

    def open_targets(self, source: int, after: int, limit: int) -> list[Row]:
        """(required, version …) of a page of what waits for a node."""
        ...

    def has_open(self, source: int) -> bool:
        """Whether anything waits for a node."""
        ...

    def iter_pending(self, source: int) -> Iterator[tuple[int, int, str]]:
        """(version, node, name) of every pending version that waits for a node."""
        ...

    def into(self, version: int) -> list[tuple[int, str, int, int, int | None]]:
        """(node, name, required, open, newest version) of every dependency."""
        ...

    def iter_unknown(self) -> Iterator[tuple[int, int]]:
        """(node, version) of every open edge from a node nobody submitted yet."""
        ...


class Ledger(Protocol):
    """What is left to propagate, and counts."""

    def frontier(self, limit: int) -> list[tuple[int, int, int, int, int]]:
        """The oldest (entry, version, node, bad, cursor)."""
        ...

    def is_spreading(self, version: int) -> bool:
        """Whether an entry of this version is left."""
        ...

    def add_frontier(self, rows: Sequence[tuple[int, int, int, int]]) -> None:
        """New entries (version, node, bad, cursor)."""
        ...

    def move_frontier(self, entry: int, cursor: int) -> None:
        """This entry has come as far as `cursor`."""
        ...

    def drop_frontier(self, entry: int) -> None:
        """This entry is done."""
        ...

    def add_tallies(self, changes: Mapping[tuple[str, str, str, str], int]) -> None:
        """Add to the counts by (tenant, part, kind, state)."""
        ...

    def add_figures(
        self, sums: Mapping[tuple[str, str, str], float], longest: Mapping[tuple[str, str, str], float]
    ) -> None:
        """Add to sums and raise maxima by (tenant, kind, name)."""
        ...

    def count(self, state: str) -> int:
        """How many newest versions are in a stored state."""
        ...

    def tallies(self) -> list[tuple[str, str, str, int]]:
        """(tenant, kind, state, count)."""
        ...

    def waiting(self) -> list[tuple[str, str, int]]:
        """(tenant, kind, count) of pending versions with an unknown dependency."""
        ...

    def figures(self) -> list[tuple[str, str, str, float]]:
        """(tenant, kind, name, value)."""
        ...


class Pages(Protocol):
    """Looking at tasks."""

    def page(self, after: int, limit: int, filters: Mapping[str, str]) -> list[Row]:
        """Newest versions beyond `after`, in submission order."""
        ...

    def by_id(self, version: int) -> Row:
        """One version."""
        ...

    def generations(self, node: int) -> list[Row]:
        """All versions of a node, oldest first."""
        ...

    def is_waiting(self, version: int) -> bool:
        """Whether a pending version has an unknown dependency."""
        ...

    def body(self, version: int) -> tuple[Any, Any, str | None]:
        """(payload, result, error)."""
        ...

    def unknown(self, after: str, limit: int) -> list[tuple[str, str]]:
        """(unknown name, name of a task that waits for it), by name."""
        ...

    def audited(self, after: int, limit: int) -> list[Row]:
        """Versions that were cancelled, blocked, or asked to stop, beyond `after`."""
        ...


class Tables(Protocol):
    """All rows of one graph inside one transaction."""

    @property
    def versions(self) -> Versions:
        """Nodes and versions."""
        ...

    @property
    def edges(self) -> Edges:
        """Dependencies."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Frontier and counts."""
        ...

    @property
    def pages(self) -> Pages:
        """Looking."""
        ...


class GraphStore(Protocol):
    """One durable graph; `signoff.store.tasks.open_task_graph` opens one on SQLite."""

    def ensure(self, open_graph: bool, strict: bool, max_concurrency: int | None) -> tuple[bool, bool, int | None]:
        """Create the graph with these settings unless it exists; returns the settings it has."""
        ...

    def write(self) -> AbstractContextManager[Tables]:
        """One write transaction; an exception rolls it back."""
        ...

    def read(self) -> AbstractContextManager[Tables]:
        """One consistent snapshot."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
