"""Statements for looking at tasks: keyset pages that stay stable while tasks change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signoff.store.bodies import load
from signoff.store.tasks.versions import VERSIONS

_UNKNOWN_SOURCE = (
    "EXISTS (SELECT 1 FROM task_edge e JOIN task_node d ON d.id = e.source"
    " WHERE e.target = v.id AND e.open=1 AND d.newest IS NULL)"
)
_UNKNOWN_NODES = (
    "SELECT n.name, t.name FROM task_node n JOIN task_edge e ON e.source = n.id AND e.open=1"
    " JOIN task_version v ON v.id = e.target AND v.state='pending' JOIN task_node t ON t.id = v.node"
    " WHERE n.graph=? AND n.newest IS NULL AND n.name>? ORDER BY n.name, v.id LIMIT ?"
)


class PageRows:
    """Reads for people and tests, inside one transaction."""

    def __init__(self, cursor: Any, graph: int) -> None:
        self._cursor = cursor
        self._graph = graph

    def _all(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._cursor.execute(statement, parameters).fetchall()
        return found

    def page(self, after: int, limit: int, filters: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Newest versions with an id beyond `after`, in submission order.

        Args:
            after: the cursor.
            limit: most rows.
            filters: any of `state`, `tenant`, `part`, `kind`.
        """
        # The plus keeps SQLite from the index by state, which would have to sort the whole graph for each page.
        graph = "v.graph" if "state" in filters else "+v.graph"
        where, parameters = f"{graph}=? AND v.id>? AND n.newest=v.id", [self._graph, after]
        for column in ("tenant", "part", "kind"):
            if column in filters:
                where += f" AND v.{column}=?"
                parameters.append(filters[column])  # type: ignore[arg-type]
        state = filters.get("state")
        if state is not None:
            where += " AND v.state=?"
            parameters.append("pending" if state == "waiting" else state)  # type: ignore[arg-type]
            if state in ("waiting", "pending"):
                where += f" AND {'NOT ' if state == 'pending' else ''}{_UNKNOWN_SOURCE}"
        return self._all(f"{VERSIONS} WHERE {where} ORDER BY v.id LIMIT ?", *parameters, limit)

    def by_id(self, version: int) -> tuple[Any, ...]:
        """One version."""
        return self._all(f"{VERSIONS} WHERE v.id=?", version)[0]

    def generations(self, node: int) -> list[tuple[Any, ...]]:
        """All versions of a node, oldest first."""
        return self._all(f"{VERSIONS} WHERE v.node=? ORDER BY v.generation", node)

    def is_waiting(self, version: int) -> bool:
        """Whether a pending version has a dependency nobody submitted yet."""
        return bool(self._all(f"SELECT 1 FROM task_version v WHERE v.id=? AND {_UNKNOWN_SOURCE}", version))

    def body(self, version: int) -> tuple[Any, Any, str | None]:
        """(payload, result, error) of a version."""
        found = self._all("SELECT payload, result, error FROM task_body WHERE version=?", version)
        return (load(found[0][0]), load(found[0][1]), found[0][2]) if found else (None, None, None)

    def unknown(self, after: str, limit: int) -> list[tuple[str, str]]:
        """(unknown name, name of a task that waits for it), by name."""
        return [(row[0], row[1]) for row in self._all(_UNKNOWN_NODES, self._graph, after, limit)]

    def audited(self, after: int, limit: int) -> list[tuple[Any, ...]]:
        """Versions (of any generation) that were cancelled, blocked, or asked to stop, beyond `after`."""
        where = "+v.graph=? AND v.id>? AND (v.state IN ('cancelled', 'blocked') OR (v.state='running' AND v.stop=1))"
        return self._all(f"{VERSIONS} WHERE {where} ORDER BY v.id LIMIT ?", self._graph, after, limit)
