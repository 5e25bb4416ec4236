"""SQLite through APSW behind Python's usual database interface, so that the real store runs on a VFS of ours.

Only what SQLAlchemy and the store use. Errors are those of the driver that the store knows, with SQLite's own words.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
import pysqlite3.dbapi2 as known

CHANGING = ("INSERT", "UPDATE", "DELETE", "REPLACE")
WORDS: tuple[tuple[type[apsw.Error], type[Exception], str], ...] = (
    (apsw.FullError, known.OperationalError, "database or disk is full"),
    (apsw.IOError, known.OperationalError, "disk I/O error"),
    (apsw.BusyError, known.OperationalError, "database is locked"),
    (apsw.ReadOnlyError, known.OperationalError, "attempt to write a readonly database"),
    (apsw.CorruptError, known.DatabaseError, "database disk image is malformed"),
    (apsw.CantOpenError, known.OperationalError, "unable to open database file"),
    (apsw.ConstraintError, known.IntegrityError, ""),
)


@contextlib.contextmanager
def _known_errors() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        for kind, as_known, words in WORDS:
            if isinstance(error, kind):
                raise as_known(words or str(error)) from error
        raise known.OperationalError(str(error)) from error


class Cursor:
    """Every row is fetched at once, so that no statement stays half done."""

    arraysize = 1
    lastrowid: int | None = None

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor = connection.raw.cursor()
        self._cursor.exec_trace = self._begun
        self._found: list[Any] = []
        self.description: Any = None
        self.rowcount = -1

    def _begun(self, cursor: Any, statement: str, values: Any) -> bool:
        described = cursor.get_description()
        self.description = [(d[0], None, None, None, None, None, None) for d in described] or None
        return True

    def execute(self, statement: str, values: Any = ()) -> Cursor:
        """One statement."""
        self.description, self.rowcount = None, -1
        with _known_errors():
            self._found = list(self._cursor.execute(statement, values))
        if statement.lstrip()[:7].upper().startswith(CHANGING):
            self.rowcount = self._connection.raw.changes()
            self.lastrowid = self._connection.raw.last_insert_rowid()
        return self

    def executemany(self, statement: str, rows: Iterable[Any]) -> Cursor:
        """One statement, many rows."""
        count = 0
        for values in rows:
            self.execute(statement, values)
            count += max(0, self.rowcount)
        self.rowcount = count
        return self

    def fetchone(self) -> Any:
        """The next row."""
        return self._found.pop(0) if self._found else None

    def fetchmany(self, size: int = 1) -> Sequence[Any]:
        """Some rows."""
        found, self._found = self._found[:size], self._found[size:]
        return found

    def fetchall(self) -> list[Any]:
        """The rest."""
        found, self._found = self._found, []
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())

    def close(self) -> None:
        """Nothing is open."""
        self._found = []


class Connection:
    """One connection, in the mode in which only BEGIN begins a transaction."""

    isolation_level = None

    def __init__(self, path: str, timeout: float, vfs: str, checkpoint: int) -> None:
        with _known_errors():
            self.raw = apsw.Connection(path, vfs=vfs or None)
        self.raw.set_busy_timeout(int(timeout * 1000))
        self._checkpoint = checkpoint
        self.raw.set_wal_hook(self._committed)

    def _committed(self, connection: Any, name: str, pages: int) -> int:
        """SQLite's own hook, which does not mind either when a checkpoint fails."""
        if pages >= self._checkpoint:
            with contextlib.suppress(apsw.Error):
                connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    @property
    def in_transaction(self) -> bool:
        """Whether one is open."""
        return bool(self.raw.in_transaction)

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    def execute(self, statement: str, values: Any = ()) -> Cursor:
        """One statement, on a cursor of its own."""
        return self.cursor().execute(statement, values)

    def commit(self) -> None:
        """Commit, where there is something."""
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        """Roll back, where there is something."""
        if self.in_transaction:
            self.execute("ROLLBACK")

    def create_function(self, name: str, count: int, function: Any, *, deterministic: bool = False) -> None:
        """A function in SQL."""
        self.raw.create_scalar_function(name, function, count, deterministic=deterministic)

    def close(self) -> None:
        """As SQLite does, which does not mind when its last checkpoint fails."""
        with contextlib.suppress(apsw.Error):
            self.raw.close(True)


class Driver:
    """Stands where the store expects a module of the database interface."""

    paramstyle = "qmark"
    threadsafety = 1
    apilevel = "2.0"
    sqlite_version = apsw.sqlite_lib_version()
    sqlite_version_info = tuple(int(n) for n in apsw.sqlite_lib_version().split("."))
    PARSE_DECLTYPES, PARSE_COLNAMES = 1, 2
    Binary = bytes

    def __init__(self, vfs: str = "", checkpoint: int = 1000) -> None:
        self.vfs, self.checkpoint = vfs, checkpoint

    def __getattr__(self, name: str) -> Any:
        if name.endswith("Error") or name == "Warning":
            return getattr(known, name)
        raise AttributeError(name)

    def connect(self, path: Any, timeout: float = 5.0, **options: Any) -> Connection:
        """Open a file."""
        return Connection(str(path), timeout, self.vfs, self.checkpoint)
