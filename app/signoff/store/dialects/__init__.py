"""What differs between databases: one module each, all with the same functions.

Everything else in the store is standard SQL with `?` in place of values, and runs on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine

Where = str | Path
"""A database: the path of an SQLite file, or `postgresql://user@host:port/database`."""

Batch = Sequence[tuple[str, Sequence[Sequence[Any]]]]
"""Statements, each with the rows of its values."""

SERVERS = ("postgresql://", "postgres://")


class Writing(Protocol):
    """The one connection that writes. Not thread-safe.

    Attributes:
        cursor: of the DB-API; statements have `?` in place of values, whatever the driver wants.
    """

    cursor: Any

    @property
    def is_replaced(self) -> bool:
        """Whether another engine writes now, so that this one must end."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection was lost since the last `begin`; nothing of its transaction was committed."""

    def begin(self) -> Connection:
        """Begin a transaction; a connection that was lost is made anew."""

    def write(self, cursor: Any, batch: Batch) -> list[int]:
        """Run statements in order; returns how many rows each has changed."""

    def commit(self) -> None:
        """Commit; when this returns, it survives a power loss.

        Raises:
            StoreFault: the connection broke, and it cannot be known whether it was committed (`uncertain`).
        """

    def rollback(self) -> None:
        """Give everything back."""

    def erase(self) -> None:
        """Inside a transaction that erases content: nothing of it may stay where it stood."""

    def erased(self) -> None:
        """After its commit."""

    def close(self) -> None:
        """Give the connection back."""


class Dialect(Protocol):
    """A module of this package.

    Attributes:
        DURABLE: what makes its commits survive.
        HAS_CLOCK: whether the database has a clock of its own.
    """

    DURABLE: str
    HAS_CLOCK: bool

    def read_clock(self, engine: Engine) -> int:
        """The clock of a database that has one, microseconds since 1970 UTC."""

    def open_engine(self, where: Any, *, read_only: bool = False, busy_s: float = 5.0) -> Engine:
        """A SQLAlchemy engine on a database."""

    def assert_durable(self, connection: Any) -> None:
        """Check on a raw connection that a commit survives a power loss; raises StoreFault."""

    def open_writing(self, engine: Engine, wait_s: float, is_stopped: Callable[[], bool]) -> Writing:
        """The connection of the one engine that writes."""

    def migrating(self, connection: Connection) -> AbstractContextManager[None]:
        """Nobody else migrates meanwhile."""

    def turns(self, where: Any) -> Callable[[Any, int], AbstractContextManager[None]]:
        """For several writers of task graphs: given cursor and graph, holds the turn of one of them."""

    def for_statements(self, engine: Engine) -> Engine:
        """The same connections for reads of one statement each, which need no transaction of their own."""

    def count_on(self, cursor: Any, tables: Sequence[str]) -> None:
        """After rows came in with their ids: new ones follow them."""

    def is_away(self, error: BaseException | None) -> bool:
        """Whether a driver's error says that nobody answers."""

    def file_problems(self, rows: Callable[[str, tuple[Any, ...]], Sequence[Sequence[Any]]]) -> list[str]:
        """What the database itself finds wrong."""

    def findings(self, where: Any) -> Iterator[tuple[bool, str]]:
        """What the doctor says about the library and the place of the data."""


def is_server(where: Where) -> bool:
    """Whether it is the URL of a server and no file."""
    return isinstance(where, str) and where.startswith(SERVERS)


def dialect_at(where: Where) -> Dialect:
    """The dialect of a database that is not open yet."""
    return _module("postgresql" if is_server(where) else "sqlite")


def dialect_of(engine: Engine | Connection) -> Dialect:
    """The dialect of an open database."""
    return _module(engine.dialect.name)


def _module(name: str) -> Dialect:
    module: Any = import_module(f"signoff.store.dialects.{name}")
    return module  # type: ignore[no-any-return]


def one_by_one(cursor: Any, batch: Iterable[tuple[str, Sequence[Sequence[Any]]]]) -> list[int]:
    """The plain way to run a batch."""
    return [cursor.executemany(statement, rows).rowcount for statement, rows in batch]
