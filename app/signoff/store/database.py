"""Opening a database, for rooms that pass it on without knowing SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlsplit

from sqlalchemy import Engine as Database

from signoff.errors import StoreFault
from signoff.store.dialects import Where, Writing, dialect_at, dialect_of, is_server
from signoff.store.migrate import current_revision, upgrade

__all__ = ["Database", "Where", "is_server", "open_database", "open_newest", "shown"]


class Closing(Protocol):
    """What is closed in the end."""

    def close(self) -> None:
        """Close."""


def open_database(where: Where, *, read_only: bool = False) -> Database:
    """An SQLite file or a database of a PostgreSQL server."""
    return dialect_at(where).open_engine(where, read_only=read_only)


def open_newest(
    where: Where, *, is_known: bool, wait_s: float = 10.0, is_stopped: Callable[[], bool] = bool
) -> tuple[Database, Writing]:
    """The database with this release's schema, and the connection of the one engine that writes to it.

    Args:
        where: the file or the URL.
        is_known: whether it was there before, so that an empty one is not taken for it.
        wait_s: how long to wait for another engine to end.
        is_stopped: ends the waiting.

    Raises:
        StoreFault: it is not safe to use, or it is gone.
        Unavailable: another engine writes to it.
    """
    database = open_database(where)
    writing = dialect_of(database).open_writing(database, wait_s, is_stopped)
    try:
        with database.connect() as connection:
            if is_known and is_server(where) and current_revision(connection) is None:
                raise StoreFault(
                    f"The database '{shown(where)}' is empty, although this folder had one.",
                    code="database_gone",
                    remedy="Restore a backup, or remove 'database.made' to begin with an empty one.",
                )
            upgrade(connection)
            connection.commit()
    except BaseException:
        writing.close()
        raise
    return database, writing


def shown(where: Where) -> str:
    """How a database is named to people: without the password of its URL."""
    if not is_server(where):
        return str(where)
    url = urlsplit(str(where))
    return f"postgresql://{url.hostname or 'localhost'}{f':{url.port}' if url.port else ''}{url.path}"
