"""A reader's connections: parametrised queries, each in a short read transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from signoff.errors import Unavailable
from signoff.store.dialects import dialect_of
from signoff.store.vault import Bodies, Vault


class Reader:
    """Thread-safe; never holds a transaction beyond one call, so that the WAL can be checkpointed."""

    def __init__(self, engine: Engine, vault: Vault | None = None) -> None:
        self._engine = engine
        self._dialect = dialect_of(engine)
        self._single = self._dialect.for_statements(engine)
        self.vault = vault or Vault()
        self.bodies = Bodies(self.vault, self.rows)

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            Unavailable: the server does not answer.
        """
        values = tuple(parameters)
        try:
            return self._rows(statement, values)
        except DBAPIError as error:
            if not self._dialect.is_away(error.orig):
                raise
        try:
            return self._rows(statement, values)  # on a new connection
        except DBAPIError as error:
            if not self._dialect.is_away(error.orig):
                raise
            raise Unavailable(
                "The database server does not answer.", code="store_gone", remedy="Try again when it is back."
            ) from error

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._single.connect() as connection:
            return [tuple(r) for r in connection.exec_driver_sql(statement, values)]

    def one(self, statement: str, parameters: Iterable[Any] = ()) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found = self.rows(statement, parameters)
        return found[0] if found else None

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
