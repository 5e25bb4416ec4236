"""Where a test's data are: in SQLite files, or in databases of a throw-away PostgreSQL server.

A test that runs on both says nothing about it: `tests/conftest.py` runs it twice, and what it opens through
`open_office` or `place` lands where it should. `@pytest.mark.sqlite` keeps a test to files.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.runtime.folder import load_store, save_store
from signoff.store.database import Database, Where, open_database
from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.migrate import upgrade
from tests.postgres import Server

KINDS = ("sqlite", "postgresql")
_number = itertools.count(1)
_template_lock = threading.Lock()
_MADE: dict[tuple[str, str], Any] = {}


class Stores:
    """What the running test uses."""

    def __init__(self, kind: str, server: Server | None) -> None:
        self.kind = kind
        self.server = server
        self._places: dict[Path, str] = {}
        self._names: list[str] = []

    def prepare(self, folder: Path) -> None:
        """Give a data folder its database, unless it has one."""
        if self.server is not None and not load_store(folder):
            save_store(folder, self._create("template_signoff"))

    def place(self, path: Path) -> Where:
        """What stands for a file of this name."""
        if self.server is None:
            return path
        if path not in self._places:
            self._places[path] = self._create("template_signoff")
        return self._places[path]

    def copy(self, folder: Path, to: Path) -> Path:
        """A data folder once more, with a database of its own; nobody may be connected."""
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
        if self.server is not None:
            save_store(to, self._create(load_store(folder).rpartition("/")[2]))
        return to

    def once[T](self, name: str, make: Callable[[], T]) -> T:
        """What `make` makes on this store; its databases stay until the session ends."""
        global current
        if (self.kind, name) not in _MADE:
            before, current = current, Stores(self.kind, self.server)
            try:
                _MADE[self.kind, name] = make()
            finally:
                current = before
        made: T = _MADE[self.kind, name]
        return made

    def _create(self, template: str) -> str:
        assert self.server is not None
        with _template_lock:
            if template == "template_signoff":
                _make_template(self.server)
            name = f"t{os.getpid()}_{next(_number)}"
            self.server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = " + f"'{template}'"
            )
            self.server.query(f'CREATE DATABASE {name} TEMPLATE "{template}"')
        self._names.append(name)
        return self.server.url(name)

    def drop(self) -> None:
        """Remove the databases of this test."""
        for name in self._names:
            assert self.server is not None
            self.server.query(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _make_template(server: Server) -> None:
    """A database of today's schema, migrated once."""
    if server.query("SELECT 1 FROM pg_database WHERE datname = 'template_signoff'"):
        return
    server.query("CREATE DATABASE template_signoff TEMPLATE template0")
    engine = open_database(server.url("template_signoff"))
    with engine.connect() as connection:
        upgrade(connection)
        connection.commit()
    engine.dispose()


current = Stores("sqlite", None)
"""Of the test that is running."""


def place(path: Path) -> Where:
    """What stands for a file of this name on the store of the running test."""
    return current.place(path)


def is_postgresql() -> bool:
    """Whether the running test is on a server."""
    return current.server is not None


def reader_of(folder: Path) -> Database:
    """Read-only connections to the database of a data folder."""
    return open_database(load_store(folder) or folder / "signoff.db", read_only=True)


def raw_database(folder: Path) -> Any:
    """A DB-API connection to the database of a data folder, for statements with `?`; close it."""
    url = load_store(folder)
    if not url:
        return sqlite_module().connect(str(folder / "signoff.db"))
    import psycopg

    from signoff.store.dialects.postgresql import QmarkCursor

    return psycopg.connect(url, cursor_factory=QmarkCursor)


def tamper(folder: Path, statement: str, *parameters: Any) -> None:
    """Damage the database of a data folder behind the engine's back; SQLite's `replace` and `zeroblob` are understood.

    Raises:
        AssertionError: nothing was changed.
    """
    db = raw_database(folder)
    if load_store(folder):
        db.execute("SET session_replication_role = replica")  # no foreign keys
        statement = re.sub(
            r"replace\((\w+), ('[^']*'), ('[^']*')\)",
            r"convert_to(replace(convert_from(\1::bytea, 'UTF8'), \2, \3), 'UTF8')",
            statement,
        )
        statement = re.sub(r"zeroblob\((\d+)\)", r"decode(repeat('00', \1), 'hex')", statement)
    else:
        db.execute("PRAGMA foreign_keys=OFF")
    changed = db.execute(statement, parameters).rowcount
    db.commit()
    db.close()
    assert changed, "nothing was damaged"
