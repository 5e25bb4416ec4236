"""`signoff migrate-store`: a living installation goes to a server and back, with every row and every proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signoff.cli.context import save_settings
from signoff.cli.main import app
from signoff.interchange.verifier import Bundle
from signoff.runtime.folder import load_store, save_store
from signoff.store import moving
from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.tables import metadata
from signoff.wiring import Settings, open_signer, open_verifier, start_engine
from tests import stores
from tests.engine.office import TENANT, Clock, Office, ask, call, chain, open_office, person
from tests.postgres import Server
from tests.store.test_checkpoints import sealer


@dataclass
class Said:
    returncode: int
    stdout: str
    stderr: str


def cli(folder: Path, *words: str) -> Said:
    """The command in this process."""
    done = CliRunner().invoke(app, [*words, "--data", str(folder)])
    return Said(done.exit_code, done.stdout, done.stderr)


ITEMS = [{"name": "n"}, {"name": "secret", "sensitive": True}]


@pytest.fixture
def places(postgres_server: Server) -> Iterator[stores.Stores]:
    """Databases on the server; what tests open by name is in files."""
    made = stores.Stores("postgresql", postgres_server)
    yield made
    made.drop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Finished, waiting, asking and erased runs, secrets, large values, a kept message, a dead letter, checkpoints."""
    folder = tmp_path / "data"
    with open_office(folder, now=Clock()) as office:
        fill(office)
    save_settings(Settings(folder))
    return folder


def fill(office: Office) -> None:
    office.running.save_person("root", name="Wurzel ü", roles=["administrator"])
    office.publish(chain("asks", ask("p", required=2, expires="P1D"), call("a"), input=ITEMS))
    office.publish(chain("waits", {"id": "w", "kind": "wait", "duration": "PT1H"}))
    office.connectors.broken.add("z")
    office.publish(chain("fails", call("z", "flaky", retry={"max_attempts": 1})))
    office.publish(chain("works", call("a"), input=[{"name": "n"}]))
    office.start("waits")
    office.until_status(office.start("fails"), "stalled")
    run = office.start("asks", key="k1", n="x" * 5000, secret="Zebra")
    office.decide(run, "p", "grace")
    done = office.start("works", n="gone")
    office.until_status(done, "succeeded")
    sealer(office).seal()
    office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=done, reason="asked for")
    office.signoff.send_signal(person("katherine"), TENANT, "news", "k", {"a": 1})


def counted(db: Any) -> dict[str, int]:
    counts = {n: db.execute(f"SELECT count(*) FROM {n}", ()).fetchone()[0] for n in metadata.tables if n != "setting"}
    db.close()
    return counts


def test_there_and_back(folder: Path, places: stores.Stores) -> None:
    url = str(places.place(folder / "there"))
    before = counted(stores.raw_database(folder))
    assert len([n for n in before.values() if n]) > 12
    found = cli(folder, "migrate-store", url)
    assert found.returncode == 0, found.stderr + found.stdout
    assert "counts and digests are equal" in found.stdout
    assert "verified in the new database" in found.stdout
    assert (load_store(folder), (folder / "signoff.db").exists()) == (url, False)
    assert (folder / "signoff.db.moved").exists()
    assert counted(stores.raw_database(folder)) == before
    assert cli(folder, "verify").returncode == 0
    with open_office(folder, now=Clock()) as office:  # it goes on: ids, keys and histories
        (asks,) = [r for r in office.signoff.queries.list_runs(TENANT).items if r.definition == "asks"]
        assert office.view(asks.run_id).state.input["secret"] == "Zebra"
        assert (
            Bundle(open_signer(Settings(folder)).public_keys()[0]).read(office.signoff.queries.evidence.bundle(TENANT))
            == []
        )
        again = office.signoff.start_run(
            person("ada"), TENANT, "asks", {"n": "x" * 5000, "secret": "Zebra"}, idempotency_key="k1"
        )
        assert (again["run_id"], again["created"]) == (asks.run_id, False)
        office.decide(asks.run_id, "p", "alan")
        office.until_status(asks.run_id, "succeeded")
        office.start("waits")
    with open_verifier(Settings(folder)) as verifier:
        assert list(verifier.findings()) == []
    after = counted(stores.raw_database(folder))
    found = cli(folder, "migrate-store", "file")
    assert found.returncode == 0, found.stderr
    assert load_store(folder) == ""
    assert counted(stores.raw_database(folder)) == after
    with open_verifier(Settings(folder)) as verifier:
        assert list(verifier.findings()) == []


def test_a_target_with_data_is_refused(folder: Path, places: stores.Stores, tmp_path: Path) -> None:
    url = str(places.place(tmp_path / "x"))
    other = tmp_path / "other"
    save_store(other, url)
    start_engine(Settings(other), connectors={}, services=False).close()
    first = cli(folder, "migrate-store", url)
    assert first.returncode == 0, "a schema without rows is empty: " + first.stderr
    cli(folder, "migrate-store", "file")
    again = cli(folder, "migrate-store", url)
    assert again.returncode == 1
    assert "holds data already" in again.stderr
    assert load_store(folder) == ""


def test_while_an_engine_runs_nothing_moves(folder: Path, places: stores.Stores, tmp_path: Path) -> None:
    url = str(places.place(tmp_path / "x"))
    save_store(tmp_path / "other", url)
    other = start_engine(Settings(tmp_path / "other"), connectors={}, services=False)
    found = cli(folder, "migrate-store", url)
    other.close()
    assert found.returncode == 1
    assert "Another engine is running" in found.stderr
    assert (folder / "signoff.db").exists()


@pytest.mark.parametrize("to", ["sqlite:///x", "file", "mysql://x"])
def test_other_places_are_refused(folder: Path, to: str) -> None:
    found = cli(folder, "migrate-store", to)
    assert found.returncode == 1
    assert "is no other place" in found.stderr


def test_what_arrives_otherwise_is_taken_back(
    folder: Path, places: stores.Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(places.place(tmp_path / "x"))
    real = moving._copy

    def lossy(reading: Any, writing: Any, table: Any) -> moving.MovedTable:
        sent = real(reading, writing, table)
        if table.name == "event":
            writing.cursor.execute("UPDATE event SET step='other' WHERE id = (SELECT max(id) FROM event)", ())
        return sent

    monkeypatch.setattr(moving, "_copy", lossy)
    with pytest.raises(moving.StoreFault, match="Of 'event'"):
        moving.move_database(folder / "signoff.db", url, lambda table: None)
    save_store(tmp_path / "other", url)
    assert set(counted(stores.raw_database(tmp_path / "other")).values()) == {0}


def test_a_database_with_findings_is_not_used(folder: Path, places: stores.Stores, tmp_path: Path) -> None:
    url = str(places.place(tmp_path / "x"))
    db = sqlite_module().connect(str(folder / "signoff.db"))
    db.execute("DELETE FROM timer")
    db.commit()
    db.close()
    found = cli(folder, "migrate-store", url)
    assert found.returncode == 1
    assert "timer_missing" in found.stdout
    assert "has findings; the old one stays in use" in found.stderr
    assert load_store(folder) == ""
