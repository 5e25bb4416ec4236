"""PostgreSQL itself: schema, types, placeholders, durability, every statement of the product, one writer."""

from __future__ import annotations

import ast
import importlib
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import BigInteger, Engine, Integer

from signoff.errors import ConfigurationFault, StoreFault, Unavailable
from signoff.store.database import open_database, shown
from signoff.store.dialects import postgresql, postgresql_writing
from signoff.store.dialects.postgresql import assert_durable, open_writing, translated
from signoff.store.dialects.postgresql_copy import LEAST_ROWS, split
from signoff.store.health import database_findings, library_findings
from signoff.store.migrate import current_revision, newest_revision, upgrade
from signoff.store.tables import metadata
from tests import stores
from tests.arch.sources import ROOT
from tests.postgres import Server

APP = ROOT / "app"
VERBS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ")


@pytest.fixture(autouse=True)
def _on_both_stores() -> None:
    """Not here: these are about the server."""


@pytest.fixture
def url(postgres_server: Server, tmp_path: Path) -> Iterator[str]:
    places = stores.Stores("postgresql", postgres_server)
    yield str(places.place(tmp_path))
    places.drop()


@pytest.fixture
def database(url: str) -> Iterator[Engine]:
    engine = open_database(url)
    yield engine
    engine.dispose()


def _differs(context: Any, inspected: Any, column: Any, found: Any, wanted: Any) -> bool | None:
    return False if isinstance(found, BigInteger) and isinstance(wanted, Integer) else None


def test_migrations_give_exactly_the_tables(database: Engine) -> None:
    with database.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": _differs})
        assert compare_metadata(context, metadata) == []
        assert current_revision(connection) == newest_revision()
        upgrade(connection)
        narrow = connection.exec_driver_sql(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema='public'"
            " AND table_name <> 'alembic_version' AND (data_type IN ('integer', 'smallint')"
            " OR data_type = 'character varying' AND collation_name IS DISTINCT FROM 'C')"
        )
        assert [tuple(r) for r in narrow] == [], "integers have 64 bits, texts sort byte by byte"


def test_an_upgrade_does_not_give_numbers_of_removed_rows_again(database: Engine) -> None:
    """The newest events may have been pruned, and what is sealed is told by their numbers."""
    with database.begin() as connection:
        connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('event', 'id'), 90)")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num='0018'")
        upgrade(connection)
        assert current_revision(connection) == newest_revision()
        assert connection.exec_driver_sql("SELECT nextval(pg_get_serial_sequence('event', 'id'))").scalar() == 91


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("a=? AND b='what?'", "a=%s AND b='what?'"),
        ("a LIKE '5%' AND b=?", "a LIKE '5%%' AND b=%s"),
        ("a='it''s ?' OR b=?", "a='it''s ?' OR b=%s"),
    ],
)
def test_placeholders(given: str, wanted: str) -> None:
    assert translated(given) == wanted


def test_values_come_back_as_they_went_in(database: Engine) -> None:
    values = (2**62, "ü\t😀", bytes(range(256)), True, None, 1.5)
    with database.connect() as connection:
        row = connection.exec_driver_sql("SELECT ?::bigint, ?, ?::bytea, ?, ?::text, ?", values).one()
        assert tuple(row) == values
        assert connection.exec_driver_sql("SELECT ?", ("a\0b",)).scalar() == "a\ufffdb"
        assert connection.exec_driver_sql("SELECT count(*) FROM run WHERE id < ? LIMIT ?", (5, 1)).scalar() == 0


def statements() -> Iterator[tuple[str, str]]:
    """(place, text) of everything in the product that looks like a statement and does not depend on local names."""
    for path in sorted(APP.rglob("*.py")):
        if {"dialects", "migrations"} & set(path.parts):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        inner = {
            id(part) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in ast.walk(n) if part is not n
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant | ast.JoinedStr) or id(node) in inner:
                continue
            if isinstance(node, ast.Constant) and not (isinstance(node.value, str) and node.value.startswith(VERBS)):
                continue
            if isinstance(node, ast.JoinedStr) and "store" not in path.parts:
                continue
            name = ".".join(path.relative_to(APP).with_suffix("").parts)
            try:
                code = compile(ast.fix_missing_locations(ast.Expression(node)), str(path), "eval")
                text = eval(code, vars(importlib.import_module(name)))
            except NameError:
                continue
            text = text.replace("({})", "(?)")
            if text.startswith(VERBS) and (" FROM " in text or " INTO " in text or " SET " in text):
                yield f"{path.relative_to(APP)}:{node.lineno}", text


def test_every_statement_of_the_product_is_understood(url: str) -> None:
    """A statement that only SQLite understands is found when it is written, not when somebody needs it."""
    wrong, count = [], 0
    with psycopg.connect(url, autocommit=True) as connection:
        for place, text in statements():
            parts = translated(text).replace("%%", "%").split("%s")
            numbered = parts[0] + "".join(f"${n}{part}" for n, part in enumerate(parts[1:], 1))
            try:
                connection.execute(f"PREPARE s AS {numbered}".encode())
                connection.execute("DEALLOCATE s")
            except (psycopg.errors.IndeterminateDatatype, psycopg.errors.UndefinedParameter):
                pass  # the values say which
            except psycopg.Error as error:
                if not text.rstrip().endswith((" SET", " SET value =")) and "end of input" not in str(error):
                    wrong.append(f"{place}: {error}")
            count += 1
    assert wrong == []
    assert count > 120


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("SET synchronous_commit = off", "synchronous_commit=off; commits could be lost"),
        ("", ""),
    ],
)
def test_a_server_that_could_lose_commits_is_refused(database: Engine, change: str, said: str) -> None:
    with database.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        if not change:
            assert_durable(raw)
            return
        raw.execute(change)
        raw.commit()
        with pytest.raises(StoreFault, match=said):
            assert_durable(raw)


def test_a_database_with_another_encoding_is_refused(postgres_server: Server) -> None:
    postgres_server.query("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    engine = open_database(postgres_server.url("latin"))
    try:
        with engine.connect() as connection, pytest.raises(StoreFault, match="UTF-8"):
            assert_durable(connection.connection.dbapi_connection)
    finally:
        engine.dispose()
        postgres_server.query("DROP DATABASE latin WITH (FORCE)")


def test_readers_cannot_write_and_see_one_moment(url: str, database: Engine) -> None:
    reader = open_database(url, read_only=True)
    insert = "INSERT INTO setting(tenant, name, value) VALUES ('t', ?, '')"
    with reader.connect() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM setting").scalar()
        with database.begin() as other:
            other.exec_driver_sql(insert, ("a",))
        assert connection.exec_driver_sql("SELECT count(*) FROM setting").scalar() == count
        with pytest.raises(Exception, match="read-only"):
            connection.exec_driver_sql(insert, ("b",))
    with reader.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM setting").scalar() == (count or 0) + 1
    reader.dispose()


def test_two_engines_cannot_write_to_one_database(database: Engine, url: str) -> None:
    first = open_writing(database)
    other = open_database(url)
    with pytest.raises(Unavailable, match="Another engine is running"):
        open_writing(other, 0.1)
    with pytest.raises(Unavailable, match="Another engine is running"):
        open_writing(other, 60.0, lambda: True)
    first.close()
    second = open_writing(other, 5.0)
    second.close()
    other.dispose()


def in_line(url: str) -> int:
    """How many engines stand in line for the writer's lock."""
    with psycopg.connect(url, autocommit=True) as other:
        found = other.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
    return int(found[0]) if found else 0


def until(good: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if good():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come to pass")


@pytest.mark.parametrize("killed", [False, True])
def test_the_server_wakes_an_engine_that_stands_in_line(
    database: Engine, url: str, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """However the first one ends, and without asking again."""
    monkeypatch.setattr(postgresql_writing, "LINE_S", 600.0)
    first, other = open_writing(database), open_database(url)
    taken: queue.SimpleQueue[Any] = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: taken.put(open_writing(other, 600.0)))
    thread.start()
    until(lambda: in_line(url) == 1)
    if killed:
        with psycopg.connect(url, autocommit=True) as operator:
            operator.execute("SELECT pg_terminate_backend(%s)", (first._raw.info.backend_pid,))
    else:
        first.close()
    second = taken.get(timeout=60.0)
    thread.join()
    assert in_line(url) == 0
    first.close()
    with pytest.raises(Unavailable, match="Another engine is running"):
        open_writing(database, 0.0)
    second.close()
    third = open_writing(database, 0.0)  # it was given back whole, however often it was taken
    third.close()
    other.dispose()


def test_an_engine_that_stands_in_line_can_be_stopped(database: Engine, url: str) -> None:
    first, other, stop = open_writing(database), open_database(url), threading.Event()
    said: queue.SimpleQueue[BaseException] = queue.SimpleQueue()

    def stand() -> None:
        try:
            open_writing(other, 600.0, stop.is_set)
        except Unavailable as error:
            said.put(error)

    thread = threading.Thread(target=stand)
    thread.start()
    until(lambda: in_line(url) == 1)
    stop.set()
    assert "Another engine is running" in str(said.get(timeout=60.0))
    thread.join()
    assert in_line(url) == 0
    first.close()
    other.dispose()


def test_standing_in_line_again_and_again_loses_nothing(
    database: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_writing, "LINE_S", 0.02)
    first, other = open_writing(database), open_database(url)
    with pytest.raises(Unavailable, match="Another engine is running"):
        open_writing(other, 0.3)
    assert in_line(url) == 0
    first.close()
    open_writing(other, 0.0).close()
    other.dispose()


def test_a_server_without_the_driver_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "psycopg", None)
    with pytest.raises(ConfigurationFault, match=r"signoff\[postgres\]"):
        postgresql.open_engine("postgresql://localhost/x")


def test_the_doctor_names_the_server_and_no_password(url: str) -> None:
    with_password = url.replace("@", ":secret@")
    assert "secret" not in shown(with_password)
    found = [*library_findings(with_password), *database_findings(with_password, shown(with_password))]
    assert all(fine for fine, _ in found), found
    words = " ".join(sentence for _, sentence in found)
    assert "PostgreSQL " in words
    assert "secret" not in words
    dead = "postgresql://signoff:secret@127.0.0.1:1/x"
    for fine, sentence in (*library_findings(dead), *database_findings(dead, shown(dead))):
        assert not fine
        assert "secret" not in sentence


def test_many_rows_go_by_copy_and_those_behind_another_statement_on_their_table_do_not() -> None:
    insert = "INSERT INTO timer(run, step, kind, generation, attempt, due) VALUES (?,?,?,?,?,?)"
    many = [(n, "s", "wait", 1, 0, n) for n in range(LEAST_ROWS)]
    assert split([(insert, many)]) == ([0], [])
    assert split([(insert, many[1:])]) == ([], [0])
    assert split([("DELETE FROM timer WHERE run=?", [(1,)]), (insert, many)]) == ([], [0, 1])
    assert split([(f"{insert} ON CONFLICT DO NOTHING", many)]) == ([], [0])
    assert split([("INSERT INTO elsewhere(a) VALUES (?)", many)]) == ([], [0])


def test_what_goes_by_copy_is_what_goes_one_by_one(database: Engine) -> None:
    insert = "INSERT INTO event(run, seq, type, version, step, at, data, payload_id) VALUES (?,?,?,?,?,?,?,?)"
    rows = [(1, n, "x", 1, "ü", 2**53, None if n % 2 else bytes([1, 0, n]), None) for n in range(40)]
    person = (
        "INSERT INTO person(tenant, login, name, email, password_hash, roles, active, created_at)"
        " VALUES (?,?,?,?,?,?,?,?)"
    )
    people = [("t", f"p{n}", "", "", "", "", n % 3 == 0, n) for n in range(40)]
    writing = open_writing(database)
    try:
        writing.begin()
        assert writing.write(writing.cursor, [(insert, rows), (person, people), (person, [("t", "q", *people[0][2:])])])
        writing.commit()
        read = "SELECT run, seq, type, version, step, at, data, payload_id FROM event ORDER BY seq"
        assert writing.cursor.execute(read, ()).fetchall() == rows
        read = "SELECT * FROM person WHERE login LIKE 'p%' ORDER BY created_at"
        assert [r[:8] for r in writing.cursor.execute(read, ()).fetchall()] == people
        writing.rollback()
        writing.begin()
        with pytest.raises(psycopg.IntegrityError):
            writing.write(writing.cursor, [(insert, rows)])
        writing.rollback()
    finally:
        writing.close()
