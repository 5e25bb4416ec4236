"""Ended runs are removed under the rule of their tenant, and leave a tombstone that proves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import InvalidInput, NotFound, SignoffError, Unavailable
from signoff.interchange.verifier import Bundle
from signoff.interchange.verifier import note_problem as offline
from signoff.runtime.pruner import Pruner
from signoff.store.checkpoints import CheckpointFiles
from signoff.store.journal import Journal
from signoff.store.retention import note_problem as online
from signoff.store.tables import metadata
from signoff.wiring import Settings, open_signer, open_verifier
from tests.engine.office import TENANT, Clock, Office, ask, call, chain, open_office, person
from tests.store.test_checkpoints import sealer
from tests.stores import raw_database, tamper

SAYS = "Zebra-4711-Quagga"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock) as office:
        prepare(office)
        yield office


def prepare(office: Office) -> None:
    for login, role in (("vera", "auditor"), ("root", "administrator")):
        office.running.save_person(login, name=login.title(), roles=[role])
    office.publish(chain("buys", ask("p", shows={"n": "=input.n"}), call("a"), input=[{"name": "n"}]))


def ended(office: Office, name: str = "buys") -> str:
    run = office.start(name, n=SAYS * 100)
    office.decide(run, "p", "grace", comment=SAYS)
    office.until_status(run, "succeeded")
    return run


def rule(office: Office, **retention: int) -> None:
    office.signoff.do(
        "set_retention", person("root", "cli"), TENANT, retention=retention, reason="we need them no longer"
    )


def findings(office: Office) -> set[str]:
    with open_verifier(Settings(office.folder)) as v:
        return {f.code for f in v.findings()}


def checked(office: Office, lines: list[str] | None = None) -> tuple[set[str], list[str]]:
    key = open_signer(Settings(office.folder)).public_keys()[0]
    bundle = Bundle(key)
    told = lines if lines is not None else list(office.signoff.queries.evidence.bundle(TENANT))
    return {c for c, _ in bundle.read(told)}, bundle.remarks


def rows_of(office: Office, text: str) -> list[str]:
    """Tables that hold a text."""
    db = raw_database(office.folder)
    found = []
    for table in metadata.tables:
        for row in db.execute(f"SELECT * FROM {table}", ()).fetchall():
            if any(text.encode() in (v if isinstance(v, bytes) else str(v).encode()) for v in row):
                found.append(table)
    db.close()
    return sorted(set(found))


def test_what_is_due_goes_and_says_so(office: Office, clock: Clock) -> None:
    gone = ended(office)
    sealer(office).seal()
    pack = list(office.signoff.queries.evidence.bundle(TENANT, gone))
    clock.move(days=20)
    kept, waiting = ended(office), office.start("buys", n="open")
    sealer(office).seal()
    rule(office, days=30)
    clock.move(days=11)
    assert sealer(office).prune() == 1
    with pytest.raises(NotFound, match=r"ended as succeeded on 2026-11-30 and was pruned on 2026-12-31 .*30 days") as e:
        office.view(gone)
    assert e.value.code == "pruned"
    with pytest.raises(SignoffError, match="was pruned on"):
        office.signoff.do("hold_run", person("root"), TENANT, run_id=gone, reason="too late")
    assert office.view(kept).row.status == "succeeded"
    assert office.view(waiting).row.status == "running"
    assert rows_of(office, gone) == ["ledger_leaf"]
    assert findings(office) == set()
    wrong, remarks = checked(office)
    assert wrong == set()
    (told,) = (r for r in remarks if r.startswith("pruned-ok"))
    assert gone in told
    assert "30 days (rule of the tenant)" in told
    copy = sealer(office)._files.notes(TENANT)
    bundle = Bundle(open_signer(Settings(office.folder)).public_keys()[0], copy)
    assert bundle.read(pack) == [], "what was exported before verifies against a newer copy"
    wrong, remarks = checked(office, list(office.signoff.queries.evidence.bundle(TENANT, gone)))
    assert wrong == set()
    assert any("pruned-ok" in r for r in remarks), "what is left of it can be exported"


def test_nothing_of_it_stays_in_the_tables(office: Office, clock: Clock) -> None:
    office.publish(chain("waits", {"id": "s", "kind": "signal", "signal": "note"}, input=[{"name": "n"}]))
    run = office.start("waits", n=SAYS)
    office.signoff.send_signal(person("katherine"), TENANT, "note", run, {"text": SAYS})
    office.until_status(run, "succeeded")
    ended(office)
    assert rows_of(office, SAYS) != []
    sealer(office).seal()
    rule(office, days=1)
    clock.move(days=2)
    assert sealer(office).prune() == 2
    assert rows_of(office, SAYS) == []
    assert findings(office) == set()


def test_a_hold_keeps_a_run_and_whatever_started_it(office: Office, clock: Clock) -> None:
    office.publish(chain("child", call("c")))
    office.publish(chain("parent", {"id": "sub", "kind": "subflow", "definition": "child"}))
    run = office.start("parent")
    office.until_status(run, "succeeded")
    child = office.view(run).state.steps["sub"].child
    sealer(office).seal()
    rule(office, days=1)
    hold = {"run_id": child, "reason": "a dispute"}
    office.signoff.do("hold_run", person("vera"), TENANT, **hold)
    clock.move(days=5)
    assert sealer(office).prune() == 0
    assert office.signoff.queries.retention.preview(TENANT)[-1].due == 1
    office.signoff.do("hold_run", person("vera"), TENANT, **hold, hold=False)
    assert sealer(office).prune() == 2, "a run and what it started go together"
    assert findings(office) == set()


def test_what_an_open_run_has_started_stays(office: Office, clock: Clock) -> None:
    office.publish(chain("child", call("c")))
    office.publish(chain("parent", {"id": "sub", "kind": "subflow", "definition": "child"}, ask("p")))
    run = office.start("parent")
    office.until_step(run, "p", "waiting")
    sealer(office).seal()
    rule(office, days=1)
    clock.move(days=5)
    assert sealer(office).prune() == 0
    office.decide(run, "p", "grace")
    sealer(office).seal()
    clock.move(days=5)
    db = raw_database(office.folder)
    db.execute("UPDATE run SET parent = NULL")  # as an older release has left it
    db.commit()
    db.close()
    assert sealer(office).prune() == 2
    assert findings(office) == set()


def test_a_definition_asks_within_what_the_tenant_allows(office: Office, clock: Clock) -> None:
    for name, days in (("short", 2), ("long", 90), ("longest", 9000)):
        policies = {"retention_days": days}
        office.publish(chain(name, ask("p"), policies=policies, input=[{"name": "n"}]))
        ended(office, name)
    ended(office)
    sealer(office).seal()
    wanted = {"days": 30, "least": 10, "most": 100}
    preview = office.signoff.queries.retention.preview
    assert {x.definition: x.days for x in preview(TENANT, wanted)} == {
        "buys": 30, "short": 10, "long": 90, "longest": 100,
    }  # fmt: skip
    rule(office, **wanted)
    for days, gone in ((9, []), (2, ["short"]), (20, ["buys"]), (60, ["long"]), (8, []), (2, ["longest"])):
        clock.move(days=days)
        assert sorted(x.definition for x in preview(TENANT) if x.due) == gone
        assert sealer(office).prune() == len(gone)
    assert office.signoff.queries.retention.count_tombstones(TENANT) == 4
    assert findings(office) == set()


def test_rules_are_an_administrators_and_have_reasons(office: Office) -> None:
    do = office.signoff.do
    with pytest.raises(SignoffError, match="takes the role administrator"):
        do("set_retention", person("vera"), TENANT, retention={"days": 1}, reason="x")
    with pytest.raises(SignoffError, match="Expected a reason"):
        do("set_retention", person("root", "cli"), TENANT, retention={"days": 1}, reason=" ")
    for wrong in ({"days": 0}, {"days": True}, {"dais": 3}, {"days": 3, "least": 9}, {"days": 9, "most": 3}, []):
        with pytest.raises(InvalidInput):
            do("set_retention", person("root", "cli"), TENANT, retention=wrong, reason="x")
    with pytest.raises(InvalidInput, match="0 days"):
        office.publish(chain("odd", call("a"), policies={"retention_days": 0}))
    with pytest.raises(SignoffError, match="may not send"):
        do("prune_runs", person("root"), TENANT, runs=["r-x"], origin="x")


def test_a_crash_at_any_commit_leaves_all_or_nothing(tmp_path: Path, clock: Clock) -> None:
    """The commit is lost, or what came after it: signing, and the next commit."""
    with open_office(tmp_path / "data", now=clock) as office:
        prepare(office)
        for _ in range(30):
            ended(office)
        sealer(office).seal()
        rule(office, days=1)
        office.check_replay()
    clock.move(days=3)
    for at in ("commit 1", "sign 1", "commit 2", "sign 2", ""):
        with open_office(tmp_path / "data", now=clock, services=False, slots=0) as office:
            counted = {"commit": 0, "sign": 0}

            def die(what: str, at: str = at, counted: dict[str, int] = counted) -> None:
                counted[what] += 1
                if at == f"{what} {counted[what]}":
                    raise RuntimeError("the disk is gone")

            origin = open_signer(Settings(office.folder)).name
            engine = office.running.writer.engine
            assert engine is not None
            journal: Journal = engine.journal
            journal.before_commit = lambda die=die: die("commit")  # type: ignore[misc]
            pruner = Pruner(office.signoff.queries._reader, office.running.writer, clock)
            try:
                pruner.prune(origin, lambda die=die: die("sign"), bool)  # type: ignore[misc]
            except RuntimeError:
                assert at.startswith("sign")
            journal.before_commit = lambda: None
            assert findings(office) == set(), at
            office.check_replay()
    with open_office(tmp_path / "data", now=clock) as office:
        sealer(office).prune()
        assert findings(office) == set()
        assert checked(office)[0] == set()
        assert office.signoff.queries.retention.count_tombstones(TENANT) == 30
        ended(office)
        sealer(office).seal()
        assert findings(office) == set(), "new events are sealed although no older one is left"
        assert checked(office)[0] == set()
        assert not any("no checkpoint yet" in r for r in checked(office)[1])


LIES = {
    "the run is back": ("false_tombstone", "UPDATE ledger_leaf SET run_id = (SELECT min(public_id) FROM run)"),
    "no tombstone": ("run_missing", "DELETE FROM ledger_leaf"),
    "another head": ("false_tombstone", "UPDATE ledger_leaf SET head = zeroblob(32)"),
    "another count": ("false_tombstone", "UPDATE ledger_leaf SET seq = seq + 1"),
    "another note": ("false_tombstone", "UPDATE ledger_leaf SET note = '{}'"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_tombstones_are_found(tmp_path: Path, clock: Clock, lie: str) -> None:
    with open_office(tmp_path / "data", now=clock) as office:
        prepare(office)
        ended(office)
        sealer(office).seal()
        rule(office, days=1)
        clock.move(days=3)
        ended(office)
        sealer(office).seal()
        assert sealer(office).prune() == 1
    code, statement = LIES[lie]
    tamper(office.folder, f"{statement} WHERE kind = 'pruned'")
    found = findings(office)
    assert code in found
    assert found & {"checkpoint_fork", "ledger_truncated"}, "the signed root shows it as well"


def test_a_run_that_is_cut_out_without_a_tombstone_is_missed(office: Office, clock: Clock) -> None:
    ended(office)
    sealer(office).seal()
    for table in ("event", "run_key"):
        tamper(office.folder, f"DELETE FROM {table} WHERE run = 1")
    tamper(office.folder, "DELETE FROM run WHERE id = 1")
    assert "run_missing" in findings(office)
    assert "chain_missing" in checked(office)[0]


def test_a_tombstone_before_its_time_is_false(office: Office, clock: Clock) -> None:
    """Whoever could write to the engine's own table has removed a run early, and it was signed."""
    ended(office)
    sealer(office).seal()
    rule(office, days=10)
    clock.move(days=11)
    sealer(office).prune()
    lines = [json.loads(x) for x in office.signoff.queries.evidence.bundle(TENANT)]
    (stone,) = (x for x in lines if x["kind"] == "leaf" and x["leaf"][0] == "pruned")
    told = json.loads(stone["leaf"][5])
    told["at"] = (clock.now - timedelta(days=5)).isoformat()
    notes: list[Any] = [
        json.dumps(told),
        "{}",
        "",
        "[]",
        json.dumps({**told, "days": 0}),
        json.dumps({**told, "at": 1}),
    ]
    notes += [json.dumps({**told, "status": ""}), json.dumps({**told, "days": 1e99}), stone["leaf"][5]]
    assert [bool(offline(n)) for n in notes] == [True] * (len(notes) - 1) + [False]
    assert [online(n) for n in notes] == [offline(n) for n in notes]


def test_what_is_sealed_or_pruned_while_it_is_read_is_no_finding(office: Office, clock: Clock) -> None:
    """The engine goes on: it signs, starts and removes runs between any two things that a reader reads."""
    rule(office, days=1)
    ended(office)
    sealer(office).seal()

    class Busy(CheckpointFiles):
        """The sealer is quicker than who reads."""

        def notes(self, tenant: str) -> list[str]:
            ended(office)
            sealer(office).seal()
            return super().notes(tenant)

    busy = Busy(Settings(office.folder).checkpoint_folder)
    with open_verifier(Settings(office.folder)) as v:
        v._database._files = busy
        assert [f.code for f in v.findings()] == []
    evidence = office.signoff.queries.evidence
    evidence._files = busy
    assert checked(office)[0] == set()
    clock.move(days=3)

    class Pruning(Busy):
        def notes(self, tenant: str) -> list[str]:
            found = CheckpointFiles.notes(self, tenant)
            sealer(office).prune()
            return found

    evidence._files = Pruning(busy.folder)
    with pytest.raises(Unavailable, match="pruned while it was exported"):
        checked(office)
    evidence._files = CheckpointFiles(busy.folder)
    assert checked(office)[0] == set()
