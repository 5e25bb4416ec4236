"""What `signoff doctor` can say about a database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from signoff.errors import SignoffError
from signoff.store.dialects.sqlite import assert_durable, open_engine, sqlite_module
from signoff.store.migrate import current_revision, newest_revision

Finding = tuple[bool, str]


def library_findings() -> Iterator[Finding]:
    """Which SQLite runs, and whether it is safe."""
    try:
        module = sqlite_module()
    except SignoffError as error:
        yield False, str(error)
    else:
        yield True, f"SQLite {module.sqlite_version} from {module.__name__}, free of the WAL-reset bug"


def database_findings(path: Path) -> Iterator[Finding]:
    """Durability, schema and the runs of a database."""
    engine = open_engine(path)
    try:
        with engine.connect() as connection:
            assert_durable(connection.connection.dbapi_connection)
            have = current_revision(connection)
            yield have == newest_revision(), f"Database {path}: schema {have}, WAL, synchronous=FULL"
            runs = connection.exec_driver_sql("SELECT status, count(*) FROM run GROUP BY status ORDER BY status")
            counts = ", ".join(f"{n} {status}" for status, n in runs) or "none"
            yield True, f"Runs: {counts}"
    except SignoffError as error:
        yield False, str(error)
    finally:
        engine.dispose()
