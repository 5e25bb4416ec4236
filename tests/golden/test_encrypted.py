"""Encrypted golden histories: they open with their key, are what the plain ones are, and their chains hold."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path

import orjson
import pytest

from signoff.core.codec import decode_event, encode_snapshot
from signoff.core.history import replay_history
from signoff.errors import StoreFault
from signoff.store.times import from_micros
from signoff.store.vault import RunCipher
from tests.golden.encrypted import ENCRYPTED, VAULT
from tests.golden.files import HISTORIES, read_history

FILES = sorted(ENCRYPTED.glob("*.jsonl"))


def test_there_are_encrypted_histories() -> None:
    assert len(FILES) >= 40


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_it_replays_as_the_plain_one(path: Path) -> None:
    head, *stored, last = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    tenant, run = head["tenant"], head["run"]
    cipher = RunCipher(tenant, run, VAULT.unwrap(tenant, run, base64.b64decode(head["secret"]), head["key_id"]))
    plain = read_history(HISTORIES / path.name)
    events, previous = [], "0" * 64
    for x in stored:
        seq, data = x["sequence"], base64.b64decode(x["data"])
        body = cipher.open(f"event {seq}", data) if data else b""
        events.append(
            decode_event(x["type"], x["version"], from_micros(x["at"]), x["step"], orjson.loads(body or b"{}"))
        )
        commitment = hmac.digest(cipher.event_key(seq), body, "sha256").hex()
        assert commitment == x["commitment"]
        parts = (tenant, run, seq, x["type"], x["version"], x["step"], x["at"], x["actor"], commitment, previous)
        previous = hashlib.sha256(b"\x00" + orjson.dumps(parts)).hexdigest()
        assert previous == x["hash"]
        if data:
            with pytest.raises(StoreFault):
                cipher.open(f"event {seq + 1}", data)
    assert events == plain.events
    snapshot = orjson.loads(cipher.open("snapshot", base64.b64decode(last["snapshot"])))
    assert snapshot == plain.snapshot
    assert encode_snapshot(replay_history(plain.plans.__getitem__, events).state) == snapshot
