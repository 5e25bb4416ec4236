"""Trees, signed checkpoints, bundles and their offline check, on a real database."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from signoff.errors import Forbidden
from signoff.interchange import verifier
from signoff.interchange.verifier import Bundle, Tree, leaf_hash, root_of_path, split_notes
from signoff.runtime.sealer import Sealer
from signoff.store import tree
from signoff.wiring import Settings, open_keyring, open_signer, open_verifier
from tests.engine.office import TENANT, Clock, Office, ask, call, chain, open_office, person
from tests.stores import Stores, tamper


def sealer(office: Office) -> Sealer:
    """The office's own; its thread does nothing within a minute."""
    (found,) = (s for s in office.running.services if isinstance(s, Sealer))
    return found


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, store: Stores) -> Path:
    """Three runs, the first of which was sealed twice; the last events of the third are in no checkpoint."""
    return store.once("sealed", lambda: make_sealed(tmp_path_factory.mktemp("sealed") / "data"))


def make_sealed(folder: Path) -> Path:
    with open_office(folder, now=Clock()) as office:
        office.running.save_person("vera", name="Vera", roles=["auditor"])
        office.running.save_person("root", name="Root", roles=["administrator"])
        office.publish(chain("asks", ask("p", required=2, expires="P1D"), call("a"), input=[{"name": "n"}]))
        first = office.start("asks", n="one")
        sealer(office).seal()
        office.decide(first, "p", "grace")
        office.start("asks", n="two")
        sealer(office).seal()
    return folder


@pytest.fixture
def lines(folder: Path) -> list[str]:
    with open_office(folder, now=Clock(), slots=0, services=False) as office:
        return list(office.signoff.queries.evidence.bundle(TENANT))


def key_of(folder: Path) -> str:
    return open_signer(Settings(folder)).public_keys()[0]


def checked(lines: list[str], key: str = "", known: tuple[str, ...] = ()) -> set[str]:
    bundle = Bundle(key, known)
    return {code for code, _ in bundle.read(lines)}


def test_trees_are_those_of_the_rfc() -> None:
    dice = Random(7)
    leaves = [tree.leaf_hash("head", "t", f"r-{n}", n, "00", "") for n in range(40)]
    one, other = tree.Tree(), Tree()
    for n, leaf in enumerate(leaves, 1):
        assert leaf == leaf_hash(["head", "t", f"r-{n - 1}", n - 1, "00", ""])
        one.add(leaf)
        other.add(leaf)
        assert one.root() == other.root() == _plain_root(leaves[:n])
        at = dice.randrange(n)
        path = tree.path_of(leaves[:n], at)
        assert root_of_path(leaves[at], at, n, path) == one.root()
        assert root_of_path(leaves[at], (at + 1) % n, n, path) != one.root() or n == 1
        assert root_of_path(leaves[at], at, n, [*path, leaf]) is None


def _plain_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, 2.1, as it is written there."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return verifier.sha(b"\x01", _plain_root(leaves[:split]), _plain_root(leaves[split:]))


def test_signatures_are_those_of_the_rfc() -> None:
    """RFC 8032, 7.1, test 2."""
    public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert verifier.signed(public, b"\x72", signature)
    assert not verifier.signed(public, b"\x73", signature)
    assert not verifier.signed(public, b"\x72", signature[:-1] + b"\x01")


def test_a_whole_export_verifies(folder: Path, lines: list[str]) -> None:
    bundle = Bundle(key_of(folder))
    assert bundle.read(lines) == []
    assert len(bundle.runs) == 2
    assert len(bundle.checkpoints) == 2
    with open_verifier(Settings(folder)) as v:
        assert list(v.findings()) == []


def test_the_notes_are_signed_text(folder: Path) -> None:
    text = (folder.with_name("data-checkpoints") / "default.checkpoints").read_text("utf-8")
    first, second = split_notes(text)
    assert first.split("\n")[0].endswith("/default")
    assert [n.split("\n")[1] for n in (first, second)] == ["1", "3"]
    assert verifier.signed_by(first, key_of(folder))
    assert not verifier.signed_by(first.replace("number 1", "number 2"), key_of(folder))


def test_one_run_verifies_with_its_paths(folder: Path, tmp_path: Path) -> None:
    with open_office(folder, now=Clock(), slots=0, services=False) as office:
        first = office.signoff.queries.list_runs(TENANT).items[-1].run_id
        own = list(office.signoff.queries.evidence.bundle(TENANT, first))
    assert checked(own, key_of(folder)) == set()
    (tmp_path / "b.jsonl").write_text("".join(own), "utf-8")
    (tmp_path / "verify.py").write_text(Path(verifier.__file__).read_text("utf-8"), "utf-8")
    command = [sys.executable, "-I", "-S", str(tmp_path / "verify.py"), str(tmp_path / "b.jsonl")]
    done = subprocess.run([*command, "--key", key_of(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "nothing is wrong" in done.stdout
    other = subprocess.run([*command, "--key", "x+00+AA=="], capture_output=True, text=True, check=False)
    assert other.returncode == verifier.CODES["key_unknown"]
    (tmp_path / "b.jsonl").write_text("{}", "utf-8")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize(
    ("code", "statement"),
    [
        ("run_missing", "DELETE FROM run WHERE id = (SELECT max(id) FROM run)"),
        ("chain_truncated", "DELETE FROM event WHERE run = 1 AND seq = (SELECT max(seq) FROM event WHERE run = 1)"),
        ("ledger_gap", "DELETE FROM ledger_leaf WHERE number = 1"),
        ("ledger_truncated", "DELETE FROM ledger_leaf WHERE number = 2"),
        ("ledger_truncated", "DELETE FROM ledger_checkpoint WHERE number = 2"),
        ("checkpoint_fork", "UPDATE ledger_leaf SET seq = seq + 1 WHERE number = 0"),
        ("checkpoint_fork", "UPDATE ledger_checkpoint SET body = replace(body, 'runs 1', 'runs 3')"),
    ],
)
def test_the_database_is_compared_with_its_checkpoints(
    folder: Path, tmp_path: Path, store: Stores, code: str, statement: str
) -> None:
    copy = store.copy(folder, tmp_path / "data")
    shutil.copytree(folder.with_name("data-checkpoints"), tmp_path / "data-checkpoints")
    tamper(copy, statement)
    with open_verifier(Settings(copy)) as v:
        assert code in {f.code for f in v.findings()}


def test_what_was_kept_elsewhere_shows_a_shorter_history(folder: Path, lines: list[str]) -> None:
    """The whole chain of the last run is cut off consistently, by somebody who has the signing key."""
    notes = [json.loads(x)["note"] for x in lines if json.loads(x)["kind"] == "checkpoint"]
    parsed = [json.loads(x) for x in lines]
    last = [x["run"] for x in parsed if x["kind"] == "run"][-1]
    shorter = [x for x in parsed if x.get("note") != notes[-1] and x.get("run") != last]
    shorter = [x for x in shorter if x["kind"] != "leaf" or x["number"] < 1]
    first = next(x["run"] for x in parsed if x["kind"] == "run")
    cut = [json.dumps({**x, "lines": len(shorter)} if x["kind"] == "end" else x) for x in shorter]
    assert checked(cut, key_of(folder)) == set(), "nothing in the bundle itself shows it"
    assert first
    assert checked(cut, key_of(folder), tuple(notes)) == {"truncated"}


def test_keys_are_rotated_and_old_checkpoints_stay_good(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with open_office(folder, now=Clock()) as office:
        office.publish(chain("works", call("a")))
        office.until_status(office.start("works"), "succeeded")
        sealer(office).seal()
        first = key_of(folder)
        second = open_signer(Settings(folder)).rotate()
        office.until_status(office.start("works"), "succeeded")
        sealer(office).seal()
        found = list(office.signoff.queries.evidence.bundle(TENANT))
    assert checked(found, first) == set(), "the new key is signed by the old one"
    assert checked(found, second) == set()
    assert open_keyring(Settings(folder)).path.stat().st_mode & 0o077 == 0
    lied = [x for x in found if json.loads(x)["kind"] != "key" or "\\n0\\n" in x]
    lied = [json.dumps({"kind": "end", "lines": len(lied)}) if '"end"' in x else x for x in lied]
    assert checked(lied, first) == {"bad_signature"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=Clock(), slots=0) as office:
        office.running.save_person("vera", name="Vera", roles=["auditor"])
        office.running.save_person("root", name="Root", roles=["administrator"])
        yield office


def test_nothing_is_signed_on_a_database_that_lost_its_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "data"
    with open_office(folder, now=Clock(), slots=0) as office:
        office.publish(chain("asks", ask("p")))
        office.start("asks")
    tamper(folder, "DELETE FROM ledger_checkpoint")
    before = (tmp_path / "data-checkpoints" / "default.checkpoints").read_bytes()
    with open_office(folder, now=Clock(), slots=0) as office:
        office.start("asks")
    assert (tmp_path / "data-checkpoints" / "default.checkpoints").read_bytes() == before
    assert "nothing is signed until that is explained" in caplog.text


def test_exporting_needs_a_role_and_is_recorded(office: Office) -> None:
    office.publish(chain("asks", ask("p")))
    run = office.start("asks")
    with pytest.raises(Forbidden, match="export audit data"):
        office.signoff.do("export_audit", person("ada"), TENANT, run_id=run)
    office.signoff.do("export_audit", person("vera"), TENANT, run_id=run)
    rows = office.signoff.queries._reader.rows("SELECT actor, subject, outcome FROM audit WHERE action='export_audit'")
    assert rows == [("ada", run, "refused"), ("vera", run, "done")]
