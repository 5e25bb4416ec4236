"""The schema, the migration and the safety of the SQLite connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from signoff.errors import StoreFault
from signoff.store.dialects import sqlite
from signoff.store.dialects.sqlite import assert_durable, open_engine, sqlite_module
from signoff.store.health import database_findings
from signoff.store.migrate import config_for, current_revision, newest_revision, upgrade
from signoff.store.tables import metadata

pytestmark = pytest.mark.sqlite


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(tmp_path / "x.db")
    with engine.connect() as connection:
        upgrade(connection)
        connection.commit()
    yield engine
    engine.dispose()


def test_migrations_give_exactly_the_tables(database: Engine) -> None:
    with database.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert current_revision(connection) == newest_revision()


def test_upgrading_again_changes_nothing(database: Engine) -> None:
    with database.connect() as connection:
        before = connection.exec_driver_sql("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        upgrade(connection)
        connection.commit()
        assert connection.exec_driver_sql("SELECT sql FROM sqlite_master ORDER BY name").fetchall() == before


def test_a_newer_schema_is_refused(database: Engine) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num='9999'")
        with pytest.raises(StoreFault, match="does not know"):
            upgrade(connection)


def test_a_migration_that_breaks_off_leaves_nothing_half_done(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "y.db")
    connection = engine.connect()
    real: Any = connection.connection.dbapi_connection
    seen: list[int] = []

    def deny_tenth_table(action: int, name: Any, *_: Any) -> int:
        if action == 2:  # SQLITE_CREATE_TABLE
            seen.append(action)
        return 1 if len(seen) > 10 else 0

    real.set_authorizer(deny_tenth_table)
    with pytest.raises(Exception, match="not authorized"):
        upgrade(connection)
    real.set_authorizer(None)
    connection.close()
    with engine.connect() as connection:
        left = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name = 'run'").fetchall()
        assert left == []
        upgrade(connection)
        connection.commit()
        assert current_revision(connection) == newest_revision()
    engine.dispose()


def test_commits_are_durable_and_foreign_keys_hold(database: Engine) -> None:
    with database.connect() as connection:
        assert_durable(connection.connection.dbapi_connection)
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA mmap_size").scalar() == 0


def test_a_connection_that_could_lose_commits_is_refused(database: Engine) -> None:
    with database.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        connection.rollback()
        raw.execute("PRAGMA synchronous=NORMAL")
        with pytest.raises(StoreFault, match="could be lost"):
            assert_durable(raw)


def test_an_unsafe_sqlite_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sqlite_module().sqlite_version_info >= sqlite.SAFE_VERSION
    old = SimpleNamespace(sqlite_version_info=(3, 51, 2), sqlite_version="3.51.2", dbapi2=None)
    monkeypatch.setattr(sqlite, "sqlite3", old)
    monkeypatch.setitem(__import__("sys").modules, "pysqlite3", old)
    with pytest.raises(StoreFault, match=r"3\.51\.2"):
        sqlite_module()


def test_readers_cannot_write(database: Engine, tmp_path: Path) -> None:
    reader = open_engine(tmp_path / "x.db", read_only=True)
    with reader.connect() as connection, pytest.raises(OperationalError, match="readonly"):
        connection.exec_driver_sql("DELETE FROM run")
    reader.dispose()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO event(run, seq, type, version, step, at) VALUES (1, 1, 'x', 1, '', 0)",
        "INSERT INTO timer(run, step, kind, generation, attempt, due) VALUES (1, 'a', 'wait', 1, 0, 0)",
    ],
)
def test_the_same_fact_cannot_be_written_twice(database: Engine, statement: str) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql(statement)
        with pytest.raises(IntegrityError):
            connection.exec_driver_sql(statement)


def test_a_status_that_does_not_exist_cannot_be_written(database: Engine) -> None:
    with database.connect() as connection, pytest.raises(IntegrityError):
        connection.exec_driver_sql(
            "INSERT INTO timer(run, step, kind, generation, attempt, due) VALUES (1, 'a', 'nonsense', 1, 0, 0)"
        )


def test_the_doctor_says_what_it_found(database: Engine, tmp_path: Path) -> None:
    found = list(database_findings(tmp_path / "x.db"))
    assert all(fine for fine, _ in found)
    assert "synchronous=FULL" in found[0][1]


def test_approvals_of_an_older_release_are_kept(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "old.db")
    with engine.connect() as connection:
        command.upgrade(config_for(connection), "0002")
        connection.exec_driver_sql(
            "INSERT INTO approval VALUES (7, 1, 't', 'p', 1, 1, 'open', 'P', '', 'sha256:0', 1, 0, 3, 5, NULL, NULL)"
        )
        connection.commit()
    with engine.connect() as connection:
        upgrade(connection)
        connection.commit()
        rows = connection.exec_driver_sql("SELECT id, status, kind, opened_at FROM approval").fetchall()
        assert [tuple(r) for r in rows] == [(7, "open", "approval", 5)]
    engine.dispose()
