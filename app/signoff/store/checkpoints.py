"""Signed notes (C2SP text form, Ed25519) and the append-only files outside of the database that hold them."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, unquote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from signoff.store.keyring import Keyring

KEY_NOTES = "keys.notes"
_TAIL_BYTES = 8192


def public_key(name: str, public: bytes) -> str:
    """A public key as text: `NAME+ID+BASE64`."""
    raw = b"\x01" + public
    return f"{name}+{key_number(name, public).hex()}+{base64.b64encode(raw).decode()}"


def key_number(name: str, public: bytes) -> bytes:
    """The four bytes that tell keys of the same name apart."""
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]


def split_notes(text: str) -> list[str]:
    """The whole notes of a file; one whose end was not written is none."""
    parts = text.split("\n\n")[:-1]
    return [f"{body}\n\n{signatures}\n" for body, signatures in zip(parts[0::2], parts[1::2], strict=False)]


def body_of(note: str) -> str:
    """What was signed."""
    return note.rpartition("\n\n")[0] + "\n"


class Signer:
    """Signs notes with the newest key of the key file; makes the first key where there is none."""

    def __init__(self, keyring: Keyring, folder: Path, now: Callable[[], datetime]) -> None:
        self._keyring = keyring
        self._folder = folder
        self._now = now

    @property
    def name(self) -> str:
        """The installation's name in the notes."""
        return self._keys()[0]["name"]

    def public_keys(self) -> list[str]:
        """All public keys as text, oldest first."""
        return [k["public"] for k in self._keys()]

    def sign(self, body: str) -> str:
        """A note signed with the newest key."""
        return f"{body}\n{self._line(self._keys()[-1], body)}"

    def fits(self, note: str) -> bool:
        """Whether a note was signed by a key of this installation."""
        lines = note.rpartition("\n\n")[2].strip("\n").split("\n")
        return any(_line_fits(line, k, body_of(note)) for line in lines for k in self.public_keys())

    @property
    def ring(self) -> Keyring:
        """The key file."""
        return self._keyring

    def rotate(self) -> str:
        """Sign with a new key from now on; its note is signed by the old key and by itself. Returns the public key."""
        old, now = self._keys(), self._now()
        added = self._make(old[0]["name"], now)
        added["note"] = self._note(len(old), added, [old[-1], added], now)
        self._keyring.add_signing(added)
        self._keys()
        return added["public"]

    def retire(self) -> int:
        """Destroy all private keys but the newest; returns how many. What they signed stays good."""
        self._keys()
        return self._keyring.retire_signing(split_notes(_text(self._folder / KEY_NOTES)))

    def _keys(self) -> list[dict[str, str]]:
        """All keys; whatever is missing at the end of the file of their notes is there afterwards."""
        found = self._keyring.signing()
        if not found:
            first = self._make(f"signoff-{os.urandom(4).hex()}", self._now())
            self._keyring.add_signing(first)
            found = self._keyring.signing()
        for number in range(len(split_notes(_text(self._folder / KEY_NOTES))), len(found)):
            key, by = found[number], found[max(0, number - 1) : number + 1]
            note = key.get("note") or self._note(number, key, by, datetime.fromisoformat(key["at"]))
            append(self._folder / KEY_NOTES, note + "\n")
        return found

    def _make(self, name: str, now: datetime) -> dict[str, str]:
        private = Ed25519PrivateKey.generate()
        raw = base64.b64encode(private.private_bytes_raw()).decode()
        public = public_key(name, private.public_key().public_bytes_raw())
        return {"name": name, "private": raw, "public": public, "at": now.isoformat()}

    def _note(self, number: int, key: dict[str, str], by: list[dict[str, str]], now: datetime) -> str:
        body = f"signoff key\n{number}\n{key['public']}\ntime {now.isoformat()}\n"
        return f"{body}\n{''.join(self._line(k, body) for k in by)}"

    def _line(self, key: dict[str, str], body: str) -> str:
        private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["private"]))
        number = key_number(key["name"], private.public_key().public_bytes_raw())
        return f"— {key['name']} {base64.b64encode(number + private.sign(body.encode())).decode()}\n"


def _line_fits(line: str, key: str, body: str) -> bool:
    name, _, data = key.split("+", 2)
    public = base64.b64decode(data)[1:]
    try:
        raw = base64.b64decode(line.removeprefix(f"— {name} "), validate=True)
        if raw[:4] != key_number(name, public):
            return False
        Ed25519PublicKey.from_public_bytes(public).verify(raw[4:], body.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


class CheckpointFiles:
    """One file per tenant, only ever appended to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, tenant: str) -> Path:
        """Where a tenant's checkpoints stand."""
        return self.folder / f"{quote(tenant, safe='')}.checkpoints"

    def tenants(self) -> list[str]:
        """Tenants that have a file."""
        return sorted(unquote(p.stem) for p in self.folder.glob("*.checkpoints"))

    def notes(self, tenant: str) -> list[str]:
        """All checkpoints of a tenant, oldest first."""
        return split_notes(_text(self.path(tenant)))

    def key_notes(self) -> list[str]:
        """The notes of the keys, oldest first."""
        return split_notes(_text(self.folder / KEY_NOTES))

    def add(self, tenant: str, note: str) -> None:
        """Append a checkpoint; it is on the disk when this returns."""
        append(self.path(tenant), note + "\n")


def append(path: Path, text: str) -> None:
    """Append to a file and wait for the disk; a part that an earlier crash left behind is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _TAIL_BYTES))
        tail = file.read()
        last = tail.rstrip(b"\n").rpartition(b"\n")[2]
        if tail and not (tail.endswith(b"\n\n") and last.startswith("— ".encode())):
            file.truncate(len("".join(n + "\n" for n in split_notes(_text(path))).encode()))
        file.seek(0, os.SEEK_END)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
