"""Sensitive values: never plain text in the file, readable while the keys are there, gone when those are destroyed."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.connectors.call import ActivityError, Call
from signoff.core.digest import digest_of
from signoff.errors import NotFound, SignoffError, StoreFault
from signoff.interchange.verifier import Bundle
from signoff.store.tables import metadata
from signoff.store.vault import RunCipher, keyed
from signoff.wiring import Settings, open_keyring, open_verifier
from tests.engine.office import TENANT, Clock, Connectors, Office, ask, call, chain, open_office, person
from tests.store.test_checkpoints import sealer
from tests.stores import is_postgresql, raw_database, tamper

SECRET = "Zebra-4711-Quagga"
SECRET_KEY = bytes(range(100, 132))
PLACES = ("signoff.db", "signoff.db-wal")


def leaky(call: Call) -> Any:
    """Reports and fails with what it was given."""
    call.report(0.5, f"working on {SECRET}", {"text": SECRET})
    raise ActivityError(f"refused: {SECRET}", code="refused", retryable=False)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    connectors = Connectors()
    connectors["leaky"] = leaky
    with open_office(tmp_path / "data", now=Clock(), connectors=connectors) as office:
        for login, role in (("vera", "auditor"), ("root", "administrator")):
            office.running.save_person(login, name=login.title(), roles=[role])
        yield office


def plain_text(office: Office) -> list[str]:
    """Files of the database, or tables of a server, that hold the secret as it is."""
    if is_postgresql():
        return [table for table in metadata.tables if any(_holds(v) for row in _all(office, table) for v in row)]
    return [n for n in PLACES if (p := office.folder / n).exists() and SECRET.encode() in p.read_bytes()]


def _all(office: Office, table: str) -> list[Any]:
    db = raw_database(office.folder)
    rows: list[Any] = db.execute(f"SELECT * FROM {table}", ()).fetchall()
    db.close()
    return rows


def _holds(value: Any) -> bool:
    return SECRET.encode() in (value if isinstance(value, bytes) else str(value).encode())


def sensitive(name: str) -> dict[str, Any]:
    return {"name": name, "sensitive": True}


def secret_run(office: Office) -> str:
    """A run that carries the secret everywhere: input, approvals, calls, outputs, failures, children, messages."""
    office.publish(chain("child", call("c", input={"v": "=input.v"}), input=[{"name": "v"}]))
    child = {"id": "sub", "kind": "subflow", "definition": "child", "input": {"v": "=input.salary"}}
    note = {"id": "s", "kind": "signal", "signal": "note", "payload": [sensitive("text")]}
    office.publish(
        chain(
            "secret",
            ask("p", shows={"Salary": "=input.salary"}),
            call("a", input={"deep": {"salary": "=input.salary", "long": "=input.long"}}),
            child,
            note,
            call("b", "leaky", input={"text": "=steps.s.output.text"}),
            input=[sensitive("salary"), sensitive("long")],
        )
    )
    run = office.start("secret", salary=SECRET, long=SECRET * 200)
    office.decide(run, "p", "grace", comment=f"{SECRET} is right")
    office.until(run, lambda v: v.state.steps["s"].status.value == "waiting")
    office.signoff.send_signal(person("katherine"), TENANT, "note", run, {"text": SECRET})
    office.until_status(run, "stalled")
    return run


def end(office: Office, run: str) -> None:
    office.signoff.do("cancel_run", person("katherine"), TENANT, run_id=run, reason="over", seen_sequence=None)
    office.until_status(run, "cancelled")


def test_a_secret_stands_nowhere_in_the_file(office: Office) -> None:
    run = secret_run(office)
    view, queries = office.view(run), office.signoff.queries
    assert view.state.input["salary"] == SECRET, "those who may, read it"
    assert SECRET in str(view.state.steps["b"].error)
    assert any(SECRET in json.dumps(e.data) for e in queries.list_events(TENANT, run))
    reported = [a.progress for a in queries.list_attempts(TENANT, run) if a.progress]
    assert [(p.note, p.details) for p in reported] in ([], [(f"working on {SECRET}", {"text": SECRET})])
    assert plain_text(office) == []
    office.check_replay()
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []
        assert v.replay(run).is_equal


def test_a_ciphertext_in_another_place_is_refused(office: Office) -> None:
    run = secret_run(office)
    office.running.close()
    tamper(
        office.folder,
        "UPDATE event SET data = (SELECT data FROM event WHERE run = 1 AND seq = 2), payload_id = NULL"
        " WHERE run = 1 AND seq = 3",
    )
    with open_verifier(Settings(office.folder)) as v:
        found = {f.code for f in v.findings()}
    assert {"body_altered", "unreadable_event"} <= found
    assert run


def test_another_key_file_opens_nothing(office: Office, tmp_path: Path) -> None:
    secret_run(office)
    office.running.close()
    office.folder.joinpath("keys.json").rename(tmp_path / "kept.json")
    with open_verifier(Settings(office.folder)) as v:
        assert "key_missing" in {f.code for f in v.findings()}
    with open_verifier(Settings(office.folder, keys=tmp_path / "kept.json")) as v:
        assert list(v.findings()) == []


def test_what_is_erased_is_gone_and_the_chain_verifies(office: Office) -> None:
    run = secret_run(office)
    children = [s.child for s in office.view(run).state.steps.values() if s.child]
    with pytest.raises(SignoffError, match="is still stalled"):
        office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=run, reason="asked for")
    end(office, run)
    sealer(office).seal()
    with pytest.raises(SignoffError, match="takes the role administrator"):
        office.signoff.do("erase_run", person("katherine"), TENANT, run_id=run, reason="asked for")
    done = office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=run, reason="asked for")
    assert sorted(done["erased"]) == sorted([run, *children])
    sealer(office).seal()
    with pytest.raises(NotFound, match=r"was erased at .* by root: asked for"):
        office.view(run)
    with pytest.raises(SignoffError, match="was erased"):
        office.signoff.do("cancel_run", person("katherine"), TENANT, run_id=run, reason="x", seen_sequence=None)
    assert run in {r.run_id for r in office.signoff.queries.list_runs(TENANT).items}
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []
        assert v.erased == 2
    bundle = Bundle()
    assert bundle.read(office.signoff.queries.evidence.bundle(TENANT)) == []
    assert sum(r.startswith("erased-ok") for r in bundle.remarks) == 2


def test_erasing_takes_plain_text_out_of_the_file_too(office: Office) -> None:
    office.publish(chain("open", ask("p", shows={"n": "=input.n"}), input=[{"name": "n"}, {"name": "long"}]))
    run = office.start("open", n=SECRET, long=SECRET * 200)
    office.decide(run, "p", "grace", comment=SECRET)
    office.until_status(run, "succeeded")
    assert plain_text(office) != []
    office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=run, reason="asked for")
    assert plain_text(office) == []


def test_a_lie_about_erasing_is_found(office: Office) -> None:
    run = secret_run(office)
    end(office, run)
    sealer(office).seal()
    lines = [json.loads(x) for x in office.signoff.queries.evidence.bundle(TENANT)]
    for line in lines:
        if line["kind"] == "run" and line["run"] == run:
            line["erased"] = {"at": "", "by": "root", "reason": "x"}
        if line.get("run") == run and line["kind"] == "event":
            line["body"] = line["key"] = None
    assert {c for c, _ in Bundle().read(json.dumps(x) for x in lines)} == {"altered"}


def test_keys_that_are_rotated_open_what_was_written_before(office: Office) -> None:
    run = secret_run(office)
    keys = open_keyring(Settings(office.folder))
    made = keys.rotate(TENANT)
    assert office.signoff.do("rewrap_keys", person("root"), TENANT, key_id=made)["left"] == 0
    assert keys.drop_old(TENANT) == 1
    office.running.close()
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []
        assert v.replay(run).is_equal


def test_a_message_that_waits_is_no_plain_text(office: Office) -> None:
    def send(text: str) -> dict[str, Any]:
        more = {"name": "note", "key": "k", "id": "m-1", "payload": {"text": text}}
        return office.signoff.do("send_signal", person("katherine"), TENANT, **more)

    assert send(SECRET)["status"] == "kept"
    assert plain_text(office) == []
    assert send(SECRET)["created"] is False
    with pytest.raises(SignoffError, match="with another payload"):
        send("other")
    (shown,) = office.signoff.queries.list_signals(TENANT).items
    assert shown.payload == {"text": SECRET}
    assert digest_of({"text": SECRET}) not in str(_all(office, "signal_message")), "nobody can try guesses on it"


def test_a_message_that_waited_is_used(office: Office) -> None:
    office.signoff.send_signal(person("katherine"), TENANT, "note", "k", {"text": SECRET})
    step = {"id": "s", "kind": "signal", "signal": "note", "key": "=input.k", "payload": [sensitive("text")]}
    office.publish(chain("waits", step, input=[{"name": "k"}]))
    run = office.start("waits", k="k")
    view = office.until_status(run, "succeeded")
    assert view.state.outputs["s"] == {"text": SECRET}
    assert plain_text(office) == []


def test_a_run_that_becomes_sensitive_is_encrypted_from_its_beginning(office: Office) -> None:
    steps = (ask("p", shows={"n": "=input.n"}), call("a", input={"n": "=input.n"}), ask("q"))
    office.publish(chain("open", *steps, input=[{"name": "n"}, {"name": "long"}]))
    run = office.start("open", n=SECRET, long=SECRET * 200)
    office.decide(run, "p", "grace", comment=SECRET)
    office.until_step(run, "q", "waiting")
    assert plain_text(office) != []
    office.publish(chain("open", *steps, input=[sensitive("n"), {"name": "long"}]))
    move = {"run_id": run, "plan": {"target": 2}, "reason": "it should have been", "seen_sequence": None}
    office.signoff.do("migrate_run", person("katherine"), TENANT, **move)
    assert plain_text(office) == []
    office.check_replay()
    sealer(office).seal()
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []
        assert v.replay(run).is_equal
    assert Bundle().read(office.signoff.queries.evidence.bundle(TENANT)) == []


def test_a_run_whose_child_is_sensitive_is_encrypted_from_its_beginning(office: Office) -> None:
    office.publish(chain("child", call("c"), input=[sensitive("n")]))
    sub = {"id": "sub", "kind": "subflow", "definition": "child", "input": {"n": "=input.n"}}
    office.publish(chain("parent", ask("p"), sub, input=[{"name": "n"}]))
    run = office.start("parent", n=SECRET)
    office.decide(run, "p", "grace", comment=SECRET)
    office.until_status(run, "succeeded")
    assert plain_text(office) == []
    office.check_replay()
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []


def test_a_cipher_is_bound_to_its_place() -> None:
    cipher = RunCipher("t", "r-1", bytes(32))
    sealed = cipher.seal("event 1", b"{}")
    assert cipher.open("event 1", sealed) == b"{}"
    for other, slot in (
        (cipher, "event 2"),
        (RunCipher("t", "r-2", bytes(32)), "event 1"),
        (RunCipher("u", "r-1", bytes(32)), "event 1"),
        (RunCipher("t", "r-1", bytes(31) + b"\x01"), "event 1"),
    ):
        with pytest.raises(StoreFault, match="altered, or moved"):
            other.open(slot, sealed)


def test_keyed_hashes_are_those_of_the_library() -> None:
    for text in (b"", b"x", bytes(range(256)) * 9):
        assert keyed(SECRET_KEY, text) == hmac.digest(SECRET_KEY, text, "sha256")
