"""Statements about dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from signoff.store.tasks.versions import COLUMNS

_OPEN = (
    f"SELECT e.required, {COLUMNS} FROM task_edge e JOIN task_version v ON v.id = e.target"
    " JOIN task_node n ON n.id = v.node WHERE e.source=? AND e.target>? AND e.open=1 ORDER BY e.target LIMIT ?"
)
_INTO = (
    "SELECT d.id, d.name, e.required, e.open, v.id FROM task_edge e JOIN task_node d ON d.id = e.source"
    " LEFT JOIN task_version v ON v.id = d.newest WHERE e.target=? ORDER BY e.required DESC, e.position"
)
_PENDING = (
    "SELECT v.id, v.node, n.name FROM task_edge e JOIN task_version v ON v.id = e.target"
    " JOIN task_node n ON n.id = v.node WHERE e.source=? AND e.open=1 AND v.state='pending' ORDER BY e.target"
)
_UNKNOWN = (
    "SELECT e.source, e.target FROM task_node n JOIN task_edge e ON e.source = n.id"
    " WHERE n.graph=? AND n.newest IS NULL AND e.open=1"
)


class EdgeRows:
    """Edges of one graph, inside one transaction. A source is a node, a target is a version."""

    def __init__(self, cursor: Any, graph: int) -> None:
        self._cursor = cursor
        self._graph = graph

    def add(self, rows: Sequence[tuple[int, int, int, int, int]]) -> None:
        """Insert edges (source, target, required, open, position)."""
        if rows:
            self._cursor.executemany(
                "INSERT INTO task_edge(source, target, required, open, position) VALUES (?,?,?,?,?)", rows
            )

    def close(self, pairs: Sequence[tuple[int, int]]) -> None:
        """These (source, target) are not waited for any more."""
        if pairs:
            self._cursor.executemany("UPDATE task_edge SET open=0 WHERE source=? AND target=?", pairs)

    def close_into(self, version: int) -> None:
        """No edge into a version that will never run is waited for any more."""
        self._cursor.execute("UPDATE task_edge SET open=0 WHERE target=?", (version,))

    def require(self, source: int, target: int, position: int) -> None:
        """Turn an optional edge into a required one."""
        self._cursor.execute(
            "UPDATE task_edge SET required=1, position=? WHERE source=? AND target=?", (position, source, target)
        )

    def open_targets(self, source: int, after: int, limit: int) -> list[tuple[Any, ...]]:
        """(required, version …) of a page of the versions that wait for a node, in submission order."""
        found: list[tuple[Any, ...]] = self._cursor.execute(_OPEN, (source, after, limit)).fetchall()
        return found

    def has_open(self, source: int) -> bool:
        """Whether anything waits for a node."""
        return bool(self.open_targets(source, 0, 1))

    def iter_pending(self, source: int) -> Iterator[tuple[int, int, str]]:
        """(version, node, name) of every pending version that waits for a node; streamed."""
        other = self._cursor.connection.cursor()
        yield from other.execute(_PENDING, (source,))
        other.close()

    def into(self, version: int) -> list[tuple[int, str, int, int, int | None]]:
        """Dependencies of a version: (node, name, required, open, its newest version), required ones first."""
        found: list[tuple[int, str, int, int, int | None]] = self._cursor.execute(_INTO, (version,)).fetchall()
        return found

    def iter_unknown(self) -> Iterator[tuple[int, int]]:
        """(node, version) of every edge from a node nobody submitted yet; streamed."""
        other = self._cursor.connection.cursor()
        yield from other.execute(_UNKNOWN, (self._graph,))
        other.close()
