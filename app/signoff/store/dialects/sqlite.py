"""Opening SQLite safely: which library, which pragmas, and what is refused.

SQLite 3.7.0 to 3.51.2 can corrupt a WAL database when it is reset while two connections write and
checkpoint. The interpreter's own library is used only where it is 3.51.3 or newer; otherwise the
`pysqlite3` wheel, which brings its own.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from signoff.errors import StoreFault

SAFE_VERSION = (3, 51, 3)


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
