"""A whole installation on a PostgreSQL server: real processes, a second engine that waits, a server that crashes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psycopg
import pytest

from signoff.cli.context import save_settings
from signoff.errors import SignoffError, Unavailable
from signoff.runtime.folder import load_store, save_store
from signoff.wiring import Settings, open_remote, open_verifier
from tests import postgres, stores
from tests.postgres import Server, free_port
from tests.runtime.plant import TENANT, Plant, person, plant
from tests.runtime.test_installation import cli
from tests.runtime.test_processes import approval, chain, step

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _on_the_server(postgres_server: Server) -> Iterator[None]:
    before, stores.current = stores.current, stores.Stores("postgresql", postgres_server)
    yield
    stores.current.drop()
    stores.current = before


def verified(settings: Settings) -> None:
    with open_verifier(settings) as verifier:
        assert list(verifier.findings()) == []


def test_an_engine_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    with plant(tmp_path) as made:
        made.publish(chain("buy", step("first"), approval("p"), step("last")))
        runs = [made.begin("buy", f"k{n}") for n in range(3)]
        made.kill("engine")
        made.start("engine")
        runs.append(made.begin("buy", "k3"))
        for run in runs:
            made.until(run, lambda v: v.state.steps["p"].status == "waiting")
            made.decide(run, "p", f"d{run}")
        for run in runs:
            made.until(run, lambda v: v.row.status == "succeeded")
        assert len(set(made.calls("last"))) == len(runs)
        assert "schema" in cli(made.folder, "doctor").stdout
        assert not (made.folder / "signoff.db").exists()
    verified(made.settings)
    found = cli(made.folder, "verify")
    assert (found.returncode, "everything is as it must be" in found.stdout) == (0, True), found.stdout


class Second:
    """The data folder of another machine: its own sockets and credentials, shared keys and checkpoints."""

    def __init__(self, first: Plant, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        save_store(folder, load_store(first.folder))
        given = first.settings
        self.settings = Settings(
            folder, modules=given.modules, keys=given.key_file, checkpoints=given.checkpoint_folder
        )
        save_settings(self.settings)


def waiting(url: str) -> int:
    """How many engines stand in line for the writer's lock."""
    with psycopg.connect(url, autocommit=True) as other:
        found = other.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
        ).fetchone()
    return int(found[0]) if found else 0


def test_a_second_engine_waits_and_takes_over_within_seconds(tmp_path: Path) -> None:
    with plant(tmp_path) as made:
        made.publish(chain("buy", approval("p"), step("last")))
        url = load_store(made.folder)
        acknowledged = [made.begin("buy", f"k{n}") for n in range(5)]
        second = Second(made, tmp_path / "second")
        folder, made.folder = made.folder, second.settings.folder
        made.start("engine", "standby")
        made.start("worker", "other", "--name", "other")
        port = str(free_port())
        made.start("web", "pages", "--port", port)
        made.folder = folder
        made.wait_for(lambda: waiting(url), bool)
        with pytest.raises(Unavailable):
            open_remote(second.settings, wait_s=1.0)  # it waits, and does not write
        made.kill("engine")
        began = time.monotonic()
        signoff, client = open_remote(second.settings, wait_s=30.0)
        assert time.monotonic() - began < 15.0  # about one second where nobody else wants the cores
        try:
            assert {r.run_id for r in signoff.queries.list_runs(TENANT).items} == set(acknowledged)
            again = signoff.start_run(person("ada"), TENANT, "buy", {}, idempotency_key="k0")
            assert again["run_id"] == acknowledged[0], "what the first engine answered is known to the second"
            for run in acknowledged:
                signoff.decide(person("grace"), TENANT, run, "p", "approved", generation=1, comment="ok")
            for run in acknowledged:
                made.until(run, lambda v: v.row.status == "succeeded")
            pages = f"http://127.0.0.1:{port}/api/openapi.json"  # they waited as well
            made.wait_for(lambda: urlopen(pages, timeout=5).status, lambda status: status == 200)
            made.start("engine")  # the first machine is back: now it is the one that waits
            made.wait_for(lambda: waiting(url), bool)
            with pytest.raises(Unavailable):
                open_remote(made.settings, wait_s=1.0)
            made.signal("standby", signal.SIGTERM)
            made.insist(lambda: made.begin("buy", "later"))
        finally:
            client.close()
            signoff.queries.close()
    verified(made.settings)


def test_a_session_that_the_server_ends_is_made_anew(tmp_path: Path) -> None:
    with plant(tmp_path) as made:
        made.publish(chain("buy", step("first"), approval("p")))
        run = made.begin("buy", "k")
        made.until(run, lambda v: v.state.steps["p"].status == "waiting")
        url = load_store(made.folder)
        for turn in range(3):
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            made.begin("buy", f"after {turn}")
        made.decide(run, "p", "d")
        made.until(run, lambda v: v.row.status == "succeeded")
    verified(made.settings)


def test_a_server_that_crashes_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Clients that go on while the server is stopped like in a crash, three times, and started again."""
    programs = postgres.find_programs()
    assert programs is not None
    with postgres.started_server(programs) as server:
        stores.current, before = stores.Stores("postgresql", server), stores.current
        try:
            with plant(tmp_path) as made:
                made.publish(chain("buy", step("first"), approval("p")))
                acknowledged: list[str] = []
                stop = threading.Event()

                def load(number: int) -> None:
                    count = 0
                    while not stop.is_set():
                        count += 1
                        try:
                            answer: Any = made.signoff.start_run(
                                person("ada"), TENANT, "buy", {}, idempotency_key=f"{number}-{count}"
                            )
                        except SignoffError:
                            count -= 1  # not known: the same key again
                            stop.wait(0.02)
                        else:
                            acknowledged.append(str(answer["run_id"]))

                threads = [threading.Thread(target=load, args=(n,)) for n in range(4)]
                for thread in threads:
                    thread.start()

                def more() -> None:
                    seen = len(acknowledged)
                    made.wait_for(lambda: len(acknowledged), lambda n: n >= seen + 15)

                for _ in range(3):
                    more()
                    server.stop("immediate")
                    server.start()
                more()
                stop.set()
                for thread in threads:
                    thread.join(60)
                assert made.processes["engine"].poll() is None, "the engine went on by itself"
                for run in acknowledged:
                    made.until(run, lambda v: v.state.steps["p"].status == "waiting")
                assert len(set(acknowledged)) == len(acknowledged)
                found = server.query("SELECT count(*) FROM run", load_store(made.folder).rpartition("/")[2])
                assert found == [(len(acknowledged),)], "none twice, none that nobody asked for"
            verified(made.settings)
        finally:
            stores.current = before


def test_the_url_is_remembered_by_its_owner_only(tmp_path: Path) -> None:
    url = stores.current.place(tmp_path / "x")
    with_secret = str(url).replace("@", ":secret@")
    folder = tmp_path / "data"
    found = cli(folder, "person", "add", "ada", "--disable", "--store", "sqlite:///x")
    assert "is not the URL of a PostgreSQL database" in found.stderr
    found = cli(folder, "person", "add", "ada", "--disable", SIGNOFF_STORE=with_secret)
    assert found.returncode == 0, found.stderr
    assert (folder / "store.url").stat().st_mode & 0o077 == 0
    assert "secret" not in (folder / "settings.json").read_text("utf-8")
    assert not (folder / "signoff.db").exists()
    found = cli(folder, "doctor")
    assert "PostgreSQL 1" in found.stdout
    assert "secret" not in found.stdout + found.stderr
    db = stores.raw_database(folder)
    assert db.execute("SELECT login FROM person").fetchall() == [("ada",)]
    db.close()


def test_data_in_a_file_are_not_left_behind(tmp_path: Path) -> None:
    assert cli(tmp_path, "person", "add", "ada", "--disable").returncode == 0
    found = cli(tmp_path, "up", "--store", str(stores.current.place(tmp_path / "x")))
    assert found.returncode == 1
    assert "are in a file" in found.stderr


def test_a_database_that_was_emptied_is_not_begun_anew(tmp_path: Path) -> None:
    made = Plant(tmp_path)
    db = stores.raw_database(made.folder)
    db.execute("DROP SCHEMA public CASCADE")
    db.execute("CREATE SCHEMA public")
    db.commit()
    db.close()
    found = cli(made.folder, "person", "add", "eve", "--disable")
    assert found.returncode == 1
    assert "is empty, although this folder had one" in found.stderr
    assert "Traceback" not in found.stderr
