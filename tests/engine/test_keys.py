"""New keys: who may ask for them, what is written anew, and what happens where it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.errors import InvalidInput, SignoffError
from signoff.interchange.verifier import Bundle
from signoff.runtime.keeper import Keeper
from signoff.store import ledger
from signoff.store.reads.reader import Reader
from signoff.wiring import Settings, open_keyring, open_signer, open_vault, open_verifier
from tests.engine.office import TENANT, Clock, Office, ask, chain, open_office, person
from tests.store.test_checkpoints import sealer

RESTED = {"slots": 0, "services": False}
SECRET = [{"name": "n", "sensitive": True}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five sensitive runs, sealed."""
    with open_office(tmp_path / "data", now=Clock(), slots=0) as office:
        office.running.save_person("root", roles=["administrator"])
        office.publish(chain("asks", ask("p"), input=SECRET))
        for _ in range(5):
            office.start("asks", n="Zebra")
        sealer(office).seal()
    return tmp_path / "data"


@pytest.fixture
def office(folder: Path) -> Iterator[Office]:
    with open_office(folder, now=Clock(), **RESTED) as office:
        yield office


def keeper(office: Office) -> Keeper:
    settings = Settings(office.folder)
    reader = Reader(office.running.reader, open_vault(settings))
    return Keeper(reader, office.running.writer, open_signer(settings, Clock()))


def wish(office: Office, what: str, by: str = "root", channel: str = "cli") -> None:
    office.signoff.do("rotate_keys", person(by, channel), TENANT, what=what, reason="yearly")


def states(office: Office, what: str) -> list[str]:
    return [k.state for k in office.signoff.queries.keys.listed(TENANT) if k.what == what]


def assert_good(office: Office) -> None:
    with open_verifier(Settings(office.folder)) as v:
        assert list(v.findings()) == []
    for key in open_signer(Settings(office.folder)).public_keys():
        assert Bundle(key).read(office.signoff.queries.evidence.bundle(TENANT)) == []
    assert all(
        office.view(r.run_id).state.input == {"n": "Zebra"} for r in office.signoff.queries.list_runs(TENANT).items
    )


def test_an_administrator_who_has_just_proved_it_asks(office: Office) -> None:
    for channel in ("rest", "browser"):
        with pytest.raises(SignoffError, match="give your password again"):
            wish(office, "tenant", channel=channel)
    with pytest.raises(SignoffError, match="takes the role administrator"):
        wish(office, "tenant", by="katherine")
    do, root = office.signoff.do, person("root", "rest")
    office.running.save_person("root", roles=None, groups=None, password="right horse")
    with pytest.raises(SignoffError, match="password is wrong"):
        do("rotate_keys", root, TENANT, what="tenant", reason="yearly", password="wrong")
    with pytest.raises(InvalidInput, match="reason"):
        do("rotate_keys", root, TENANT, what="tenant", reason=" ", password="right horse")
    with pytest.raises(InvalidInput, match="no kind of key"):
        do("rotate_keys", root, TENANT, what="every", reason="x", password="right horse")
    do("rotate_keys", root, TENANT, what="tenant", reason="yearly", password="right horse")
    again = do("rotate_keys", root, TENANT, what="tenant", reason="yearly", password="right horse")
    assert again == {"what": "tenant", "created": False}
    assert office.signoff.queries.keys.under_way(TENANT) == ["tenant"]
    with pytest.raises(SignoffError, match="may not send"):
        do("rotation_done", root, TENANT, what="tenant", told="x")


def test_old_keys_are_gone_and_old_data_stays_readable(office: Office) -> None:
    for _ in range(2):
        for what in ("tenant", "signing"):
            wish(office, what)
        assert keeper(office).work(bool) == 2
        assert_good(office)
    assert office.signoff.queries.keys.under_way(TENANT) == []
    assert states(office, "tenant") == states(office, "signing") == ["current", "retired", "retired"]
    ring = open_keyring(Settings(office.folder))
    assert [bool(k["private"]) for k in ring.signing()] == [False, False, True]
    found = office.signoff.queries.keys.listed(TENANT)
    assert found[0].used_by == 5
    assert {k.id for k in found if k.what == "tenant" and k.state == "retired"} & set(ring._content["tenants"]) == set()
    rows = office.running.signoff.queries._reader.rows("SELECT action FROM audit")
    assert sum(r[0] == "rotate_keys" for r in rows) == 4
    assert sum(r[0] == "rotation_done" for r in rows) == 4


@pytest.mark.parametrize("at", range(5))
def test_what_is_interrupted_is_gone_on_with(folder: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Stopped before the first, second, … run is wrapped anew; then another engine comes."""
    monkeypatch.setattr(ledger, "REWRAPPED", 1)
    with open_office(folder, now=Clock(), **RESTED) as office:
        wish(office, "tenant")
        looked = iter(range(100))
        assert keeper(office).work(lambda: next(looked) >= at) == 0
        assert office.signoff.queries.keys.under_way(TENANT) == ["tenant"]
        assert states(office, "tenant") == ["current", "replaced"]
        assert_good(office)
    with open_office(folder, now=Clock(), **RESTED) as office:
        office.start("asks", n="Zebra")
        assert keeper(office).work(bool) == 1
        assert states(office, "tenant") == ["current", "retired"]
        assert_good(office)


def test_a_signing_key_whose_note_was_not_written_gets_it(office: Office) -> None:
    notes = office.folder.with_name("data-checkpoints") / "keys.notes"
    before = notes.read_bytes()
    wish(office, "signing")
    signer = open_signer(Settings(office.folder), Clock())
    second = signer.rotate()
    whole = notes.read_bytes()
    notes.write_bytes(before)  # killed before the note was written
    assert keeper(office).work(bool) == 1
    for end in range(len(before), len(whole)):  # or while it was
        notes.write_bytes(whole[:end])
        assert open_signer(Settings(office.folder)).public_keys()[-1] == second
        assert notes.read_bytes() == whole
    assert_good(office)
