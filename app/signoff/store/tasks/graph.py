"""One durable task graph in a database: short write transactions that several processes take in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine

from signoff.store.clock import clock_of
from signoff.store.dialects import Where, dialect_at
from signoff.store.migrate import upgrade
from signoff.store.tasks.edges import EdgeRows
from signoff.store.tasks.ledger import LedgerRows
from signoff.store.tasks.pages import PageRows
from signoff.store.tasks.versions import VersionRows


class GraphTables:
    """The rows of one graph inside one transaction."""

    def __init__(self, cursor: Any, graph: int) -> None:
        self.versions = VersionRows(cursor, graph)
        self.edges = EdgeRows(cursor, graph)
        self.ledger = LedgerRows(cursor, graph)
        self.pages = PageRows(cursor, graph)


class TaskGraphStore:
    """What a `DurableTaskScheduler` needs of the store; threads and processes may share a database.

    A write holds, in this order: a lock among the threads, the turn among the processes (on a file, a lock of the
    operating system on `<file>.writers`, since with several writers SQLite's own waiting takes seconds for some; on a
    server, a lock that ends with the transaction), and on a file SQLite's write lock (`BEGIN IMMEDIATE`). All are given
    back when a process dies.

    Attributes:
        before_commit: called inside each write transaction, just before it commits; for tests of crashes.
        after_commit: called just after.
        now: the clock that leases in this database go by, aware UTC.
    """

    def __init__(self, engine: Engine, reader: Engine, where: Where, name: str) -> None:
        self._engine, self._reader = engine, reader
        self.now = clock_of(reader, engine)
        dialect = dialect_at(where)
        with engine.connect() as connection:
            dialect.assert_durable(connection.connection.dbapi_connection)
        self._mutex = threading.Lock()
        self._turn = dialect.turns(where)
        self._name = name
        self._graph = 0
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def ensure(self, open_graph: bool, strict: bool, max_concurrency: int | None) -> tuple[bool, bool, int | None]:
        """Create the graph with these settings unless it exists; returns the settings it has."""
        with self._transaction() as cursor:
            cursor.execute(
                "INSERT INTO task_graph(name, open_graph, strict, max_concurrency, closing, started, suspect)"
                " VALUES (?,?,?,?,'',0,0) ON CONFLICT(name) DO NOTHING",
                (self._name, int(open_graph), int(strict), max_concurrency),
            )
            found = cursor.execute(
                "SELECT id, open_graph, strict, max_concurrency FROM task_graph WHERE name=?", (self._name,)
            ).fetchone()
            self._graph = found[0]
        return bool(found[1]), bool(found[2]), found[3]

    @contextmanager
    def write(self) -> Iterator[GraphTables]:
        """One write transaction; an exception rolls it back."""
        with self._transaction() as cursor:
            yield GraphTables(cursor, self._graph)

    @contextmanager
    def read(self) -> Iterator[GraphTables]:
        """One consistent snapshot; keep it short, a long one lets the write-ahead log grow."""
        with self._reader.connect() as connection, connection.begin():
            raw: Any = connection.connection.dbapi_connection
            cursor = raw.cursor()
            try:
                yield GraphTables(cursor, self._graph)
            finally:
                cursor.close()

    def close(self) -> None:
        """Close the connections; what was committed stays."""
        with self._mutex:
            self._engine.dispose()
            self._reader.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._mutex, self._engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            cursor = raw.cursor()
            with self._turn(cursor, self._graph), connection.begin():
                yield cursor
                self.before_commit()
        self.after_commit()


def open_task_graph(where: Where, name: str = "default", *, busy_s: float = 60.0) -> TaskGraphStore:
    """Open (and create, and migrate) a database for one durable task graph.

    Args:
        where: an SQLite file, whose folder must exist, or the URL of a PostgreSQL database. It may be a database of the
            workflow engine.
        name: which graph; a database holds any number.
        busy_s: how long to wait for a writer that does not use the operating-system lock (the workflow engine).

    Raises:
        StoreFault: the library or the database is not safe to use.
    """
    dialect = dialect_at(where)
    engine = dialect.open_engine(where, busy_s=busy_s)
    with engine.connect() as connection:
        cursor: Any = connection.connection.dbapi_connection
        with dialect.turns(where)(cursor.cursor(), 0):
            upgrade(connection)
            connection.commit()
    return TaskGraphStore(engine, dialect.open_engine(where, read_only=True, busy_s=busy_s), where, name)
