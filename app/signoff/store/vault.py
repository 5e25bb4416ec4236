"""Secrets of runs: made at random, wrapped by the tenant's key; what is derived from them commits and encrypts.

From the secret of a run come the key of its commitments, the key of its pseudonyms, and the key that encrypts its
bodies. Ciphertexts begin with the byte 1, which no JSON text does.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Protocol

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from signoff.errors import NotFound, StoreFault
from signoff.store.keyring import Keyring
from signoff.store.times import from_micros

SEALED = 1
_NONCE_BYTES = 12
_KNOWN = 4096


def is_sealed(data: bytes | str | None) -> bool:
    """Whether stored bytes are a ciphertext."""
    return isinstance(data, bytes) and data[:1] == b"\x01"


class Keys(Protocol):
    """Where the tenants' keys come from."""

    def current(self, tenant: str) -> tuple[str, bytes]:
        """(id, key) for new secrets."""

    def get(self, tenant: str, key_id: str) -> bytes:
        """A key by its id."""


_INNER = bytes(x ^ 0x36 for x in range(256))
_OUTER = bytes(x ^ 0x5C for x in range(256))
_REST = bytes(32)


def keyed(key: bytes, text: bytes) -> bytes:
    """HMAC-SHA-256 under a key of 32 bytes, in half the time that `hmac.digest` takes for short texts."""
    block = key + _REST
    return sha256(block.translate(_OUTER) + sha256(block.translate(_INNER) + text).digest()).digest()


class RunCipher:
    """What one run's secret is used for."""

    __slots__ = ("_aead", "_context", "_inner", "_outer", "_pseudonyms", "secret")

    def __init__(self, tenant: str, run_id: str, secret: bytes) -> None:
        self.secret = secret
        block = keyed(secret, b"commit") + _REST
        self._inner, self._outer = block.translate(_INNER), block.translate(_OUTER)
        self._context = (tenant, run_id)
        self._pseudonyms: dict[str, str] = {}
        self._aead: AESGCM | None = None

    def event_key(self, seq: int) -> bytes:
        """The key of one event's commitment."""
        return sha256(self._outer + sha256(self._inner + b"%d" % seq).digest()).digest()

    def pseudonym(self, actor: str) -> str:
        """How `kind:id` of whoever acted stands in the chain: people by a pseudonym that is the run's own."""
        if not actor.startswith("person:"):
            return actor
        known = self._pseudonyms.get(actor)
        if known is None:
            known = "person:" + keyed(keyed(self.secret, b"actor"), actor.encode())[:12].hex()
            self._pseudonyms[actor] = known
        return known

    def seal(self, slot: str, data: bytes) -> bytes:
        """Encrypt, bound to tenant, run and slot ("event 3", "snapshot", …)."""
        nonce = os.urandom(_NONCE_BYTES)
        return b"\x01" + nonce + self._cipher().encrypt(nonce, data, self._bound(slot))

    def open(self, slot: str, data: bytes) -> bytes:
        """Decrypt.

        Raises:
            StoreFault: it was altered, or belongs to another place.
        """
        nonce, sealed = data[1 : 1 + _NONCE_BYTES], data[1 + _NONCE_BYTES :]
        try:
            return self._cipher().decrypt(nonce, sealed, self._bound(slot))
        except (InvalidTag, ValueError):
            raise StoreFault(
                f"The encrypted {slot} of run '{self._context[1]}' was altered, or moved from another place.",
                code="altered_ciphertext",
                remedy="Run `signoff verify`, and restore a backup.",
            ) from None

    def _cipher(self) -> AESGCM:
        if self._aead is None:
            self._aead = AESGCM(keyed(self.secret, b"seal"))
        return self._aead

    def _bound(self, slot: str) -> bytes:
        return orjson.dumps((*self._context, slot))


class Vault:
    """Wraps and unwraps secrets. Without keys (tests, measurements) secrets stand in the database as they are."""

    def __init__(self, keys: Keys | None = None) -> None:
        self._keys = keys

    @property
    def ring(self) -> Keyring | None:
        """The key file, where there is one."""
        return self._keys if isinstance(self._keys, Keyring) else None

    def can_open(self, key_id: str) -> bool:
        """Whether secrets wrapped by that key could be read; False where there are no keys at all."""
        return not key_id or self._keys is not None

    def wrap(self, tenant: str, run_id: str, secret: bytes) -> tuple[bytes, str]:
        """(wrapped secret, id of the key)."""
        if self._keys is None:
            return secret, ""
        key_id, key = self._keys.current(tenant)
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(key).encrypt(nonce, secret, orjson.dumps((tenant, run_id, key_id))), key_id

    def unwrap(self, tenant: str, run_id: str, wrapped: bytes, key_id: str) -> bytes:
        """The secret again.

        Raises:
            StoreFault: the key is missing, or the secret was altered.
        """
        if not key_id:
            return bytes(wrapped)
        if self._keys is None:
            raise StoreFault(
                "What is encrypted cannot be read without the key file.",
                code="key_missing",
                remedy="Name the data folder that has the keys.",
            )
        key = self._keys.get(tenant, key_id)
        nonce = bytes(wrapped[:_NONCE_BYTES])
        try:
            return AESGCM(key).decrypt(nonce, bytes(wrapped[_NONCE_BYTES:]), orjson.dumps((tenant, run_id, key_id)))
        except InvalidTag:
            raise StoreFault(
                f"The secret of run '{run_id}' was altered, or its key is another one.",
                code="altered_ciphertext",
                remedy="Put back the key file that belongs to this database.",
            ) from None


_FIND = (
    "SELECT r.tenant, r.public_id, k.secret, k.key_id, k.erased_at, k.erased_by, k.reason FROM run_key k"
    " JOIN run r ON r.id = k.run WHERE k.run=?"
)


class Bodies:
    """Reads bodies of runs, encrypted or not. `rows` runs a query and gives all its rows."""

    def __init__(self, vault: Vault, rows: Callable[[str, Iterable[Any]], list[tuple[Any, ...]]]) -> None:
        self._vault = vault
        self._rows = rows
        self._known: OrderedDict[int, RunCipher] = OrderedDict()

    def plain(self, run: int, slot: str, data: bytes | str | None) -> bytes:
        """The JSON text of a stored body; "" where it has none.

        Raises:
            NotFound: the content was erased.
            StoreFault: it cannot be decrypted.
        """
        if isinstance(data, str):  # written by somebody else's tool
            data = data.encode()
        if not data or data[0] != SEALED:
            return bytes(data or b"")
        if len(data) == 1:  # nothing is left of it: the secret is not known any more, either
            self._known.pop(run, None)
        return self._cipher(run).open(slot, bytes(data))

    def seal(self, run: int, slot: str, data: bytes) -> bytes:
        """Encrypt something that belongs to a run."""
        return self._cipher(run).seal(slot, data)

    def open_report(self, run: int, note: str | None, details: bytes | None) -> tuple[str | None, bytes | None]:
        """(note, details) of what an attempt reported, readable again."""
        if not is_sealed(details):
            return note, details
        note, value = self.load(run, "progress", details)
        return note, None if value is None else orjson.dumps(value)

    def of_tenant(self, tenant: str) -> RunCipher | None:
        """What seals things of a tenant that belong to no run; None where nothing was sealed yet."""
        found = self._rows("SELECT secret, key_id FROM tenant_key WHERE tenant=?", (tenant,))
        if not found:
            return None
        return RunCipher(tenant, "", self._vault.unwrap(tenant, "", *found[0]))

    def event_key(self, run: int, seq: int) -> bytes:
        """The key of an event's commitment, for whoever may read the event."""
        return self._cipher(run).event_key(seq)

    def load(self, run: int, slot: str, data: bytes | None) -> Any:
        """The value of a stored body; None where it has none."""
        text = self.plain(run, slot, data)
        return orjson.loads(text) if text else None

    def _cipher(self, run: int) -> RunCipher:
        known = self._known.get(run)
        if known is None:
            found = self._rows(_FIND, (run,))
            if not found:
                raise StoreFault("An encrypted body belongs to a run without a key.", code="key_missing")
            tenant, run_id, secret, key_id, *erased = found[0]
            if secret is None:
                raise content_erased(run_id, *erased)
            known = RunCipher(tenant, run_id, self._vault.unwrap(tenant, run_id, secret, key_id))
            self._known[run] = known
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return known


def content_erased(run_id: str, at: int | None, by: str | None, reason: str | None) -> NotFound:
    """What is said where somebody asks for content that is gone."""
    when = f"{from_micros(at):%Y-%m-%d %H:%M} UTC" if at else "an unknown time"
    return NotFound(
        f"The content of run '{run_id}' was erased at {when} by {by or 'somebody'}: {reason or 'no reason given'}",
        code="content_erased",
        remedy="What happened when is still proved: `signoff audit export` has it.",
    )
