"""What `signoff doctor` can say about a database file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from signoff.errors import SignoffError
from signoff.store.dialects.sqlite import assert_durable, open_engine, sqlite_module
from signoff.store.migrate import current_revision, newest_revision

Finding = tuple[bool, str]
LITTLE_MB = 200


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
    if not path.exists():
        yield False, f"The database {path} is gone. Stop the engine and restore a backup."
        return
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
    except DatabaseError as error:
        yield False, f"The database {path} cannot be read: {error.__cause__ or error}"
    finally:
        engine.dispose()
    free = shutil.disk_usage(path.parent).free // 1_000_000
    yield free > LITTLE_MB, f"{free:,} MB are free on the disk of {path}"
