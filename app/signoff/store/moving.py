"""Moves everything from one database to another: all tables, in one transaction, compared before it is committed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Column, LargeBinary, Table

from signoff.errors import Conflict, StoreFault
from signoff.store.database import Where, open_newest, shown
from signoff.store.dialects import Writing, dialect_at
from signoff.store.tables import metadata

PAGE = 1000
WAIT_S = 2.0
_OURS = "name NOT LIKE 'commit of %'"
"""Numbers of the commits of a connection mean nothing elsewhere."""


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table with how many rows it has and the SHA-256 of them all, the same in both databases."""

    name: str
    count: int
    digest: str


def move_database(source: Where, target: Where, moved: Callable[[MovedTable], None]) -> list[MovedTable]:
    """Copy all rows of `source` into the empty database `target`; nobody may write to either meanwhile.

    Args:
        source: where the data are; it is brought to this release's schema first, and not changed otherwise.
        target: where they go to; its schema is made where it has none.
        moved: called after each table.

    Raises:
        Conflict: the target holds data already.
        Unavailable: an engine writes to one of them.
        StoreFault: what arrived is not what was sent; the target is left empty.
    """
    if isinstance(source, Path) and not source.exists():
        raise StoreFault(f"There is no database '{source}'.", code="database_gone", remedy="Check --data.")
    from_database, reading = open_newest(source, is_known=True, wait_s=WAIT_S)
    try:
        to_database, writing = open_newest(target, is_known=False, wait_s=WAIT_S)
        try:
            return _move(reading, writing, target, moved)
        finally:
            writing.close()
            to_database.dispose()
    finally:
        reading.close()
        from_database.dispose()


def _move(reading: Writing, writing: Writing, target: Where, moved: Callable[[MovedTable], None]) -> list[MovedTable]:
    tables = metadata.sorted_tables
    reading.begin()
    writing.begin()
    try:
        _must_be_empty(writing, tables, target)
        found = []
        for table in tables:
            sent = _copy(reading, writing, table)
            arrived = _summary(table, _rows(writing, table))
            if sent != arrived:
                raise StoreFault(
                    f"Of '{table.name}' {sent.count} rows were sent and {arrived.count} arrived, or other ones.",
                    code="move_differs",
                    remedy="Nothing was moved. Run `signoff verify`, and try again.",
                )
            found.append(sent)
            moved(sent)
        dialect_at(target).count_on(writing.cursor, [t.name for t in tables if _counts(t)])
        writing.commit()
        return found
    finally:
        writing.rollback()
        reading.rollback()


def _must_be_empty(writing: Writing, tables: Sequence[Table], target: Where) -> None:
    for table in tables:
        where = f" WHERE {_OURS}" if table.name == "setting" else ""
        if writing.cursor.execute(f"SELECT 1 FROM {table.name}{where} LIMIT 1", ()).fetchone():
            raise Conflict(
                f"The database '{shown(target)}' holds data already (in '{table.name}').",
                code="target_not_empty",
                remedy="Name an empty one.",
            )


def _copy(reading: Writing, writing: Writing, table: Table) -> MovedTable:
    marks = ",".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name}({_names(table.columns)}) VALUES ({marks})"

    def sent() -> Iterator[tuple[Any, ...]]:
        page: list[tuple[Any, ...]] = []
        for row in _rows(reading, table):
            page.append(row)
            if len(page) == PAGE:
                writing.write(writing.cursor, [(insert, page)])
                page = []
            yield row
        if page:
            writing.write(writing.cursor, [(insert, page)])

    return _summary(table, sent())


def _rows(connection: Writing, table: Table) -> Iterator[tuple[Any, ...]]:
    """All rows in the order of the primary key, a page at a time, with the types that the columns say."""
    keys = list(table.primary_key.columns)
    at = [list(table.columns).index(k) for k in keys]
    own = [_OURS] if table.name == "setting" else []
    after: tuple[Any, ...] = ()
    while True:
        beyond = [f"({_names(keys)}) > ({','.join('?' * len(keys))})"] if after else []
        where = f" WHERE {' AND '.join(own + beyond)}" if own or beyond else ""
        page = connection.cursor.execute(
            f"SELECT {_names(table.columns)} FROM {table.name}{where} ORDER BY {_names(keys)} LIMIT {PAGE}", after
        ).fetchall()
        for row in page:
            yield tuple(_typed(c, v) for c, v in zip(table.columns, row, strict=True))
        if len(page) < PAGE:
            return
        after = tuple(page[-1][i] for i in at)


def _names(columns: Any) -> str:
    return ", ".join(f'"{c.name}"' for c in columns)


def _typed(column: Column[Any], value: Any) -> Any:
    """The value as the column's type has it: SQLite keeps flags as numbers, and text where bytes are meant."""
    if isinstance(column.type, Boolean) and value is not None:
        return bool(value)
    if isinstance(column.type, LargeBinary) and isinstance(value, str):
        return value.encode()
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    return value


def _summary(table: Table, rows: Iterator[tuple[Any, ...]]) -> MovedTable:
    digest, count = hashlib.sha256(), 0
    for row in rows:
        digest.update(repr(row).encode())
        count += 1
    return MovedTable(table.name, count, digest.hexdigest())


def _counts(table: Table) -> bool:
    """Whether the database gives its rows their numbers."""
    return [c.name for c in table.primary_key.columns] == ["id"]
