"""The hash chain of a run: written with its events, checked against what stands in the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from signoff.engine.verify import Verifier
from signoff.wiring import Settings, open_verifier
from tests.engine.office import Clock, ask, call, chain, open_office
from tests.stores import Stores, raw_database, reader_of, tamper

RUN = "run = (SELECT max(id) FROM run)"


@pytest.fixture
def chained(tmp_path_factory: pytest.TempPathFactory, store: Stores) -> Path:
    """A run whose approval was given, with one body that stands in a row of its own."""
    return store.once("chained", lambda: make_chained(tmp_path_factory.mktemp("ledger") / "data"))


def make_chained(folder: Path) -> Path:
    with open_office(folder, now=Clock(), slots=0, services=False) as office:
        office.publish(chain("asks", ask("p", required=2, expires="P1D"), call("a"), input=[{"name": "n"}]))
        run = office.start("asks", n="x" * 3000)
        office.decide(run, "p", "grace")
    return folder


@pytest.fixture
def copy(chained: Path, tmp_path: Path, store: Stores) -> Path:
    return store.copy(chained, tmp_path / "copy")


def codes(folder: Path) -> set[str]:
    with open_verifier(Settings(folder)) as v:
        assert isinstance(v, Verifier)
        return {f.code for f in v.findings()}


def test_every_event_is_chained(chained: Path) -> None:
    engine = reader_of(chained)
    with engine.connect() as c:
        assert c.execute(text("SELECT count(*) FROM event WHERE hash IS NULL")).scalar() == 0
        assert c.execute(text("SELECT count(*) FROM run_key")).scalar() == 1
        people = [r[0] for r in c.execute(text("SELECT DISTINCT actor FROM event WHERE actor LIKE 'person:%'"))]
    engine.dispose()
    assert people
    assert not {"person:grace", "person:ada"} & set(people), "the chain names people by pseudonyms"
    assert codes(chained) == set()


ALTERED = [
    ("chain_altered", f"UPDATE event SET at = at + 1 WHERE {RUN} AND seq = 2"),
    ("chain_altered", f"UPDATE event SET actor = 'person:00' WHERE {RUN} AND seq = 1"),
    ("chain_altered", f"UPDATE event SET version = 9 WHERE {RUN} AND seq = 2"),
    ("chain_altered", f"UPDATE event SET step = 'x' WHERE {RUN} AND seq = 2"),
    ("chain_altered", f"UPDATE event SET hash = zeroblob(32) WHERE {RUN} AND seq = 2"),
    ("chain_altered", f"UPDATE event SET commitment = zeroblob(32) WHERE {RUN} AND seq = 2"),
    ("body_altered", f"UPDATE event SET commitment = zeroblob(32) WHERE {RUN} AND seq = 2"),
    ("body_altered", f"UPDATE event SET data = replace(data, 'grace', 'alan') WHERE {RUN} AND type LIKE 'approval.%'"),
    ("body_altered", "UPDATE payload SET data = replace(data, 'xxx', 'xyx')"),
    ("chain_altered", f"DELETE FROM event WHERE {RUN} AND seq = 2"),
    ("chain_missing", f"UPDATE event SET hash = NULL WHERE {RUN} AND seq = 3"),
    ("chain_missing", "DELETE FROM run_key"),
    ("key_missing", "UPDATE run_key SET secret = zeroblob(60)"),
]


@pytest.mark.parametrize(("code", "statement"), ALTERED, ids=[f"{n}-{c}" for n, (c, _) in enumerate(ALTERED)])
def test_what_was_altered_is_found(copy: Path, code: str, statement: str) -> None:
    tamper(copy, statement)
    assert code in codes(copy)


def test_runs_of_an_older_release_are_chained_when_they_change(copy: Path) -> None:
    db = raw_database(copy)
    run_id = db.execute("SELECT public_id FROM run").fetchone()[0]
    before = db.execute("SELECT count(*) FROM event").fetchone()[0]
    db.execute("UPDATE event SET hash = NULL, commitment = NULL, actor = NULL")
    db.execute("DELETE FROM run_key")
    db.execute("INSERT INTO setting(tenant, name, value) VALUES ('', 'unchained_until', '1')")
    db.commit()
    db.close()
    assert codes(copy) == set()
    with open_office(copy, now=Clock(), slots=0, services=False) as office:
        office.decide(run_id, "p", "alan")
    assert codes(copy) == set()
    db = raw_database(copy)
    assert db.execute("SELECT adopted FROM run_key").fetchone() == (before,)
    assert db.execute("SELECT count(*) FROM event WHERE hash IS NULL").fetchone() == (0,)
    db.close()
