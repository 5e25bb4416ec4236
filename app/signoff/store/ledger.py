"""The hash chain of each run, written with its events by the one writer.

    commitment(n) = HMAC-SHA-256(k(n), body)          k(n) = HMAC-SHA-256(HMAC-SHA-256(secret, "commit"), n)
    hash(n) = SHA-256(0x00 ‖ JSON [tenant, run, n, type, version, step, at, actor, commitment, hash(n - 1)])

`body` is the JSON text as the engine wrote it ("" where an event has none), `at` microseconds since 1970 UTC, both
hashes in hex, and hash(0) 64 zeros. A commitment says nothing about the body to whoever lacks the secret, so that a
body can be erased and the chain still verified.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from signoff.core.codec import decode_event
from signoff.core.events import Event
from signoff.errors import InvalidInput
from signoff.store.bodies import INLINE_BYTES, load
from signoff.store.files import forget_waiting, slot_of
from signoff.store.keyring import KEY_BYTES
from signoff.store.resealing import seal_earlier
from signoff.store.times import from_micros
from signoff.store.vault import RunCipher, Vault, content_erased, keyed

if TYPE_CHECKING:
    from signoff.core.states import RunState
    from signoff.store.journal import Journal
    from signoff.store.rows import Rows, RunKey

ZERO = "0" * 64
ERASED_KIND = "content_erased"
WITHHELD = "The message is encrypted; the run shows it."
REWRAPPED = 500
"""So many secrets are wrapped anew in one commit."""
GONE = b"\x01"
"""Stands where a body was erased: like a ciphertext, but of a run that has no secret any more."""
_FIND = "SELECT secret, key_id, sealed, erased_at, erased_by, reason FROM run_key WHERE run=?"
INSERT_KEY = "INSERT INTO run_key(run, secret, key_id, sealed, adopted) VALUES (?,?,?,?,?)"
_HEAD = "SELECT hash FROM event WHERE run=? AND seq=?"
_OLD = (
    "SELECT e.id, e.type, e.version, e.at, e.step, coalesce(e.data, p.data), e.seq FROM event e"
    " LEFT JOIN payload p ON p.id = e.payload_id WHERE e.run=? AND e.seq > ? ORDER BY e.seq LIMIT 500"
)
_ADOPT = "UPDATE event SET actor=?, commitment=?, hash=? WHERE id=?"


def actor_of(event: Event) -> str:
    """`kind:id` of who or what did it, as the chain names it."""
    actor = getattr(event, "actor", None)
    if actor is not None:
        return f"{actor.kind}:{actor.id}"
    worker = getattr(event, "worker", "")
    return f"worker:{worker}" if worker else "system:engine"


def link(
    tenant: str,
    run_id: str,
    seq: int,
    kind: str,
    version: int,
    step: str,
    at: int,
    actor: str,
    body: bytes,
    previous: str,
) -> bytes:
    """One hash of the chain; `body` is the commitment."""
    text = orjson.dumps((tenant, run_id, seq, kind, version, step, at, actor, body.hex(), previous))
    return hashlib.sha256(b"\x00" + text).digest()


@dataclass(frozen=True, slots=True)
class Erasure:
    """Who erases the content of a run, when (microseconds) and why."""

    at: int
    by: str
    reason: str


@dataclass(slots=True)
class RunChain:
    """Where the chain of a run stands. `sealed` runs have their bodies encrypted."""

    tenant: str
    run_id: str
    cipher: RunCipher
    sealed: bool
    head: str = ZERO

    def add(
        self, seq: int, kind: str, version: int, step: str, at: int, actor: str, body: bytes
    ) -> tuple[str, bytes, bytes]:
        """(pseudonym, commitment, hash) of the next event."""
        commitment = keyed(self.cipher.event_key(seq), body)
        shown = self.cipher.pseudonym(actor)
        digest = link(self.tenant, self.run_id, seq, kind, version, step, at, shown, commitment, self.head)
        self.head = digest.hex()
        return shown, commitment, digest


class Ledger:
    """Chains what a transaction is about to write. Belongs to the writer's journal."""

    def __init__(self, journal: Journal, vault: Vault) -> None:
        self._journal = journal
        self._vault = vault
        self._new_keys: list[tuple[Any, ...]] = []

    def chain(self, rows: Rows) -> list[tuple[Any, ...]]:
        """Give every new event its commitment and hash, encrypt sealed runs; returns rows of new keys."""
        self._new_keys = []
        chains = {pk: self._chain_of(run, state, rows) for pk, (run, state, _) in rows.runs.items()}
        written = []
        for pk, seq, kind, version, step, at, body, actor in rows.events:
            chain = chains[pk]
            proof = chain.add(seq, kind, version, step, at, actor, body or b"")
            if body is not None and chain.sealed and not (pk in rows.erased and kind == "evidence.recorded"):
                body = chain.cipher.seal(f"event {seq}", body)
            payload_id = None
            if body is not None and len(body) > INLINE_BYTES:
                payload_id = rows.next_payload()
                rows.payloads.append((payload_id, body))
                body = None
            written.append((pk, seq, kind, version, step, at, body, payload_id, *proof))
        rows.events = written
        for pk, blob, secret in rows.file_secrets:
            if pk in chains:
                sealed = chains[pk].cipher.seal(slot_of(blob), secret.dump())
                self._journal.write("UPDATE attachment SET sealed=? WHERE run=? AND blob=?", (sealed, pk, blob))
        if not any(chain.sealed for chain in chains.values()):
            return self._new_keys
        rows.outbox = [
            (tenant, pk, topic, step, chains[pk].cipher.seal("notice", data) if chains[pk].sealed else data, at)
            for tenant, pk, topic, step, data, at in rows.outbox
        ]
        for key, letter in rows.dead_new.items():
            if chains[key[0]].sealed:  # a message of a connector may hold anything
                rows.dead_new[key] = (*letter[:5], WITHHELD, *letter[6:])
        for pk, _, kind, *_ in written:
            if kind == "signal.received" and chains[pk].sealed:  # the event has the payload, encrypted
                self._journal.write("UPDATE signal_message SET payload='{}', note='' WHERE run=?", (pk,))
        return self._new_keys

    def _chain_of(self, run: RunKey, state: RunState, rows: Rows) -> RunChain:
        if run.chain is None:
            run.chain = self._begin(run, state) if run.stored_sequence == 0 else self._find(run, state)
        if run.sensitive and not run.chain.sealed:
            run.chain.sealed = True
            self._journal.write("UPDATE run_key SET sealed=1 WHERE run=?", (run.pk,))
            seal_earlier(self._journal, run.pk, run.chain.cipher, WITHHELD)
            rows.resealed = True
        return run.chain

    def _begin(self, run: RunKey, state: RunState, adopted: int = 0) -> RunChain:
        secret = os.urandom(KEY_BYTES)
        wrapped, key_id = self._vault.wrap(state.tenant, state.run_id, secret)
        self._new_keys.append((run.pk, wrapped, key_id, int(run.sensitive), adopted))
        return RunChain(state.tenant, state.run_id, RunCipher(state.tenant, state.run_id, secret), run.sensitive)

    def _find(self, run: RunKey, state: RunState) -> RunChain:
        found = self._journal.rows(_FIND, (run.pk,))
        if not found:
            chain = self._begin(run, state, run.stored_sequence)
            self._adopt(run.pk, chain)
            return chain
        wrapped, key_id, sealed, *erased = found[0]
        if wrapped is None:
            raise content_erased(state.run_id, *erased)
        secret = self._vault.unwrap(state.tenant, state.run_id, wrapped, key_id)
        head = self._journal.rows(_HEAD, (run.pk, run.stored_sequence))
        chain = RunChain(state.tenant, state.run_id, RunCipher(state.tenant, state.run_id, secret), bool(sealed))
        chain.head = bytes(head[0][0]).hex() if head and head[0][0] is not None else ZERO
        return chain

    def _adopt(self, pk: int, chain: RunChain) -> None:
        """Chain the events of a run that was written before there were chains."""
        after = 0
        while page := self._journal.rows(_OLD, (pk, after)):
            for key, kind, version, at, step, body, seq in page:
                event = decode_event(kind, version, from_micros(at), step, load(body) or {})
                proof = chain.add(seq, kind, version, step, at, actor_of(event), bytes(body or b""))
                self._journal.write(_ADOPT, (*proof, key))
            after = page[-1][6]

    def erase(self, pk: int, run: RunKey, state: RunState, erasure: Erasure) -> None:
        """Destroy the secret of a run and every body but the one of its last event, which says who did it."""
        assert run.chain is not None
        write, last = self._journal.write, state.sequence
        write("DELETE FROM payload WHERE id IN (SELECT payload_id FROM event WHERE run=? AND seq < ?)", (pk, last))
        write("UPDATE event SET data=?, payload_id=NULL WHERE run=? AND seq < ?", (GONE, pk, last))
        write("UPDATE run SET snapshot=?, business_key='', reason='' WHERE id=?", (GONE, pk))
        write("UPDATE attempt SET note=NULL, details=NULL WHERE run=?", (pk,))
        write("UPDATE approval SET instructions='' WHERE run=?", (pk,))
        write("UPDATE outbox SET data='{}' WHERE run=?", (pk,))
        write("UPDATE signal_message SET payload='{}', note='' WHERE run=?", (pk,))
        forget_waiting(self._journal, pk)
        for table in ("dead_letter", "delivery", "approval_link", "attachment"):
            write(f"DELETE FROM {table} WHERE run=?", (pk,))
        write(
            "UPDATE run_key SET secret=NULL, erased_at=?, erased_by=?, reason=?, kept_seq=?, kept_key=? WHERE run=?",
            (erasure.at, erasure.by, erasure.reason, last, run.chain.cipher.event_key(last), pk),
        )
        run.chain = None

    def adopt(self, run_ids: list[str]) -> list[str]:
        """Chain whole runs that have no chain yet; returns those that had none."""
        done: list[str] = []
        self._new_keys = []
        for run_id in run_ids:
            found = self._journal.find_run(None, run_id)
            if found is None:
                continue
            key, _, state = found
            if not self._journal.rows("SELECT 1 FROM run_key WHERE run=?", (key.pk,)):
                self._adopt(key.pk, self._begin(key, state, key.stored_sequence))
                done.append(run_id)
        for row in self._new_keys:
            self._journal.write(INSERT_KEY, row)
        return done

    def of_tenant(self, tenant: str) -> RunCipher:
        """What seals things of a tenant that belong to no run; made at its first use, with what uses it."""
        found = self._journal.bodies.of_tenant(tenant)
        if found is not None:
            return found
        secret = os.urandom(KEY_BYTES)
        row = (tenant, *self._vault.wrap(tenant, "", secret))
        self._journal.write("INSERT INTO tenant_key(tenant, secret, key_id) VALUES (?,?,?)", row)
        return RunCipher(tenant, "", secret)

    def rewrap(self, tenant: str, key_id: str) -> int:
        """Wrap the secrets of at most `REWRAPPED` runs with the tenant's current key; returns how many are left.

        Raises:
            InvalidInput: the current key is another one than `key_id`.
        """
        where = "FROM run_key k JOIN run r ON r.id = k.run WHERE r.tenant=? AND k.key_id <> ? AND k.secret IS NOT NULL"
        rows = self._journal.rows(
            f"SELECT k.run, r.public_id, k.secret, k.key_id {where} LIMIT ?", (tenant, key_id, REWRAPPED)
        )
        mine = "SELECT secret, key_id FROM tenant_key WHERE tenant=? AND key_id <> ?"
        for wrapped, old in self._journal.rows(mine, (tenant, key_id)):
            again = self._vault.wrap(tenant, "", self._vault.unwrap(tenant, "", wrapped, old))
            self._journal.write("UPDATE tenant_key SET secret=?, key_id=? WHERE tenant=?", (*again, tenant))
        for pk, run_id, wrapped, old in rows:
            made, used = self._vault.wrap(tenant, run_id, self._vault.unwrap(tenant, run_id, wrapped, old))
            if used != key_id:
                raise InvalidInput(f"'{key_id[:40]}' is not the key that is used now.", remedy="Rotate once more.")
            self._journal.write("UPDATE run_key SET secret=?, key_id=? WHERE run=?", (made, used, pk))
        return int(self._journal.rows(f"SELECT count(*) {where}", (tenant, key_id))[0][0])
