"""Statements about graphs, nodes and versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from signoff.errors import Conflict, InvalidInput
from signoff.store.bodies import MAX_BODY_BYTES, dump

CHUNK = 400
"""Names per query; SQLite allows far more variables, but a page should not be one giant statement."""

COLUMNS = (
    "v.id, v.node, n.name, v.generation, v.state, v.unmet, v.fence, v.worker, v.lease_until, v.expiries, v.stop,"
    " v.tenant, v.part, v.kind, v.ready_at, v.claimed_at, v.cause_at, v.via, v.reason, v.actor"
)
"""A version as every query returns it; the scheduler's `Version` has the same order."""

VERSIONS = f"SELECT {COLUMNS} FROM task_version v JOIN task_node n ON n.id = v.node"

_SETTINGS = "SELECT open_graph, strict, max_concurrency, closing, started, suspect FROM task_graph WHERE id=?"
_FIND = (
    f"SELECT n.id, n.name, {COLUMNS} FROM task_node n LEFT JOIN task_version v ON v.id = n.newest"
    " WHERE n.graph=? AND n.name IN ({})"
)
_INSERT = (
    "INSERT INTO task_version(graph, node, generation, state, unmet, fence, worker, lease_until, expiries, stop,"
    " tenant, part, kind, ready_at, claimed_at, cause_at, via, reason, actor)"
    " VALUES (?,?,?,?,?,0,'',0,0,0,?,?,?,?,0,?,?,'','') RETURNING id"
)
_SAVE = (
    "UPDATE task_version SET state=?, unmet=?, fence=?, worker=?, lease_until=?, expiries=?, stop=?, ready_at=?,"
    " claimed_at=?, cause_at=?, via=?, reason=?, actor=? WHERE id=? AND generation=? AND state=? AND fence=?"
)
_BODY = "INSERT INTO task_body(version, payload, result, error) VALUES (?,?,?,?) ON CONFLICT(version) DO UPDATE SET"


def _body(value: Any) -> bytes:
    body = dump(value)
    if len(body) > MAX_BODY_BYTES:
        raise InvalidInput(
            f"A payload or result has {len(body)} bytes; at most {MAX_BODY_BYTES} are allowed.",
            code="too_large",
            remedy="Store large things elsewhere and pass a reference.",
        )
    return body


class VersionRows:
    """Nodes and versions of one graph, inside one transaction."""

    def __init__(self, cursor: Any, graph: int) -> None:
        self._cursor = cursor
        self._graph = graph

    def _all(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._cursor.execute(statement, parameters).fetchall()
        return found

    def settings(self) -> tuple[Any, ...]:
        """(open_graph, strict, max_concurrency, closing, started, suspect)."""
        return self._all(_SETTINGS, self._graph)[0]

    def change_graph(self, *, closing: str | None = None, started: bool = False, suspect: int = 0) -> None:
        """Set the closing policy, note the first claim, or add to the count of suspect submissions."""
        self._cursor.execute(
            "UPDATE task_graph SET closing=coalesce(?, closing), suspect=suspect+?,"
            " started = CASE WHEN ? = 1 THEN 1 ELSE started END WHERE id=?",
            (closing, suspect, int(started), self._graph),
        )

    def clear_suspect(self, seen: int) -> bool:
        """No cycle was found at that count; True if nothing was submitted in between."""
        changed: int = self._cursor.execute(
            "UPDATE task_graph SET suspect=0 WHERE id=? AND suspect=?", (self._graph, seen)
        ).rowcount
        return changed == 1

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, tuple[Any, ...] | None]]:
        """Name → (node, its newest version or None); names without a node are left out."""
        found: dict[str, tuple[int, tuple[Any, ...] | None]] = {}
        for start in range(0, len(names), CHUNK):
            part = names[start : start + CHUNK]
            for row in self._all(_FIND.format(",".join("?" * len(part))), self._graph, *part):
                found[row[1]] = row[0], (None if row[2] is None else row[2:])
        return found

    def add_node(self, name: str) -> int:
        """A node nobody submitted yet."""
        found = self._all(
            "INSERT INTO task_node(graph, name, newest) VALUES (?,?,NULL) RETURNING id", self._graph, name
        )
        node: int = found[0][0]
        return node

    def add(self, node: int, row: Sequence[Any], payload: Any) -> int:
        """Insert a version and make it the node's newest.

        Args:
            node: its node.
            row: (generation, state, unmet, tenant, part, kind, ready_at, cause_at, via).
            payload: a JSON value, or None.
        """
        version: int = self._all(_INSERT, self._graph, node, *row)[0][0]
        self._cursor.execute("UPDATE task_node SET newest=? WHERE id=?", (version, node))
        if payload is not None:
            self._cursor.execute("INSERT INTO task_body(version, payload) VALUES (?,?)", (version, _body(payload)))
        return version

    def save(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write changed versions, each on condition of the generation, state and fence it was read with.

        Raises:
            Conflict: a version changed in between; the transaction must be rolled back.
        """
        if rows and self._cursor.executemany(_SAVE, rows).rowcount != len(rows):
            raise Conflict(
                "A task changed while it was being written.",
                code="concurrent_write",
                remedy="Nothing was written; do it again.",
            )

    def put_result(self, version: int, result: Any) -> None:
        """What a version was completed with (a JSON value)."""
        self._cursor.execute(f"{_BODY} result=excluded.result", (version, None, _body(result), None))

    def put_error(self, version: int, error: str) -> None:
        """What a version failed with."""
        self._cursor.execute(f"{_BODY} error=excluded.error", (version, None, None, error))

    def payloads(self, versions: Sequence[int]) -> list[tuple[int, bytes]]:
        """(version, payload as JSON) of those that have one."""
        marks = ",".join("?" * len(versions))
        return [
            (row[0], row[1])
            for row in self._all(
                f"SELECT version, payload FROM task_body WHERE payload IS NOT NULL AND version IN ({marks})", *versions
            )
        ]

    def ready(self, limit: int, tenant: str | None, part: str | None) -> list[tuple[Any, ...]]:
        """Ready versions, earliest submission first; of one tenant and partition where they are named."""
        where, parameters = "v.graph=? AND v.state='ready'", [self._graph]
        for column, value in (("tenant", tenant), ("part", part)):
            if value is not None:
                where += f" AND v.{column}=?"
                parameters.append(value)  # type: ignore[arg-type]
        return self._all(f"{VERSIONS} WHERE {where} ORDER BY v.id LIMIT ?", *parameters, limit)

    def expired(self, now: int, limit: int) -> list[tuple[Any, ...]]:
        """Running versions whose lease ended before `now`, the oldest lease first."""
        where = "v.graph=? AND v.state='running' AND v.lease_until<?"
        return self._all(f"{VERSIONS} WHERE {where} ORDER BY v.lease_until LIMIT ?", self._graph, now, limit)

    def queued(self, limit: int) -> list[tuple[Any, ...]]:
        """Versions that have not started."""
        found: list[tuple[Any, ...]] = []
        for state in ("ready", "pending"):
            where = "v.graph=? AND v.state=? ORDER BY v.id LIMIT ?"
            found += self._all(f"{VERSIONS} WHERE {where}", self._graph, state, limit - len(found))
        return found

    def iter_unfinished(self) -> Iterator[tuple[int, int, str, int]]:
        """(version, node, state, unmet) of every version that has not ended; the cursor is its own."""
        other = self._cursor.connection.cursor()
        for state in ("pending", "ready", "running"):
            yield from other.execute(
                "SELECT id, node, state, unmet FROM task_version WHERE graph=? AND state=?", (self._graph, state)
            )
        other.close()
