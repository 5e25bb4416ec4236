"""Checking the hash chain of a run in the database, against its own bodies and the leaves of the tenant's tree."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from signoff.errors import SignoffError
from signoff.store.ledger import ZERO, link
from signoff.store.vault import Bodies, RunCipher, Vault

Problem = tuple[str, str, int]
"""(code, message, sequence of the event or 0)."""

_KEY = "SELECT secret, key_id, erased_at, kept_seq, kept_key FROM run_key WHERE run=?"
_EVENTS = (
    "SELECT e.seq, e.type, e.version, e.step, e.at, e.actor, e.commitment, e.hash, coalesce(e.data, p.data)"
    " FROM event e LEFT JOIN payload p ON p.id = e.payload_id WHERE e.run=? ORDER BY e.seq"
)


@dataclass(frozen=True, slots=True)
class ChainedRun:
    """Which run is looked at."""

    pk: int
    tenant: str
    run_id: str


def chain_problems(connection: Connection, vault: Vault, run: ChainedRun) -> Iterator[Problem]:
    """Everything that is wrong with the chain of a run, in the transaction of the connection."""

    def rows(statement: str, parameters: Any) -> list[tuple[Any, ...]]:
        return [tuple(r) for r in connection.exec_driver_sql(statement, tuple(parameters))]

    found = rows(_KEY, (run.pk,))
    leaves = dict(
        rows("SELECT seq, head FROM ledger_leaf WHERE tenant=? AND run_id=? AND kind='head'", (run.tenant, run.run_id))
    )
    if not found:
        if leaves or not _may_be_unchained(rows, run.pk):
            yield "chain_missing", "It has no secret, so nothing proves its history.", 0
        return
    try:
        event_key = _event_keys(vault, run, *found[0])
    except SignoffError as error:
        yield "key_missing", error.message, 0
        event_key = {}.get
    bodies = Bodies(vault, rows)
    previous, last = ZERO, 0
    for seq, kind, version, step, at, actor, commitment, digest, data in connection.exec_driver_sql(_EVENTS, (run.pk,)):
        if digest is None or commitment is None or actor is None:
            yield "chain_missing", "It is not chained.", seq
            return
        key = event_key(seq)
        if key is not None and not _fits(bodies, run.pk, seq, data, key, bytes(commitment)):
            yield "body_altered", f"The content of '{kind}' is not the one that was committed to.", seq
        meant = link(run.tenant, run.run_id, seq, kind, version, step, at, actor, bytes(commitment), previous)
        if meant != bytes(digest):
            yield "chain_altered", f"'{kind}' was altered, or what came before it: its hash does not follow.", seq
            return
        previous, last = meant.hex(), seq
        leaf = leaves.pop(seq, None)
        if leaf is not None and bytes(leaf) != meant:
            yield "checkpoint_differs", "Its hash is not the one that went into a checkpoint.", seq
    if leaves:
        newest = max(leaves)
        yield "chain_truncated", f"A checkpoint saw {newest} events, but the chain ends with {last}.", newest


def _may_be_unchained(rows: Any, pk: int) -> bool:
    """Whether the sealer has not come to this old run yet."""
    found = rows("SELECT value FROM setting WHERE tenant='' AND name='unchained_until'", ())
    return bool(found) and pk <= int(found[0][0])


def _event_keys(
    vault: Vault,
    run: ChainedRun,
    secret: bytes | None,
    key_id: str,
    erased_at: int | None,
    kept_seq: int | None,
    kept_key: bytes | None,
) -> Any:
    if secret is None:
        return {kept_seq: kept_key}.get if erased_at is not None else {}.get
    if not vault.can_open(key_id):
        return {}.get  # whoever has no keys checks the chain without the bodies
    return RunCipher(run.tenant, run.run_id, vault.unwrap(run.tenant, run.run_id, secret, key_id)).event_key


def _fits(bodies: Bodies, pk: int, seq: int, data: bytes | None, key: bytes, commitment: bytes) -> bool:
    try:
        body = bodies.plain(pk, f"event {seq}", data)
    except SignoffError:
        return False
    return hmac.compare_digest(hmac.digest(key, body, "sha256"), commitment)
