"""A database of the oldest schema, with runs in it, on either store; and upgrades that are cut off at a statement.

`oldest.sql` was written by the last release before migration 0002: one run that succeeded, one that was rejected, one
that waits for an approval, one that waits for a time, and one that stalled.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import Boolean, Connection, MetaData, event

from signoff.store.database import Database, Where, open_database
from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.migrate import config_for, upgrade

FIRST = "0001"
DUMP = Path(__file__).with_name("oldest.sql")


class Cut(Exception):
    """The upgrade ends here."""


def lay(where: Where, folder: Path) -> None:
    """Make the old database: a file that is not there yet, or an empty database of a server."""
    path = where if isinstance(where, Path) else folder / "old.db"
    with sqlite_module().connect(str(path)) as plain:
        plain.executescript(DUMP.read_text())
    plain.close()
    if path != where:
        _copy(path, where)


def _copy(path: Path, url: Where) -> None:
    """The same rows on a server."""
    old, new = open_database(path, read_only=True), open_database(url)
    with old.connect() as here, new.connect() as there:
        command.upgrade(config_for(there), FIRST)
        there.commit()
        known = MetaData()
        known.reflect(there)
        there.exec_driver_sql("SET session_replication_role = replica")  # rows come in any order
        for table in known.sorted_tables:
            if table.name == "alembic_version":
                continue
            rows = here.exec_driver_sql(f'SELECT {", ".join(f'"{c.name}"' for c in table.columns)} FROM "{table.name}"')
            for row in rows:
                there.execute(table.insert().values([_typed(table.columns, row)]))
            if "id" in table.columns and rows_in(there, table.name):
                there.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id)) FROM {table.name}"
                )
        there.commit()
    old.dispose()
    new.dispose()


def rows_in(connection: Connection, table: str) -> int:
    """How many rows a table has."""
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() or 0)


def _typed(columns: Any, row: Any) -> dict[str, Any]:
    return {
        c.name: bool(v) if isinstance(c.type, Boolean) and v is not None else v
        for c, v in zip(columns, row, strict=True)
    }


@contextmanager
def cut_at(database: Database, at: int, cut: Callable[[], None]) -> Iterator[list[int]]:
    """`cut` is called before the statement or commit of that number, from 1; yields a list with the count so far."""
    counted = [0]

    def step(*_: Any) -> None:
        counted[0] += 1
        if counted[0] == at:
            cut()

    event.listen(database, "before_cursor_execute", step)
    event.listen(database, "commit", step)
    try:
        yield counted
    finally:
        event.remove(database, "before_cursor_execute", step)
        event.remove(database, "commit", step)


def fail() -> None:
    """As where the disk is full or the server goes away."""
    raise Cut


def kill() -> None:
    """The process is gone."""
    os.kill(os.getpid(), signal.SIGKILL)


def upgraded(where: Where, at: int = 0, cut: Callable[[], None] = fail) -> int:
    """Bring it to today's schema, or up to a statement; returns how many statements and commits there were."""
    database = open_database(where)
    try:
        with cut_at(database, at, cut) as counted, database.connect() as connection:
            upgrade(connection)
            connection.commit()
    except Cut:
        pass
    finally:
        database.dispose()
    return counted[0]


def rows(connection: Connection) -> dict[str, list[str]]:
    """All rows of all tables."""
    known = MetaData()
    known.reflect(connection)
    return {
        t.name: sorted(
            repr([bytes(v) if isinstance(v, memoryview) else v for v in r]) for r in connection.execute(t.select())
        )
        for t in known.sorted_tables
    }
