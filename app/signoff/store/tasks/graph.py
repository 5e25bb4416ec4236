"""One durable task graph in an SQLite file: short write transactions that several processes take in turn."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from signoff.store.dialects.sqlite import assert_durable, open_engine
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
    """What a `DurableTaskScheduler` needs of the store; threads and processes may share a file.

    A write holds, in this order: a lock among the threads, an operating-system lock on `<file>.writers` among the
    processes (SQLite's own waiting is unfair: with several writers some wait for seconds), and SQLite's write lock
    (`BEGIN IMMEDIATE`). All three are given back when a process dies.

    Attributes:
        before_commit: called inside each write transaction, just before it commits; for tests of crashes.
        after_commit: called just after.
    """

    def __init__(self, engine: Engine, reader: Engine, path: Path, name: str) -> None:
        self._engine, self._reader = engine, reader
        self._connection = engine.connect()
        raw: Any = self._connection.connection.dbapi_connection
        assert_durable(raw)
        self._cursor = raw.cursor()
        self._mutex = threading.Lock()
        self._turn = os.open(f"{path}.writers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._name = name
        self._graph = 0
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def ensure(self, open_graph: bool, strict: bool, max_concurrency: int | None) -> tuple[bool, bool, int | None]:
        """Create the graph with these settings unless it exists; returns the settings it has."""
        with self._transaction():
            self._cursor.execute(
                "INSERT INTO task_graph(name, open_graph, strict, max_concurrency, closing, started, suspect)"
                " VALUES (?,?,?,?,'',0,0) ON CONFLICT(name) DO NOTHING",
                (self._name, int(open_graph), int(strict), max_concurrency),
            )
            found = self._cursor.execute(
                "SELECT id, open_graph, strict, max_concurrency FROM task_graph WHERE name=?", (self._name,)
            ).fetchone()
            self._graph = found[0]
        return bool(found[1]), bool(found[2]), found[3]

    @contextmanager
    def write(self) -> Iterator[GraphTables]:
        """One write transaction; an exception rolls it back."""
        with self._transaction():
            yield GraphTables(self._cursor, self._graph)

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
            self._connection.close()
            self._engine.dispose()
            self._reader.dispose()
            os.close(self._turn)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._mutex:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            try:
                with self._connection.begin():
                    yield
                    self.before_commit()
            finally:
                fcntl.flock(self._turn, fcntl.LOCK_UN)
        self.after_commit()


def open_task_graph(path: str | Path, name: str = "default", *, busy_s: float = 60.0) -> TaskGraphStore:
    """Open (and create, and migrate) a database file for one durable task graph.

    Args:
        path: the file; its folder must exist. It may be a file of the workflow engine.
        name: which graph; a file holds any number.
        busy_s: how long to wait for a writer that does not use the operating-system lock (the workflow engine).

    Raises:
        StoreFault: the SQLite library or the database is not safe to use.
    """
    engine = open_engine(path, busy_s=busy_s)
    turn = os.open(f"{path}.writers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        with engine.connect() as connection:
            upgrade(connection)
            connection.commit()
    finally:
        os.close(turn)
    return TaskGraphStore(engine, open_engine(path, read_only=True, busy_s=busy_s), Path(path), name)
