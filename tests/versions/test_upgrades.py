"""From the oldest schema to today's, on both stores: whole, cut off at any statement, and by a killed process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from signoff.runtime.folder import save_store
from signoff.store.database import Where, open_database
from signoff.store.migrate import current_revision, newest_revision
from signoff.store.tables import metadata
from signoff.wiring import Settings, open_verifier
from tests.engine.office import TENANT, Clock, open_office, person
from tests.postgres import Server
from tests.stores import KINDS
from tests.versions.oldest import FIRST, lay, rows, upgraded

ROOT = Path(__file__).resolve().parents[2]
CUTS = int(os.environ.get("SIGNOFF_CUTS", "3"))
"""How many statements fail, evenly over the upgrade; `make campaign` takes all."""
KILLS = int(os.environ.get("SIGNOFF_KILLS", "1"))
DONE, REJECTED, OPEN, WAITING, STALLED = (
    "r-01m8qvt3enxys246r6mk9qdr00",
    "r-01m8qvt3hb568kv4fz2tywmnb5",
    "r-01m8qvt3k61tn2121sj46frwyd",
    "r-01m8qvt3m3hvfvrh0pvq5s6xkv",
    "r-01m8qvt3mba0xzwwedf01n8cz6",
)
RUNS = {DONE: "succeeded", REJECTED: "rejected", OPEN: "running", WAITING: "running", STALLED: "stalled"}
Lay = Callable[[], tuple[Path, Where]]


@pytest.fixture(params=KINDS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lay]:
    """Makes data folders with the old database in them."""
    server: Server | None = request.getfixturevalue("postgres_server") if request.param != "sqlite" else None
    names: list[str] = []

    def make() -> tuple[Path, Where]:
        folder = tmp_path / f"d{len(names)}"
        folder.mkdir()
        names.append(f"old{tmp_path.name[-24:].lower()}{len(names)}".replace("-", "_"))
        where: Where = folder / "signoff.db"
        if server is not None:
            server.query(f'CREATE DATABASE "{names[-1]}" TEMPLATE template0')
            where = server.url(names[-1])
            save_store(folder, where)
        lay(where, tmp_path)
        (tmp_path / "old.db").unlink(missing_ok=True)
        return folder, where

    yield make
    if server is not None:
        for name in names:
            server.query(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def found(where: Where) -> dict[str, list[str]]:
    database = open_database(where, read_only=True)
    try:
        with database.connect() as connection:
            return rows(connection)
    finally:
        database.dispose()


def check_schema(where: Where) -> None:
    database = open_database(where)
    try:
        with database.connect() as connection:
            assert current_revision(connection) == newest_revision()
            differing = compare_metadata(MigrationContext.configure(connection), metadata)
            # A server's integers are all of eight bytes, whatever the tables say.
            assert [d for d in differing if not (isinstance(d, list) and d[0][0] == "modify_type")] == []
    finally:
        database.dispose()


def check_data(folder: Path, *known: str) -> None:
    with open_verifier(Settings(folder)) as verifier:
        assert [f.code for f in verifier.findings()] == list(known)


BEFORE_0004 = "dead_letter_differs"
"""The stalled run of the old database has no dead letter, since there were none; the next attempt puts that right."""


def test_all_that_was_there_goes_on(old: Lay) -> None:
    folder, _ = old()
    clock = Clock()
    clock.now = datetime(2027, 1, 1, tzinfo=UTC)
    with open_office(folder, slots=2, now=clock) as office:
        assert {r: str(office.view(r).state.status) for r in RUNS if r != WAITING} == {
            r: s for r, s in RUNS.items() if r != WAITING
        }
        office.decide(OPEN, "sign", "grace")
        retry = {"run_id": STALLED, "step": "bad", "reason": "It works again."}
        office.signoff.do("retry_step", person("katherine"), TENANT, **retry)
        for run_id in (OPEN, WAITING, STALLED):
            office.until_status(run_id, "succeeded")
        assert office.check_replay() == len(RUNS)
    check_data(folder)


def test_cut_off_at_a_statement_and_resumed(old: Lay) -> None:
    """Each of some statements fails once; what is resumed is what an unbroken upgrade gives."""
    _, whole = old()
    count = upgraded(whole)
    assert count > 100
    expected = found(whole)
    for at in sorted({1 + count * n // CUTS for n in range(CUTS)}):
        folder, where = old()
        upgraded(where, at)
        database = open_database(where)
        with database.connect() as connection:
            assert current_revision(connection) in {None, FIRST, *_known()}
        database.dispose()
        upgraded(where)
        check_schema(where)
        assert found(where) == expected, f"cut at {at} of {count}"
    check_data(folder, BEFORE_0004)


def test_a_killed_upgrade_is_resumed(old: Lay) -> None:
    _, whole = old()
    count = upgraded(whole)
    expected = found(whole)
    for number in range(KILLS):
        folder, where = old()
        at = count * (2 * number + 1) // (2 * KILLS)
        command = [sys.executable, "-m", "tests.versions", str(where), str(at)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        upgraded(where)
        check_schema(where)
        assert found(where) == expected, f"killed at {at} of {count}"
        check_data(folder, BEFORE_0004)


def _known() -> list[str]:
    return [f"{n:04d}" for n in range(1, int(newest_revision()) + 1)]
