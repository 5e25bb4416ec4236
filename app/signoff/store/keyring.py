"""Keys that are not in the database: one file, readable by its owner only.

`{"tenants": {tenant: {"current": id, "keys": {id: base64}}}, "signing": [{"name", "private", "public", "at"}]}`

Beside its keys a tenant has `made` and `retired`, the times of each by id; a signing key has its signed `note`,
and when it is retired an empty `private` and the time.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from signoff.errors import StoreFault

KEY_BYTES = 32


class Keyring:
    """The tenants' keys, which wrap the secrets of runs, and the keys that sign checkpoints. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._content: dict[str, Any] = {"tenants": {}, "signing": []}
        self._read_at: tuple[int, int, int] | None = None

    def current(self, tenant: str) -> tuple[str, bytes]:
        """(id, key) that new secrets are wrapped with; made on a tenant's first use."""
        with self._lock:
            self._refresh()
            if tenant not in self._content["tenants"]:
                self._change(lambda content: _add_key(content, tenant))
            own = self._content["tenants"][tenant]
            return own["current"], base64.b64decode(own["keys"][own["current"]])

    def get(self, tenant: str, key_id: str) -> bytes:
        """A key by its id.

        Raises:
            StoreFault: it is not in the file.
        """
        with self._lock:
            self._refresh()
            found = self._content["tenants"].get(tenant, {}).get("keys", {}).get(key_id)
        if found is None:
            raise StoreFault(
                f"The key '{key_id}' of '{tenant}' is not in '{self.path}', so what it protects cannot be read.",
                code="key_missing",
                remedy="Put back the key file that belongs to this database.",
            )
        return base64.b64decode(found)

    def rotate(self, tenant: str) -> str:
        """Make a new current key of a tenant; returns its id. The old ones stay until they are dropped."""
        with self._lock:
            self._change(lambda content: _add_key(content, tenant))
            return str(self._content["tenants"][tenant]["current"])

    def drop_old(self, tenant: str) -> int:
        """Forget all keys of a tenant but the current one; returns how many."""
        with self._lock:
            self._refresh()
            old = [k for k in self._content["tenants"][tenant]["keys"] if k != self._current_id(tenant)]

            def drop(content: dict[str, Any]) -> None:
                for key in old:
                    content["tenants"][tenant]["keys"].pop(key, None)
                    content["tenants"][tenant].setdefault("retired", {})[key] = _now()

            self._change(drop)
            return len(old)

    def signing(self) -> list[dict[str, str]]:
        """The keys that sign checkpoints, oldest first; the last one signs."""
        with self._lock:
            self._refresh()
            return list(self._content["signing"])

    def add_signing(self, key: dict[str, str]) -> None:
        """Sign with this key from now on."""
        with self._lock:
            self._change(lambda content: content["signing"].append(key))

    def retire_signing(self, notes: list[str]) -> int:
        """Destroy all private signing keys but the newest; returns how many. `notes` are those of all keys."""

        def retire(content: dict[str, Any]) -> None:
            for key, note in zip(content["signing"], notes, strict=False):
                key.setdefault("note", note)
            for key in content["signing"][:-1]:
                if key["private"]:
                    key.update(private="", retired=_now())

        with self._lock:
            self._refresh()
            count = sum(bool(k["private"]) for k in self._content["signing"][:-1])
            self._change(retire)
            return count

    def listed(self, tenant: str) -> list[dict[str, str]]:
        """{"id", "state", "made", "retired"} of a tenant's keys, also those that were destroyed; oldest first."""
        with self._lock:
            self._refresh()
            own = self._content["tenants"].get(tenant, {"current": "", "keys": {}})
        made, retired = own.get("made", {}), own.get("retired", {})
        found = []
        for key in [*retired, *own["keys"]]:
            state = "retired" if key in retired else "current" if key == own["current"] else "replaced"
            found.append({"id": key, "state": state, "made": made.get(key, ""), "retired": retired.get(key, "")})
        return found

    def _current_id(self, tenant: str) -> str:
        return str(self._content["tenants"][tenant]["current"])

    def _refresh(self) -> None:
        """Read the file again where another process changed it."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if stamp != self._read_at:
            self._content = json.loads(self.path.read_text("utf-8"))
            self._read_at = stamp

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        with _locked(self.path.with_suffix(".lock")):
            self._read_at = None
            self._refresh()
            change(self._content)
            temporary = self.path.with_suffix(".new")
            temporary.unlink(missing_ok=True)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(self._content, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            self._read_at = None
            self._refresh()


def _add_key(content: dict[str, Any], tenant: str) -> None:
    own = content["tenants"].setdefault(tenant, {"current": "", "keys": {}})
    count = len(own["keys"]) + len(own.get("retired", {}))
    own["current"] = f"k{count + 1}-{os.urandom(4).hex()}"
    own.setdefault("made", {})[own["current"]] = _now()
    own["keys"][own["current"]] = base64.b64encode(os.urandom(KEY_BYTES)).decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
