"""Times go by the clock of the database server, whatever the clocks of the machines say."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from signoff.core.states import Actor
from signoff.engine.request import unwrap
from signoff.runtime.folder import load_store
from signoff.runtime.rescuer import Rescuer
from signoff.store import clock as clocks
from signoff.store.clock import AGAIN_S, CHECK_S, LATE_S, ServerClock, clock_of
from signoff.store.database import Database, open_database
from signoff.store.tasks import open_task_graph
from signoff.store.times import from_micros, to_micros
from signoff.wiring import Settings, open_durable_scheduler, start_engine
from tests import stores
from tests.engine.counter import request
from tests.engine.office import Connectors, Office, call, chain, open_office
from tests.postgres import Server

DAY = timedelta(days=1)
SECOND = 1_000_000
NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _on_both_stores() -> None:
    """Only on the server."""


class Machine:
    """A counter and a server's clock, both moved; each question takes `travel` microseconds there and back."""

    def __init__(self) -> None:
        self.steady, self.server, self.there, self.back = 5 * SECOND, to_micros(NOON), 0, 0
        self.asked, self.is_away = 0, False
        self.clock = ServerClock(self.ask, steady=lambda: self.steady, own=lambda: NOON)

    def ask(self) -> int:
        self.asked += 1
        if self.is_away:
            raise ConnectionError("nobody answers")
        self.move(self.there)
        answer = self.server
        self.move(self.back)
        return answer

    def move(self, micros: int) -> None:
        self.steady += micros
        self.server += micros

    def off(self) -> int:
        """How far the clock is from the server's, microseconds."""
        return to_micros(self.clock()) - self.server


def test_an_answer_that_came_slowly_shifts_nothing_and_a_clock_that_was_set_is_followed() -> None:
    machine = Machine()
    machine.clock.check()
    assert machine.off() == 0
    machine.there, machine.back = 100, 900_000
    machine.clock.check()
    assert machine.off() == 0, "it agrees with the answer"
    machine.there, machine.back = 300, 100
    machine.server += 3600 * SECOND
    machine.clock.check()
    assert abs(machine.off()) <= 400, "within the time of question and answer"
    machine.server -= 7200 * SECOND
    machine.clock.check()
    assert abs(machine.off()) <= 400


def test_the_server_is_asked_seldom_and_by_whoever_keeps_the_clock() -> None:
    machine = Machine()
    machine.clock()
    assert machine.asked == 1
    for _ in range(100):
        machine.move(int(CHECK_S * SECOND) // 50)
        machine.clock.keep()
        machine.clock()
    assert machine.asked == 3
    machine.move(int(LATE_S * SECOND) - 1)
    machine.clock()
    assert machine.asked == 3
    machine.move(1)
    machine.clock()
    assert machine.asked == 4, "nobody kept it"
    machine.clock.doubt()
    machine.clock()
    assert machine.asked == 5


def test_while_the_server_is_away_time_goes_on() -> None:
    machine = Machine()
    machine.server += 60 * SECOND
    machine.is_away = True
    assert machine.clock() == NOON, "this machine's clock, before the server has answered once"
    machine.is_away = False
    machine.clock()
    assert machine.off() == -60 * SECOND, "it is not asked again at once"
    machine.move(int(AGAIN_S * SECOND))
    machine.clock()
    assert machine.off() == 0
    machine.is_away = True
    machine.move(int(LATE_S * SECOND))
    machine.clock()
    assert machine.off() == 0


class Moved:
    """A database whose server's clock is moved: the first `clock_timestamp` on the path is ours."""

    def __init__(self, server: Server, url: str) -> None:
        self.server, self.url = server, url
        self._name = url.rpartition("/")[2]
        self._run("CREATE SCHEMA clockwork")
        self._run("CREATE TABLE clockwork.moved AS SELECT interval '0' AS by")
        self._run(
            "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
            " 'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM clockwork.moved)'"
        )
        self._run(f"ALTER DATABASE {self._name} SET search_path = public, pg_catalog")

    def move(self, by: timedelta) -> None:
        self._run(f"UPDATE clockwork.moved SET by = by + interval '{by.total_seconds()} seconds'")

    def _run(self, statement: str) -> None:
        self.server.query(statement, self._name)


@pytest.fixture
def moved(postgres_server: Server, tmp_path: Path) -> Iterator[Moved]:
    before, stores.current = stores.current, stores.Stores("postgresql", postgres_server)
    (tmp_path / "data").mkdir(mode=0o700)
    stores.current.prepare(tmp_path / "data")
    yield Moved(postgres_server, load_store(tmp_path / "data"))
    stores.current.drop()
    stores.current = before


@pytest.fixture
def reader(moved: Moved) -> Iterator[Database]:
    engine = open_database(moved.url, read_only=True)
    yield engine
    engine.dispose()


def near(found: datetime, wanted: datetime) -> bool:
    return abs(found - wanted) < timedelta(minutes=10)


def own_clock_is(monkeypatch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    monkeypatch.setattr(clocks, "utc_now", lambda: datetime.now(UTC) + ahead)


def test_a_new_connection_of_the_engine_may_lead_to_another_server(moved: Moved, reader: Database) -> None:
    engine = open_database(moved.url)
    clock = clock_of(reader, engine)
    assert near(clock(), datetime.now(UTC))
    moved.move(DAY)
    assert near(clock(), datetime.now(UTC))
    engine.connect().close()
    assert near(clock(), datetime.now(UTC) + DAY)
    engine.dispose()


def test_engines_whose_clocks_differ_agree_about_leases(
    moved: Moved, reader: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved.move(DAY)
    own_clock_is(monkeypatch, timedelta(hours=-5))
    folder = tmp_path / "data"
    with open_office(folder, slots=0, services=False) as office:
        office.publish(chain("buy", call("a")))
        run = office.start("buy")
        offer(office)
        (until,) = _leases(reader)
        assert near(until, datetime.now(UTC) + DAY), "by the server's clock"
        assert near(office.view(run).row.started_at, datetime.now(UTC) + DAY)
    own_clock_is(monkeypatch, timedelta(hours=5))
    with start_engine(Settings(folder), connectors=Connectors(), services=False) as second:
        clock = clock_of(reader)
        assert isinstance(clock, ServerClock)
        rescuer = Rescuer(reader, second.writer, clock)
        rescuer.work()
        assert _leases(reader) == [until], "its own clock says that the lease ran out hours ago"
        moved.move(timedelta(hours=1))
        engine = second.writer.engine
        assert engine is not None
        _ask_again(engine._now, clock)
        rescuer.work()
        assert _leases(reader) == [], "the server's clock says so now"
    own_clock_is(monkeypatch, timedelta())


def offer(office: Office) -> None:
    """A worker takes what is there, and is never heard of again."""
    made = request("offer", "", {"pools": ["default"], "free": 1}, Actor("worker", "w", channel="worker"), "worker")
    taken: queue.SimpleQueue[object] = queue.SimpleQueue()
    made.context = taken.put
    unwrap(office.running.writer.ask(made))
    assert taken.get(timeout=20.0)


def _ask_again(*given: Callable[[], datetime]) -> None:
    for clock in given:
        assert isinstance(clock, ServerClock)
        clock.check()


def _leases(reader: Database) -> list[datetime]:
    with reader.connect() as connection:
        found = connection.exec_driver_sql("SELECT lease_until FROM attempt WHERE status='leased'")
        return [from_micros(r[0]) for r in found]


def test_leases_in_a_task_graph_go_by_the_server_too(
    moved: Moved, reader: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved.move(DAY)
    own_clock_is(monkeypatch, timedelta(hours=-5))
    scheduler = open_durable_scheduler(moved.url, "nightly", lease_s=60.0)
    scheduler.submit("one")
    assert len(scheduler.ready(1)) == 1
    with reader.connect() as connection:
        (until,) = connection.exec_driver_sql("SELECT lease_until FROM task_version").scalars()
    assert near(from_micros(until), datetime.now(UTC) + DAY)
    scheduler._store.close()  # type: ignore[attr-defined]


def test_a_file_goes_by_the_clock_of_its_machine(tmp_path: Path) -> None:
    store = open_task_graph(tmp_path / "graph.db")
    assert store.now is clocks.utc_now
    store.close()
