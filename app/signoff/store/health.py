"""What `signoff doctor` can say about a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from signoff.errors import SignoffError
from signoff.store.dialects import Where, dialect_at
from signoff.store.migrate import current_revision, newest_revision

Finding = tuple[bool, str]


def library_findings(where: Where) -> Iterator[Finding]:
    """Which library or server runs, whether it is safe, and whether there is room."""
    yield from dialect_at(where).findings(where)


def database_findings(where: Where, shown: str = "") -> Iterator[Finding]:
    """Durability, schema and the runs of a database; `shown` is how it is named."""
    name = shown or str(where)
    if isinstance(where, Path) and not where.exists():
        yield False, f"The database {name} is gone. Stop the engine and restore a backup."
        return
    dialect = dialect_at(where)
    engine = dialect.open_engine(where)
    try:
        with engine.connect() as connection:
            dialect.assert_durable(connection.connection.dbapi_connection)
            have = current_revision(connection)
            yield have == newest_revision(), f"Database {name}: schema {have}, {dialect.DURABLE}"
            runs = connection.exec_driver_sql("SELECT status, count(*) FROM run GROUP BY status ORDER BY status")
            counts = ", ".join(f"{n} {status}" for status, n in runs) or "none"
            yield True, f"Runs: {counts}"
    except SignoffError as error:
        yield False, str(error)
    except DBAPIError as error:
        yield False, f"The database {name} cannot be read: {error.__cause__ or error}"
    finally:
        engine.dispose()
