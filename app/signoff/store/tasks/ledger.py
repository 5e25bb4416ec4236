"""Statements about what is left to propagate, and about the counts that the metrics are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TALLY = (
    "INSERT INTO task_tally(graph, tenant, part, kind, state, count) VALUES (?,?,?,?,?,?)"
    " ON CONFLICT(graph, tenant, part, kind, state) DO UPDATE SET count = task_tally.count + excluded.count"
)
_FIGURE = (
    "INSERT INTO task_figure(graph, tenant, kind, name, value) VALUES (?,?,?,?,?)"
    " ON CONFLICT(graph, tenant, kind, name) DO UPDATE SET value ="
)
_LARGER = "CASE WHEN task_figure.value > excluded.value THEN task_figure.value ELSE excluded.value END"
_WAITING = (
    "SELECT v.tenant, v.kind, count(DISTINCT v.id) FROM task_node n JOIN task_edge e ON e.source = n.id AND e.open=1"
    " JOIN task_version v ON v.id = e.target AND v.state='pending' WHERE n.graph=? AND n.newest IS NULL GROUP BY 1, 2"
)


class LedgerRows:
    """Frontier, tallies and figures of one graph, inside one transaction."""

    def __init__(self, cursor: Any, graph: int) -> None:
        self._cursor = cursor
        self._graph = graph

    def frontier(self, limit: int) -> list[tuple[int, int, int, int, int]]:
        """The oldest entries: (entry, version, node, bad, cursor)."""
        found: list[tuple[int, int, int, int, int]] = self._cursor.execute(
            "SELECT id, version, node, bad, cursor FROM task_frontier WHERE graph=? ORDER BY id LIMIT ?",
            (self._graph, limit),
        ).fetchall()
        return found

    def is_spreading(self, version: int) -> bool:
        """Whether dependents of this ended version have not all heard of its end."""
        return bool(self._cursor.execute("SELECT 1 FROM task_frontier WHERE version=?", (version,)).fetchall())

    def add_frontier(self, rows: Sequence[tuple[int, int, int, int]]) -> None:
        """New entries (version, node, bad, cursor)."""
        if rows:
            self._cursor.executemany(
                "INSERT INTO task_frontier(graph, version, node, bad, cursor) VALUES (?,?,?,?,?)",
                [(self._graph, *row) for row in rows],
            )

    def move_frontier(self, entry: int, cursor: int) -> None:
        """This entry has come as far as `cursor`."""
        self._cursor.execute("UPDATE task_frontier SET cursor=? WHERE id=?", (cursor, entry))

    def drop_frontier(self, entry: int) -> None:
        """This entry is done."""
        self._cursor.execute("DELETE FROM task_frontier WHERE id=?", (entry,))

    def add_tallies(self, changes: Mapping[tuple[str, str, str, str], int]) -> None:
        """Add to the counts by (tenant, part, kind, state)."""
        rows = [(self._graph, *key, count) for key, count in changes.items() if count]
        if rows:
            self._cursor.executemany(_TALLY, rows)

    def add_figures(
        self, sums: Mapping[tuple[str, str, str], float], longest: Mapping[tuple[str, str, str], float]
    ) -> None:
        """Add to sums, and raise maxima, by (tenant, kind, name)."""
        if sums:
            rows = [(self._graph, *key, value) for key, value in sums.items()]
            self._cursor.executemany(f"{_FIGURE} task_figure.value + excluded.value", rows)
        if longest:
            rows = [(self._graph, *key, value) for key, value in longest.items()]
            self._cursor.executemany(f"{_FIGURE} {_LARGER}", rows)

    def count(self, state: str) -> int:
        """How many newest versions are in a (stored) state."""
        row = self._cursor.execute(
            "SELECT coalesce(sum(count), 0) FROM task_tally WHERE graph=? AND state=?", (self._graph, state)
        ).fetchone()
        number: int = row[0]
        return number

    def tallies(self) -> list[tuple[str, str, str, int]]:
        """(tenant, kind, state, count), partitions summed up."""
        found: list[tuple[str, str, str, int]] = self._cursor.execute(
            "SELECT tenant, kind, state, sum(count) FROM task_tally WHERE graph=? GROUP BY 1, 2, 3", (self._graph,)
        ).fetchall()
        return found

    def waiting(self) -> list[tuple[str, str, int]]:
        """(tenant, kind, count) of pending versions with a dependency nobody submitted yet."""
        found: list[tuple[str, str, int]] = self._cursor.execute(_WAITING, (self._graph,)).fetchall()
        return found

    def figures(self) -> list[tuple[str, str, str, float]]:
        """(tenant, kind, name, value)."""
        found: list[tuple[str, str, str, float]] = self._cursor.execute(
            "SELECT tenant, kind, name, value FROM task_figure WHERE graph=?", (self._graph,)
        ).fetchall()
        return found
