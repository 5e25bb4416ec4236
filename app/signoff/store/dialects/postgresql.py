"""Opening PostgreSQL: driver, types, placeholders, durability, locks.

Statements come with `?` in place of values, as for SQLite; the cursor here turns them into what the driver wants, once
per statement. Integers are 64 bits wide, texts are compared byte by byte (so that both stores sort alike, and no
update of the system's locale can damage an index).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.base import PGDDLCompiler
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError

from signoff.errors import ConfigurationFault, SignoffError, StoreFault
from signoff.store.dialects.postgresql_writing import WriteConnection

try:
    import psycopg
    from psycopg.types.numeric import Int8BinaryDumper
    from psycopg.types.string import StrDumperUnknown
except ImportError:  # the extra is not installed; said where a server is opened
    psycopg = None  # type: ignore[assignment]

OLDEST = 130000
DURABLE = "fsync, full_page_writes, synchronous_commit"
HAS_CLOCK = True
CONNECT_S = 5
RESTED_S = 1.0
_LITERAL = re.compile(r"('(?:[^']|'')*')")
_INVALID = (
    "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid"
    " WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace"
)
_FOREIGN = (
    "SELECT conrelid::regclass::text, a.attname, confrelid::regclass::text, b.attname FROM pg_constraint"
    " JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = conkey[1]"
    " JOIN pg_attribute b ON b.attrelid = confrelid AND b.attnum = confkey[1]"
    " WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND cardinality(conkey) = 1 ORDER BY 1, 2"
)
_GIVE_BACK = (
    # A machine that is gone without a word loses its locks in half a minute.
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("idle_in_transaction_session_timeout", "0"),
    ("statement_timeout", "0"),
)


@lru_cache(maxsize=4096)
def translated(statement: str) -> str:
    """The statement with the driver's placeholders; question marks and percent signs in literals stay what they are."""
    parts = _LITERAL.split(statement.replace("%", "%%"))
    return "".join(part if i % 2 else part.replace("?", "%s") for i, part in enumerate(parts))


if psycopg is not None:

    class QmarkCursor(psycopg.Cursor[Any]):
        """Takes `?` statements where values come as a sequence; SQLAlchemy's own come as a mapping and stay."""

        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            """As usual."""
            if isinstance(params, tuple | list) and isinstance(query, str):
                query = translated(query)
            return super().execute(query, params, **options)

        def executemany(self, query: Any, params_seq: Any, **options: Any) -> Any:
            """As usual, and returns the cursor, as SQLite's does."""
            super().executemany(translated(query) if isinstance(query, str) else query, params_seq, **options)
            return self

    class TextDumper(StrDumperUnknown):
        """Texts; the server's cannot hold the character NUL, so U+FFFD stands for it."""

        def dump(self, obj: str) -> Any:
            """As usual."""
            return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class Columns(PGDDLCompiler):
    """Columns of our tables: times are microseconds, so integers have 64 bits; text sorts byte by byte."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        """One column of CREATE TABLE or ADD COLUMN."""
        made: str = super().get_column_specification(column, **kw)  # type: ignore[no-untyped-call]
        name = self.preparer.format_column(column)
        kind, rest = (made.removeprefix(name).lstrip().split(" ", 1) + [""])[:2]
        return made if rest.startswith("COLLATE") else f"{name} {_KINDS.get(kind, kind)} {rest}".rstrip()


_KINDS = {"INTEGER": "BIGINT", "SERIAL": "BIGSERIAL", "VARCHAR": 'VARCHAR COLLATE "C"'}


class SignoffDialect(PGDialect_psycopg):
    """PostgreSQL with our columns."""

    ddl_compiler = Columns
    supports_statement_cache = True


registry.register("postgresql.signoff", __name__, "SignoffDialect")


def open_engine(where: str, *, read_only: bool = False, busy_s: float = 5.0) -> Engine:
    """A SQLAlchemy engine on a database of a server.

    Args:
        where: `postgresql://user:password@host:port/database`, with libpq's options after a `?`.
        read_only: each transaction sees one moment, and writes are refused.
        busy_s: how long to wait for a connection.
    """
    if psycopg is None:
        raise ConfigurationFault(
            "The driver for PostgreSQL is not installed.", remedy="pip install 'signoff[postgres]'"
        )
    try:
        url = make_url(where)
    except ArgumentError:
        raise ConfigurationFault(
            "The store's URL cannot be read.", remedy="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
    engine = create_engine(
        url.set(drivername="postgresql+signoff"),
        connect_args={
            "cursor_factory": QmarkCursor,
            "application_name": "signoff reader" if read_only else "signoff",
            "connect_timeout": url.query.get("connect_timeout", CONNECT_S),
        },
        pool_timeout=busy_s,
        use_native_hstore=False,
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        connection.adapters.register_dumper(str, TextDumper)
        for name, value in (*_GIVE_BACK, ("default_transaction_read_only", "on" if read_only else "off")):
            connection.execute("SELECT set_config(?, ?, false)", (name, value))
        connection.commit()
        if read_only:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True

    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _is_there)
    return engine


def _note_use(connection: Any, record: Any) -> None:
    record.info["used_at"] = time.monotonic()


def _is_there(connection: Any, record: Any, proxy: Any) -> None:
    """Ask a connection that has rested whether the server is still there; a new one is made where it is not."""
    if time.monotonic() - record.info.get("used_at", math.inf) < RESTED_S:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error as error:
        raise DisconnectionError from error


def assert_durable(connection: Any) -> None:
    """Check on a raw connection that a commit survives a power loss.

    Raises:
        StoreFault: the server may lose commits, cannot be written to, or is too old.
    """
    cursor = connection.cursor()
    names = ("server_version_num", "fsync", "full_page_writes", "synchronous_commit", "server_encoding")
    found = {n: cursor.execute("SELECT current_setting(?)", (n,)).fetchone()[0] for n in names}
    standby = cursor.execute("SELECT pg_is_in_recovery()", ()).fetchone()[0]
    cursor.close()
    connection.rollback()
    lossy = [n for n in ("fsync", "full_page_writes", "synchronous_commit") if found[n] == "off"]
    if lossy:
        raise StoreFault(
            f"The server runs with {' and '.join(f'{n}=off' for n in lossy)}; commits could be lost.",
            code="not_durable",
            remedy="Turn it on in postgresql.conf, or for this database.",
        )
    if int(found["server_version_num"]) < OLDEST:
        raise StoreFault("The server is older than PostgreSQL 13.", code="old_server", remedy="Use a newer one.")
    if found["server_encoding"] != "UTF8":
        raise StoreFault("The database is not in UTF-8.", code="wrong_encoding", remedy="Create it with encoding UTF8.")
    if standby:
        raise StoreFault("The server is a read-only replica.", code="read_only", remedy="Name the primary server.")


def open_writing(engine: Engine, wait_s: float = 10.0, is_stopped: Callable[[], bool] = bool) -> WriteConnection:
    """The connection of the one engine that writes, once no other engine holds the database's lock.

    Raises:
        Unavailable: another engine holds it after `wait_s` seconds, or `is_stopped` came true.
    """
    return WriteConnection(engine, assert_durable, wait_s, is_stopped)


@contextmanager
def migrating(connection: Connection) -> Iterator[None]:
    """One at a time, until the end of the transaction."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('signoff migration'))")
    yield


def turns(where: str) -> Callable[[Any, int], AbstractContextManager[None]]:
    """The writers of a graph wait in line for a lock that ends with the transaction."""

    @contextmanager
    def turn(cursor: Any, graph: int) -> Iterator[None]:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('signoff task graph'), ?::int)", (graph,))
        yield

    return turn


def read_clock(engine: Engine) -> int:
    """The server's clock, which is not that of the transaction's beginning."""
    with for_statements(engine).connect() as connection:
        found = connection.exec_driver_sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").scalar()
    return int(found or 0)


def for_statements(engine: Engine) -> Engine:
    """Without BEGIN and ROLLBACK, each of which would cost a round trip."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def count_on(cursor: Any, tables: Sequence[str]) -> None:
    """Sequences go on after the largest id."""
    for table in tables:
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), coalesce(max(id), 1), count(*) > 0) FROM {table}",
            (),
        )


def is_away(error: BaseException | None) -> bool:
    """Whether the connection was lost, or none could be made."""
    return isinstance(error, psycopg.OperationalError)


def file_problems(rows: Callable[[str, tuple[Any, ...]], Sequence[Sequence[Any]]]) -> list[str]:
    """Indexes that the server does not vouch for, and rows that foreign keys would not let in."""
    found = [f"The index '{r[0]}' is not valid; run REINDEX." for r in rows(_INVALID, ())]
    for table, column, other, key in rows(_FOREIGN, ()):
        loose = rows(
            f"SELECT count(*) FROM {table} x LEFT JOIN {other} y ON y.{key} = x.{column}"
            f" WHERE x.{column} IS NOT NULL AND y.{key} IS NULL",
            (),
        )[0][0]
        if loose:
            found.append(f"{loose} rows of '{table}' refer to missing rows of '{other}'.")
    return found


def findings(where: str) -> Iterator[tuple[bool, str]]:
    """Which server answers, and whether it may lose commits."""
    engine = None
    try:
        engine = open_engine(where)
        with engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            version = connection.exec_driver_sql("SELECT current_setting('server_version')").scalar()
            assert_durable(raw)
            yield True, f"PostgreSQL {version}, psycopg {psycopg.__version__}"
        ahead_s = read_clock(engine) / 1e6 - time.time()
        if abs(ahead_s) >= 1:
            yield True, f"The server's clock differs from this machine's by {ahead_s:.0f} s; times go by the server's"
    except SignoffError as error:
        yield False, str(error)
    except DBAPIError as error:
        yield False, f"The server does not answer: {error.orig}"
    finally:
        if engine is not None:
            engine.dispose()
