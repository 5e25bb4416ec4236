"""The data folder as an operator finds it: closed to others, emptied, full, damaged, held by another engine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from signoff.cli.context import save_settings
from signoff.errors import InvalidInput, StoreFault, Unavailable
from signoff.runtime.lock import EngineLock
from signoff.runtime.storewatch import StoreWatch
from signoff.runtime.wire import MAX_FRAME_BYTES
from signoff.wiring import Settings, listen, open_embedded, open_remote
from tests.engine.office import TENANT, ask, chain, open_office, person


def cli(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "signoff.cli.main", *words, "--data", str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_an_open_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    with open_embedded(folder, slots=0):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_database_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    with open_office(tmp_path) as office:
        office.publish(chain("buy", ask("manager")))
    for path in tmp_path.glob("signoff.db*"):
        path.unlink()
    with pytest.raises(StoreFault, match="is gone"):
        open_embedded(tmp_path)
    assert not (tmp_path / "signoff.db").exists()
    save_settings(Settings(tmp_path))
    found = cli(tmp_path, "doctor")
    assert found.returncode == 1
    assert "is gone" in found.stdout


def test_a_database_deleted_under_the_engine_stops_it(tmp_path: Path) -> None:
    with open_office(tmp_path) as office:
        office.publish(chain("buy", ask("manager")))
        watch = next(s for s in office.running.services if isinstance(s, StoreWatch))
        for path in tmp_path.glob("signoff.db*"):
            path.unlink()
        watch.work()
        with pytest.raises(Unavailable, match="deleted or replaced"):
            office.start("buy")
        assert not (tmp_path / "signoff.db").exists()


def test_readers_make_no_empty_database(tmp_path: Path) -> None:
    save_settings(Settings(tmp_path))
    with pytest.raises(Unavailable):
        open_remote(Settings(tmp_path), wait_s=0.1)
    assert not (tmp_path / "signoff.db").exists()


@pytest.mark.parametrize("content", [b"", b"nonsense" * 200])
def test_the_doctor_survives_a_damaged_database(tmp_path: Path, content: bytes) -> None:
    save_settings(Settings(tmp_path))
    (tmp_path / "signoff.db").write_bytes(content)
    found = cli(tmp_path, "doctor")
    assert found.returncode == 1
    assert "Traceback" not in found.stdout + found.stderr
    assert "BAD" in found.stdout


def test_damaged_settings_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", "utf-8")
    found = cli(tmp_path, "run", "list")
    assert found.returncode == 1
    assert "cannot be read" in found.stderr
    assert "Traceback" not in found.stderr


def test_the_command_line_needs_no_module_with_activities(tmp_path: Path) -> None:
    """Closing an account must not wait for somebody's PYTHONPATH."""
    settings = Settings(tmp_path, modules=("no.such.module",))
    save_settings(settings)
    with open_office(tmp_path) as office:
        listen(office.running, settings)
        found = cli(tmp_path, "person", "list")
        assert found.returncode == 0, found.stderr
        assert "grace" in found.stdout


def test_a_running_demo_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "demo.seeded").touch()
    lock = EngineLock(folder)
    lock.acquire(0.0, threading.Event())
    try:
        found = cli(folder, "demo", "--fresh", "--port", "18990")
    finally:
        lock.release()
    assert found.returncode == 1
    assert "Another engine is running" in found.stderr
    assert (folder / "demo.seeded").exists()


def test_what_is_too_large_or_no_json_costs_nobody_the_connection(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    save_settings(settings)
    with open_office(tmp_path) as office:
        listen(office.running, settings)
        office.publish(chain("buy", ask("manager"), input=[{"name": "item"}]))
        signoff, client = open_remote(settings)
        nested: object = 0
        for _ in range(900):
            nested = [nested]
        for item in ("x" * (MAX_FRAME_BYTES + 1), nested, 10**400, "\ud800"):
            with pytest.raises(InvalidInput):
                signoff.start_run(person("ada"), TENANT, "buy", {"item": item})
        assert signoff.start_run(person("ada"), TENANT, "buy", {"item": "chair"})["created"]
        client.close()
        signoff.queries.close()


def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """SQLite is given a small limit of pages, which fails as a full disk does."""
    with open_office(tmp_path) as office:
        office.publish(chain("buy", ask("manager"), input=[{"name": "text", "type": "long_text"}]))
        engine = office.running.writer.engine
        assert engine is not None
        pages = engine.journal.rows("PRAGMA page_count")[0][0]
        engine.journal.rows(f"PRAGMA max_page_count={pages + 40}")
        started: list[str] = []
        said = ""
        while not said and len(started) < 500:
            try:
                started.append(office.start("buy", text="x" * 10_000))
            except Unavailable as error:
                said = error.code
        assert said == "disk_full"
        engine.journal.rows("PRAGMA max_page_count=1000000")
        started.append(office.start("buy", text="there is room again"))
        assert {r.run_id for r in office.signoff.queries.list_runs(TENANT, limit=200).items} == set(started)
        office.check_replay()
