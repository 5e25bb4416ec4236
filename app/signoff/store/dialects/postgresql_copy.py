"""Many new rows at once go by COPY, which takes a quarter of the time of as many prepared INSERTs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Boolean, Float, Integer, LargeBinary

from signoff.store.dialects import Batch

LEAST_ROWS = 12
"""Fewer rows are not worth the round trip that a COPY takes."""

_PLAIN = re.compile(r"INSERT INTO (\w+)\(([^()]*)\) VALUES \((?:\?,? ?)+\)")
_TARGET = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@lru_cache(maxsize=256)
def copy_of(statement: str) -> tuple[str, tuple[str, ...]] | None:
    """(COPY, types of its columns) for a plain INSERT into one of our tables; None for any other statement."""
    from signoff.store.tables import metadata

    found = _PLAIN.fullmatch(statement)
    table = metadata.tables.get(found[1]) if found else None
    if found is None or table is None:
        return None
    names = [name.strip(' "') for name in found[2].split(",")]
    types = tuple(_type(table.columns[name].type) for name in names)
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"COPY {table.name}({quoted}) FROM STDIN (FORMAT BINARY)", types


def _type(kind: Any) -> str:
    for python, name in ((Boolean, "bool"), (Integer, "int8"), (Float, "float8"), (LargeBinary, "bytea")):
        if isinstance(kind, python):
            return name
    return "text"


def split(batch: Batch) -> tuple[list[int], list[int]]:
    """Numbers of the statements that go by COPY before all others, and of the others.

    A statement behind another on the same table keeps its place.
    """
    copied, others, touched = [], [], set()
    for number, (statement, rows) in enumerate(batch):
        target = _TARGET.match(statement)
        name = target[1] if target else ""
        if len(rows) >= LEAST_ROWS and name not in touched and copy_of(statement) is not None:
            copied.append(number)
        else:
            others.append(number)
        touched.add(name)
    return copied, others


def copy_rows(cursor: Any, statement: str, rows: Sequence[Sequence[Any]]) -> int:
    """Insert rows by COPY; returns how many."""
    made = copy_of(statement)
    assert made is not None
    command, types = made
    with cursor.copy(command) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
    return len(rows)
