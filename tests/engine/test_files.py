"""Contents of files at rest: encrypted each with a key of its own, gone with the secret of their run, checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotFound, SignoffError, StoreFault
from signoff.store.blobs import PIECE_BYTES, place_of, read_blob
from signoff.store.files import FileStore, folder_of
from signoff.store.tables import metadata
from signoff.wiring import Settings, open_keyring, open_verifier
from tests.engine.office import TENANT, Clock, Office, ask, chain, open_office, person
from tests.store.test_checkpoints import sealer
from tests.stores import raw_database, tamper

TEXT = b"Zebra-4711-Quagga " * 20_000
DIGEST = f"sha256:{hashlib.sha256(TEXT).hexdigest()}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock) as office:
        office.running.save_person("root", roles=["administrator"])
        office.publish(chain("buy", ask("p"), input=[{"name": "offer", "type": "file"}]))
        yield office


def upload(office: Office, text: bytes = TEXT) -> dict[str, Any]:
    kept = office.signoff.queries.files.add(TENANT, [text])
    return office.signoff.add_file(person("ada"), TENANT, kept, "offer.txt", "text/plain")


def started(office: Office, file: dict[str, Any] | None = None) -> str:
    return office.start("buy", offer=file or upload(office))


def fetched(office: Office, login: str = "grace") -> bytes:
    who = next(p for p in office.signoff.queries.list_people(TENANT) if p.login == login)
    return b"".join(office.signoff.queries.get_file(who, DIGEST, "offer.txt").chunks)


def contents(office: Office) -> list[Path]:
    return sorted(p for p in (office.folder / "files").rglob("*") if p.is_file())


def findings(office: Office) -> set[str]:
    with open_verifier(Settings(office.folder)) as v:
        return {f.code for f in v.findings()}


def end(office: Office, run: str) -> None:
    office.decide(run, "p", "grace")
    office.until_status(run, "succeeded")


def test_nothing_at_rest_tells_what_a_file_says_or_that_two_are_equal(office: Office) -> None:
    office.publish(chain("hide", ask("p"), input=[{"name": "offer", "type": "file"}, {"name": "n", "sensitive": True}]))
    for _ in range(2):
        run = office.start("hide", offer=upload(office), n="x")
        office.until_step(run, "p", "waiting")
    assert fetched(office) == TEXT
    first, second = (p.read_bytes() for p in contents(office))
    assert len(first) == len(second)
    assert first != second
    assert not any(part in text for text in (first, second) for part in (b"Zebra", DIGEST[7:].encode()))
    assert DIGEST[7:] not in str([p.name for p in contents(office)])
    db = raw_database(office.folder)
    for table in metadata.tables:
        for row in db.execute(f"SELECT * FROM {table}", ()).fetchall():
            assert DIGEST[7:] not in str(row), f"{table} has the digest of the plain content"
    db.close()
    assert findings(office) == set()


def test_with_its_run_a_file_is_gone_at_once(office: Office, clock: Clock) -> None:
    file = upload(office)
    run, other = started(office, file), started(office, file)
    own = started(office)
    for each in (run, own):
        end(office, each)
    for each in (run, own):
        office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=each, reason="asked for")
    assert fetched(office) == TEXT, "the run that was given the same upload has it still, under its own secret"
    with pytest.raises(SignoffError, match="not uploaded by you"):  # the uploads that waited go as well
        started(office, file)
    end(office, other)
    sealer(office).seal()
    office.signoff.do("set_retention", person("root", "cli"), TENANT, retention={"days": 1}, reason="x")
    clock.move(days=2)
    sealer(office).prune()
    with pytest.raises(NotFound):
        fetched(office)
    db = raw_database(office.folder)
    assert db.execute("SELECT count(*) FROM attachment", ()).fetchone() == (0,)
    db.close()
    assert findings(office) == set()


def test_a_child_has_the_file_under_its_own_secret(office: Office) -> None:
    office.publish(chain("part", ask("q"), input=[{"name": "doc", "type": "file"}]))
    sub = {"id": "sub", "kind": "subflow", "definition": "part", "input": {"doc": "=input.offer"}}
    office.publish(chain("whole", sub, input=[{"name": "offer", "type": "file"}]))
    run = office.start("whole", offer=upload(office))
    child = office.until(run, lambda v: bool(v.state.steps["sub"].child)).state.steps["sub"].child
    office.until_step(child, "q", "waiting")
    assert fetched(office) == TEXT
    assert findings(office) == set()
    office.decide(child, "q", "grace")
    office.until_status(run, "succeeded")
    office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=run, reason="asked for")
    with pytest.raises(NotFound):
        fetched(office)


def test_keys_that_are_rotated_open_uploads_and_files(office: Office) -> None:
    run, waiting = started(office), upload(office)
    keys = open_keyring(Settings(office.folder))
    made = keys.rotate(TENANT)
    while office.signoff.do("rewrap_keys", person("root"), TENANT, key_id=made)["left"]:
        pass
    keys.drop_old(TENANT)
    assert fetched(office) == TEXT
    end(office, run)
    started(office, waiting)
    assert findings(office) == set()


def test_plain_files_of_an_older_release_stay_readable(office: Office) -> None:
    run = started(office)
    office.until_step(run, "p", "waiting")
    (path,) = contents(office)
    path.unlink()
    old = place_of(office.folder / "files" / folder_of(TENANT), DIGEST[7:])
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(TEXT)
    tamper(office.folder, "UPDATE attachment SET digest=?, blob='', sealed=NULL", DIGEST)
    assert fetched(office) == TEXT
    assert findings(office) == set()
    end(office, run)
    run = started(office, {"file": DIGEST, "name": "offer.txt", "size": len(TEXT), "type": "text/plain"})
    assert findings(office) == set()
    old.write_bytes(TEXT + b"!")
    assert findings(office) == {"file_altered"}
    old.unlink()
    assert findings(office) == {"file_missing"}


def test_verify_finds_files_that_were_changed(office: Office) -> None:
    for text in (TEXT, b"another"):
        started(office, upload(office, text))
    honest = {p: p.read_bytes() for p in sorted(contents(office), key=lambda p: -p.stat().st_size)}
    (first, a), (second, b) = honest.items()
    lies: list[dict[Path, bytes]] = [{first: a[:-1]}, {first: a[:4]}, {first: b""}, {first: b, second: a}]
    lies += [{first: a[:40] + bytes([a[40] ^ 1]) + a[41:]}, {first: b"SGN2" + a[4:]}, {first: a + b"x"}]
    for lie in lies:
        for path, text in lie.items():
            path.write_bytes(text)
        assert findings(office) == {"file_altered"}, [x[:8] for x in lie.values()]
        for path in lie:
            path.write_bytes(honest[path])
    second.unlink()
    assert findings(office) == {"file_missing"}


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_pieces_come_back_as_they_went_in(tmp_path: Path, size: int) -> None:
    text, store = os.urandom(size), FileStore(tmp_path)
    kept = store.add("t", (text[i : i + 1000] for i in range(0, size, 1000)))
    assert (kept.size, kept.digest) == (size, f"sha256:{hashlib.sha256(text).hexdigest()}")
    assert b"".join(store.read("t", kept.digest, kept.name, kept.key)) == text
    path = place_of(tmp_path / folder_of("t"), kept.name)
    stored = path.read_bytes()
    pieces = [stored[i : i + PIECE_BYTES + 16] for i in range(4, len(stored), PIECE_BYTES + 16)]
    for wrong in (pieces[:-1], pieces[1:], pieces[::-1], [*pieces, pieces[-1]]):
        if wrong != pieces:
            path.write_bytes(b"SGN1" + b"".join(wrong))
            with pytest.raises(StoreFault):
                list(read_blob(path, folder_of("t"), kept.key))
    path.write_bytes(stored)
    with pytest.raises(StoreFault):
        list(read_blob(path, folder_of("u"), kept.key))
