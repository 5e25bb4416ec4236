"""Opening SQLite safely: which library, which pragmas, and what is refused.

SQLite 3.7.0 to 3.51.2 can corrupt a WAL database when it is reset while two connections write and
checkpoint. The interpreter's own library is used only where it is 3.51.3 or newer; otherwise the
`pysqlite3` wheel, which brings its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from signoff.errors import SignoffError, StoreFault
from signoff.store.dialects import Batch, one_by_one

SAFE_VERSION = (3, 51, 3)
LITTLE_MB = 200
DURABLE = "WAL, synchronous=FULL"
HAS_CLOCK = False


def sqlite_module() -> ModuleType:
    """The DB-API module to use.

    Raises:
        StoreFault: no SQLite library that is free of the WAL-reset bug is installed.
    """
    if sqlite3.sqlite_version_info >= SAFE_VERSION:
        return sqlite3
    try:
        import pysqlite3
    except ImportError:
        pysqlite3 = None
    if pysqlite3 is None or pysqlite3.sqlite_version_info < SAFE_VERSION:
        raise StoreFault(
            f"This Python brings SQLite {sqlite3.sqlite_version}, which can corrupt a database in WAL mode.",
            code="unsafe_sqlite",
            remedy="Install the pysqlite3 wheel (0.6.1 or newer) or a Python with SQLite 3.51.3 or newer.",
        )
    module: ModuleType = pysqlite3.dbapi2
    return module


def open_engine(path: str | Path, *, read_only: bool = False, busy_s: float = 5.0) -> Engine:
    """A SQLAlchemy engine on a database file.

    Args:
        path: the file; its folder must exist.
        read_only: refuse writes on these connections (the web process and other readers).
        busy_s: how long to wait for a lock.
    """
    if read_only and not Path(path).exists():  # SQLite would make an empty file
        raise StoreFault(f"There is no database '{path}'.", code="database_gone", remedy="Check --data, or restore it.")
    engine = create_engine(
        f"sqlite:///{path}",
        module=sqlite_module(),
        connect_args={
            "check_same_thread": False,
            "timeout": busy_s,
            "cached_statements": 256,
            "isolation_level": None,
        },
    )

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA cache_size=-65536")
        cursor.execute("PRAGMA mmap_size=0")
        if read_only:
            cursor.execute("PRAGMA query_only=ON")
        else:  # pages that are split or rewritten keep no old copies, which erasing would not find later
            cursor.execute("PRAGMA secure_delete=FAST").fetchall()
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def assert_durable(connection: Any) -> None:
    """Check on a raw connection that a commit survives a power loss.

    Raises:
        StoreFault: the database is not in WAL mode or not `synchronous=FULL`.
    """
    cursor = connection.cursor()
    mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
    level = cursor.execute("PRAGMA synchronous").fetchone()[0]
    cursor.close()
    if mode != "wal" or level != 2:
        raise StoreFault(
            f"The database runs with journal_mode={mode} and synchronous={level}; commits could be lost.",
            code="not_durable",
            remedy="Put the database on a local file system that supports WAL.",
        )


class WriteConnection:
    """See `signoff.store.dialects.Writing`. A file is kept from other engines by the lock of its folder."""

    is_replaced = is_lost = False

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.connect()
        raw: Any = self._connection.connection.dbapi_connection
        assert_durable(raw)
        self._raw = raw
        self.cursor: Any = raw.cursor()

    def begin(self) -> Connection:
        """Take the write lock."""
        self._connection.begin()
        return self._connection

    def write(self, cursor: Any, batch: Batch) -> list[int]:
        """Run a batch."""
        return one_by_one(cursor, batch)

    def commit(self) -> None:
        """Commit."""
        self._connection.commit()

    def rollback(self) -> None:
        """A COMMIT that failed ends SQLAlchemy's transaction, not always SQLite's."""
        self._connection.rollback()
        if self._raw.in_transaction:
            self._raw.rollback()

    def erase(self) -> None:
        """Overwrite with zeros what is deleted."""
        self.cursor.execute("PRAGMA secure_delete=ON")

    def erased(self) -> None:
        """What the write-ahead log still holds goes too, unless a reader holds it."""
        self.cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close."""
        self._connection.close()


def open_writing(engine: Engine, wait_s: float = 0.0, is_stopped: Callable[[], bool] = bool) -> WriteConnection:
    """The connection of the writer; nobody has to be waited for."""
    return WriteConnection(engine)


@contextmanager
def migrating(connection: Connection) -> Iterator[None]:
    """Each migration takes the write lock by itself."""
    yield


def turns(where: str | Path) -> Callable[[Any, int], AbstractContextManager[None]]:
    """An operating-system lock on `<file>.writers`, which is fair where SQLite's own waiting is not."""

    @contextmanager
    def turn(cursor: Any, graph: int) -> Iterator[None]:
        handle = os.open(f"{where}.writers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    return turn


def read_clock(engine: Engine) -> int:
    """A file has none."""
    raise NotImplementedError


def for_statements(engine: Engine) -> Engine:
    """A transaction costs nothing here."""
    return engine


def count_on(cursor: Any, tables: Sequence[str]) -> None:
    """SQLite counts on from the largest id by itself."""


def is_away(error: BaseException | None) -> bool:
    """A file is there or is not."""
    return False


def file_problems(rows: Callable[[str, tuple[Any, ...]], Sequence[Sequence[Any]]]) -> list[str]:
    """What SQLite itself finds wrong with the file."""
    found = [str(r[0]) for r in rows("PRAGMA integrity_check(20)", ()) if r[0] != "ok"]
    return found + [
        f"A row of '{r[0]}' refers to a missing row of '{r[2]}'." for r in rows("PRAGMA foreign_key_check", ())
    ]


def findings(where: str | Path) -> Iterator[tuple[bool, str]]:
    """Which SQLite runs, whether it is safe, and how much room its disk has."""
    try:
        module = sqlite_module()
    except SignoffError as error:
        yield False, str(error)
    else:
        yield True, f"SQLite {module.sqlite_version} from {module.__name__}, free of the WAL-reset bug"
    folder = Path(where).parent
    if folder.is_dir():
        free = shutil.disk_usage(folder).free // 1_000_000
        yield free > LITTLE_MB, f"{free:,} MB are free on the disk of {where}"
