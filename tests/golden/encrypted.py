"""Golden histories as an encrypted database holds them, with fixed keys: ``python -m tests.golden.encrypted``.

A line with tenant, run, wrapped secret, a line per event with ciphertext and proof, a line with the encrypted snapshot.
The module writes what is missing beside the plain histories; what is there is never written over, and replayed for
ever.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from signoff.core.codec import decode_event
from signoff.store.ledger import RunChain, actor_of
from signoff.store.times import to_micros
from signoff.store.vault import RunCipher, Vault
from tests.golden.files import FILES, HISTORIES

ENCRYPTED = HISTORIES.with_name("encrypted")
TENANT_KEY = hashlib.sha256(b"the tenant's key of the golden histories").digest()


class FixedKeys:
    """A key file that never changes."""

    def current(self, tenant: str) -> tuple[str, bytes]:
        return "golden", TENANT_KEY

    def get(self, tenant: str, key_id: str) -> bytes:
        assert key_id == "golden"
        return TENANT_KEY


VAULT = Vault(FixedKeys())


def lines_of(plain: Path) -> list[dict[str, Any]]:
    """The lines of the encrypted file of a plain one."""
    _, *events, last = (json.loads(line) for line in plain.read_text("utf-8").splitlines())
    started = events[0]["data"]
    tenant, run = str(started["tenant"]), str(started["run_id"])
    secret = hashlib.sha256(f"secret of {plain.stem}".encode()).digest()
    wrapped, key_id = VAULT.wrap(tenant, run, secret)
    chain = RunChain(tenant, run, RunCipher(tenant, run, secret), sealed=True)
    lines: list[dict[str, Any]] = [{"tenant": tenant, "run": run, "key_id": key_id, "secret": _text(wrapped)}]
    for x in events:
        at = datetime.fromisoformat(x["at"])
        body = orjson.dumps(x["data"]) if x["data"] else b""
        who = actor_of(decode_event(x["type"], x["version"], at, x["step"], x["data"]))
        proof = chain.add(x["sequence"], x["type"], x["version"], x["step"], to_micros(at), who, body)
        sealed = _text(chain.cipher.seal(f"event {x['sequence']}", body)) if body else ""
        lines.append(
            {
                "sequence": x["sequence"], "type": x["type"], "version": x["version"], "step": x["step"],
                "at": to_micros(at), "actor": proof[0], "commitment": proof[1].hex(), "hash": proof[2].hex(),
                "data": sealed,
            }
        )  # fmt: skip
    lines.append({"snapshot": _text(chain.cipher.seal("snapshot", orjson.dumps(last["snapshot"])))})
    return lines


def encrypt(name: str) -> bool:
    """Write the encrypted file of a plain history; False where it is there already."""
    path = ENCRYPTED / f"{name}.jsonl"
    if path.exists():
        return False
    path.parent.mkdir(exist_ok=True)
    lines = lines_of(HISTORIES / f"{name}.jsonl")
    path.write_text("".join(json.dumps(x, sort_keys=True) + "\n" for x in lines), "utf-8")
    return True


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    print(*(p.stem for p in FILES if encrypt(p.stem)), sep="\n")
    sys.exit(0)
