"""`verify` and `replay` on a real file: nothing to say about a healthy one, and each planted damage is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.verify import Verifier
from signoff.errors import NotFound
from signoff.wiring import Settings, open_verifier
from tests.engine.office import Clock, ask, call, chain, open_office
from tests.stores import Stores, raw_database, tamper

RUNS: dict[str, str] = {}


@pytest.fixture
def healthy(tmp_path_factory: pytest.TempPathFactory, store: Stores) -> Path:
    """A database with a finished, a stalled, a waiting, an asking, a leased and a paused run; made once per store."""
    folder, runs = store.once("healthy", lambda: make_healthy(tmp_path_factory.mktemp("verify") / "data"))
    RUNS.update(runs)
    return folder


def make_healthy(folder: Path) -> tuple[Path, dict[str, str]]:
    with open_office(folder, now=Clock(), slots=0, services=False) as office:
        office.publish(chain("waits", {"id": "w", "kind": "wait", "duration": "PT1H"}))
        office.publish(chain("asks", ask("p", required=2, expires="P1D"), call("a")))
        office.publish(chain("once", ask("p", expires="P1D")))
        office.publish(chain("works", call("a")))
        RUNS["waits"] = office.start("waits")
        RUNS["asks"] = office.start("asks")
        office.decide(RUNS["asks"], "p", "grace")
        RUNS["over"] = office.start("once")
        office.decide(RUNS["over"], "p", "grace")
        RUNS["ready"] = office.start("works")
    with open_office(folder, now=Clock()) as office:
        RUNS["done"] = office.start("works")
        office.until_status(RUNS["done"], "succeeded")
        office.until_status(RUNS["ready"], "succeeded")
    with open_office(folder, now=Clock(), slots=0, services=False) as office:
        RUNS["ready"] = office.start("works")
        RUNS["second"] = office.start("works")
    return folder, dict(RUNS)


@contextmanager
def verifier(folder: Path) -> Iterator[Verifier]:
    with open_verifier(Settings(folder)) as opened:
        yield opened


@pytest.fixture
def copy(healthy: Path, tmp_path: Path, store: Stores) -> Path:
    return store.copy(healthy, tmp_path / "copy")


def codes(folder: Path) -> set[str]:
    with verifier(folder) as v:
        return {f.code for f in v.findings()}


def test_a_healthy_database_has_no_findings(healthy: Path) -> None:
    with verifier(healthy) as v:
        assert list(v.findings()) == []
        assert v.runs == 7
        assert v.events > 20


def test_each_run_replays_byte_for_byte(healthy: Path) -> None:
    with verifier(healthy) as v:
        for run_id in RUNS.values():
            done = v.replay(run_id)
            assert done.is_equal
            assert done.findings == ()
        with pytest.raises(NotFound):
            v.replay("r-nobody")


def test_it_works_while_the_engine_writes(tmp_path: Path) -> None:
    with open_office(tmp_path / "data") as office:
        office.publish(chain("works", call("a"), ask("p")))
        for _ in range(20):
            office.start("works")
            with verifier(tmp_path / "data") as v:
                assert list(v.findings()) == []


_OF = "run = (SELECT id FROM run WHERE public_id = ?)"
DAMAGE = [
    ("sequence_gap", f"DELETE FROM event WHERE {_OF} AND seq = 2", "done"),
    ("unreadable_event", f"UPDATE event SET type = 'no.such' WHERE {_OF} AND seq = 2", "done"),
    ("unreadable_event", f"UPDATE event SET data = NULL, payload_id = 99 WHERE {_OF} AND seq = 1", "done"),
    ("not_replayable", f"UPDATE event SET step = 'nobody' WHERE {_OF} AND seq = 2", "done"),
    ("after_the_end", "UPDATE event SET type = 'run.ended', data = '{\"outcome\": \"failed\"}'"
     f" WHERE {_OF} AND seq = 3", "done"),
    ("snapshot_differs", "UPDATE run SET snapshot = replace(snapshot, 'waiting', 'retrying') WHERE public_id = ?",
     "waits"),
    ("sequence_differs", "UPDATE run SET sequence = sequence + 1 WHERE public_id = ?", "waits"),
    ("row_differs", "UPDATE run SET status = 'failed' WHERE public_id = ?", "waits"),
    ("row_differs", "UPDATE run SET started_by = 'mallory' WHERE public_id = ?", "asks"),
    ("wrong_version", "UPDATE run SET version_id = (SELECT max(id) FROM definition_version) WHERE public_id = ?",
     "asks"),
    ("foreign_tenant", f"UPDATE attempt SET tenant = 'other' WHERE {_OF}", "ready"),
    ("foreign_tenant", "UPDATE run SET tenant = 'other' WHERE public_id = ?", "ready"),
    ("timer_missing", f"DELETE FROM timer WHERE {_OF}", "waits"),
    ("timer_missing", f"UPDATE timer SET due = due + 1 WHERE {_OF}", "waits"),
    ("timer_unexpected", f"UPDATE timer SET step = 'x' WHERE {_OF}", "waits"),
    ("attempt_differs", f"UPDATE attempt SET status = 'ready' WHERE {_OF}", "done"),
    ("attempt_missing", f"UPDATE attempt SET status = 'failed' WHERE {_OF}", "ready"),
    ("approval_missing", f"UPDATE approval SET status = 'approved' WHERE {_OF}", "asks"),
    ("inbox_stale", f"UPDATE approval SET status = 'approved' WHERE {_OF}", "asks"),
    ("approval_unexpected", f"UPDATE approval SET status = 'open' WHERE {_OF}", "over"),
    ("approval_differs", f"UPDATE approval SET given = 2 WHERE {_OF}", "asks"),
    ("roster_differs", "UPDATE approval_person SET open = 1 WHERE login = 'grace' AND approval_id IN"
     f" (SELECT id FROM approval WHERE {_OF})", "asks"),
    ("roster_differs", "UPDATE approval_person SET login = 'mallory' WHERE login = 'alan' AND approval_id IN"
     f" (SELECT id FROM approval WHERE {_OF})", "asks"),
    ("version_changed", "UPDATE definition_version SET document = replace(document, 'PT1H', 'PT9H')", ""),
    ("unreadable_version", "UPDATE definition_version SET document = '{' WHERE id = 1", ""),
    ("not_replayable", "DELETE FROM definition_version WHERE id = 1", ""),
    ("loose_rows", "UPDATE event SET run = 999 WHERE run = 1 AND seq = 1", ""),
    ("file_damaged", "UPDATE run SET version_id = 999 WHERE public_id = ?", "ready"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "statement", "run"), DAMAGE, ids=[f"{n}-{d[0]}" for n, d in enumerate(DAMAGE)])
def test_planted_damage_is_found(copy: Path, code: str, statement: str, run: str) -> None:
    tamper(copy, statement, *([RUNS[run]] if run else []))
    assert code in codes(copy)


def edit_event(folder: Path, run: str, wire: str, **changes: Any) -> None:
    """Change the data of a run's first event of a kind."""
    db = raw_database(folder)
    key, data = db.execute(
        f"SELECT id, data FROM event WHERE {_OF} AND type = ? ORDER BY seq", (RUNS[run], wire)
    ).fetchone()
    db.execute("UPDATE event SET data = ? WHERE id = ?", (json.dumps({**json.loads(data), **changes}).encode(), key))
    db.commit()
    db.close()


VOTE = "approval.decision_recorded"


@pytest.mark.parametrize(
    ("code", "run", "wire", "changes"),
    [
        ("vote_not_on_roster", "asks", VOTE, {"actor": {"kind": "person", "id": "dan"}}),
        ("vote_by_requester", "asks", VOTE, {"actor": {"kind": "person", "id": "ADA"}}),
        ("vote_not_asked", "asks", VOTE, {"generation": 2}),
        ("vote_on_something_else", "asks", VOTE, {"shown_digest": "sha256:0"}),
        ("vote_too_late", "asks", "approval.opened", {"due": "2026-11-30T07:00:00+00:00"}),
        ("quorum_not_met", "over", "approval.opened", {"required": 2}),
        ("stale_result", "done", "activity.succeeded", {"fence": 7}),
        ("fence_not_growing", "done", "activity.started", {"fence": 0}),
        ("nobody_left", "asks", "approval.opened", {"roster": ["grace"]}),
        ("foreign_event", "done", "run.started", {"run_id": "r-other"}),
        ("foreign_tenant", "done", "run.started", {"tenant": "other"}),
    ],
)
def test_planted_lies_in_events_are_found(copy: Path, code: str, run: str, wire: str, changes: dict[str, Any]) -> None:
    edit_event(copy, run, wire, **changes)
    assert code in codes(copy)


def insert_copy(folder: Path, run: str, wire: str, at: int) -> None:
    """Plant a second copy of an event as number `at`; later ones move on."""
    db = raw_database(folder)
    (pk,) = db.execute("SELECT id FROM run WHERE public_id = ?", (RUNS[run],)).fetchone()
    event = db.execute("SELECT type, version, step, at, data FROM event WHERE run=? AND type=?", (pk, wire)).fetchone()
    db.execute("UPDATE event SET seq = -seq - 1 WHERE run=? AND seq >= ?", (pk, at))
    db.execute("UPDATE event SET seq = -seq WHERE run=? AND seq < 0", (pk,))
    db.execute("INSERT INTO event(run, seq, type, version, step, at, data) VALUES (?,?,?,?,?,?,?)", (pk, at, *event))
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("code", "run", "wire", "at"),
    [
        ("vote_repeated", "asks", VOTE, 4),
        ("ended_twice", "done", "activity.succeeded", 5),
        ("started_twice", "waits", "run.started", 2),
        ("after_the_end", "done", "run.ended", 6),
        ("no_way_forward", "waits", "wait.elapsed", 3),
        ("no_reason", "waits", "run.stalled", 3),
        ("open_after_the_end", "waits", "run.ended", 3),
        ("unwatched", "done", "activity.failed", 4),
    ],
)
def test_planted_events_are_found(copy: Path, code: str, run: str, wire: str, at: int) -> None:
    extra = {
        "wait.elapsed": ("w", {"generation": 1, "due": "2026-11-30T09:00:00+00:00"}),
        "run.stalled": ("", {"reason": ""}),
        "activity.failed": ("a", {"generation": 1, "attempt": 1, "fence": 1, "error": {"code": "x", "message": "x"}}),
    }.get(wire)
    if extra or (wire == "run.ended" and run == "waits"):
        step, data = extra or ("", {"outcome": "succeeded"})
        db = raw_database(copy)
        (pk,) = db.execute("SELECT id FROM run WHERE public_id = ?", (RUNS[run],)).fetchone()
        db.execute("DELETE FROM event WHERE run=? AND seq>=?", (pk, at))
        db.execute(
            "INSERT INTO event(run, seq, type, version, step, at, data) VALUES (?,?,?,1,?,1796025600000000,?)",
            (pk, at, wire, step, json.dumps(data).encode()),
        )
        db.commit()
        db.close()
    else:
        insert_copy(copy, run, wire, at)
    assert code in codes(copy)


def test_the_first_difference_is_named(copy: Path) -> None:
    statement = "UPDATE run SET snapshot = replace(snapshot, 'waiting', 'retrying') WHERE public_id = ?"
    tamper(copy, statement, RUNS["waits"])
    with verifier(copy) as v:
        done = v.replay(RUNS["waits"])
    assert not done.is_equal
    assert any("'steps.w.status'" in f.message for f in done.findings)
