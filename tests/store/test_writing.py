"""The one connection that writes to a server: lost, taken over, broken in the middle of a commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from signoff.errors import Unavailable
from signoff.runtime.folder import load_store
from signoff.runtime.serverwatch import ServerWatch
from signoff.store.database import open_database
from signoff.store.dialects.postgresql import open_writing
from signoff.store.dialects.postgresql_writing import WriteConnection
from signoff.wiring import Settings, open_verifier
from tests import stores
from tests.engine.office import Clock, Office, ask, call, chain, open_office
from tests.postgres import Server

SESSION = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = '{}')"
)


@pytest.fixture(autouse=True)
def _on_both_stores(postgres_server: Server) -> Iterator[None]:
    """Only on the server."""
    before, stores.current = stores.current, stores.Stores("postgresql", postgres_server)
    yield
    stores.current.drop()
    stores.current = before


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=Clock(), slots=0, services=False) as opened:
        opened.publish(chain("buy", ask("p"), call("a")))
        yield opened
        with open_verifier(Settings(opened.folder)) as verifier:
            assert list(verifier.findings()) == []


def writing_of(office: Office) -> WriteConnection:
    engine = office.running.writer.engine
    assert engine is not None
    writing: Any = engine.journal._writing
    return writing  # type: ignore[no-any-return]


def terminate(folder: Path) -> None:
    """End the session that holds the lock, as an operator or a failing network would."""
    url = load_store(folder)
    name = url.rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as other:
        pids = [r[0] for r in other.execute(SESSION.format(name).encode())]
        assert len(pids) == 1
        other.execute("SELECT pg_terminate_backend(%s, 5000)", pids)


def runs(office: Office) -> int:
    return len(office.signoff.queries.list_runs("default", limit=200).items)


def test_a_lost_connection_is_made_anew(office: Office) -> None:
    first = office.start("buy")
    terminate(office.folder)
    second = office.start("buy")
    office.decide(first, "p", "grace")
    assert first != second
    assert runs(office) == 2


def test_a_session_that_ends_before_its_commit_leaves_nothing_and_it_is_done_again(office: Office) -> None:
    journal = office.running.writer.engine.journal  # type: ignore[union-attr]
    left = [1]

    def end_session() -> None:
        if left and left.pop() >= 0:
            terminate(office.folder)

    journal.before_commit = end_session
    office.start("buy", key="once")
    assert runs(office) == 1
    left.extend([2, 1])
    with pytest.raises(Unavailable):
        office.start("buy", key="twice")
    office.start("buy", key="twice")
    assert runs(office) == 2


class Breaking:
    """SQLAlchemy's connection; its next commit breaks before or after the server has done it."""

    def __init__(self, real: Any, folder: Path, *, done: bool) -> None:
        self._real, self._folder, self._done = real, folder, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def commit(self) -> None:
        if self._done:
            self._real.connection.dbapi_connection.commit()
        terminate(self._folder)
        self._real.commit()
        self._real.exec_driver_sql("SELECT 1")


@pytest.mark.parametrize("done", [True, False])
def test_a_connection_that_breaks_while_committing_says_afterwards_what_came_of_it(office: Office, done: bool) -> None:
    office.start("buy")
    writing: Any = writing_of(office)
    writing._connection = Breaking(writing._connection, office.folder, done=done)
    office.start("buy")  # without a key, so that nothing hides a second time
    assert runs(office) == 2


def test_where_nobody_can_be_asked_the_answer_says_so(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.start("buy")
    writing: Any = writing_of(office)
    writing._connection = Breaking(writing._connection, office.folder, done=True)

    def unreachable(*_: object) -> None:
        raise psycopg.OperationalError("no route")

    monkeypatch.setattr(writing, "_connect", unreachable)
    monkeypatch.setattr("signoff.store.dialects.postgresql_writing.OUTCOME_S", 0.0)
    with pytest.raises(Unavailable, match="broke while it committed") as said:
        office.start("buy", key="k")
    assert said.value.code == "uncertain"
    assert "Look whether it was done" in said.value.remedy
    with pytest.raises(Unavailable, match="does not answer"):
        office.start("buy")
    monkeypatch.undo()
    writing._failed_at = None
    office.start("buy", key="k")
    assert runs(office) == 2


def test_an_engine_that_was_replaced_learns_it_and_ends(office: Office) -> None:
    office.start("buy")
    other = open_database(load_store(office.folder))
    monkey = writing_of(office)
    terminate(office.folder)
    taken = open_writing(other, 5.0)
    monkey._used_at -= 60.0
    ended: list[bool] = []
    watch = ServerWatch(office.running.writer, lambda: ended.append(True))
    assert watch.work() is None
    assert ended == [True]
    with pytest.raises(Unavailable, match="Another engine has taken over"):
        office.start("buy")
    assert runs(office) == 1, "it still reads"
    taken.close()
    other.dispose()


def test_an_engine_that_was_away_while_another_wrote_does_not_go_on_with_what_it_knows(office: Office) -> None:
    office.start("buy")
    terminate(office.folder)
    other = open_database(load_store(office.folder))
    between = open_writing(other, 5.0)
    between.begin()
    between.close()  # the lock is free again, but what the first one keeps in memory may be old
    with pytest.raises(Unavailable, match="Another engine has taken over"):
        office.start("buy")
    assert writing_of(office).is_replaced
    again = open_writing(other, 5.0)  # and it has let go of the lock
    again.close()
    other.dispose()
    assert runs(office) == 1
