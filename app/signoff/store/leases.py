"""Claimable attempts, leases with fencing tokens, due timers, undelivered notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from signoff.core.progress import Progress
from signoff.store.bodies import dump, load
from signoff.store.dialects import dialect_of
from signoff.store.journal import Journal
from signoff.store.reads.reader import Reader
from signoff.store.vault import Vault, is_sealed


@dataclass(frozen=True, slots=True)
class ReadyAttempt:
    """An attempt that may be claimed; the one of the least `rank`, then `id`, is first (see `AttemptTable`)."""

    run: int
    public_id: str
    tenant: str
    step: str
    generation: int
    attempt: int
    scheduled_seq: int
    item: int
    connector: str
    rank: int
    id: int


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that ran out."""

    public_id: str
    tenant: str
    step: str
    generation: int
    attempt: int
    fence: int
    worker: str


@dataclass(frozen=True, slots=True)
class DueTimer:
    """An armed timer whose time has come."""

    public_id: str
    tenant: str
    step: str
    kind: str
    generation: int
    attempt: int


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A notice that has not been delivered yet."""

    id: int
    tenant: str
    public_id: str
    topic: str
    step: str
    data: dict[str, Any]
    tries: int


def next_lane(journal: Journal, pool: str, after: tuple[str, str]) -> tuple[str, str] | None:
    """The next (tenant, connector) with claimable attempts in a pool, or None behind the last.

    Two seeks and not one comparison of both columns, for which a database walks over all that waits in a lane.
    """
    tenant, connector = after
    for behind, values in (("tenant=? AND connector > ?", (tenant, connector)), ("tenant > ?", (tenant,))):
        found = journal.rows(
            f"SELECT tenant, connector FROM attempt WHERE status='ready' AND pool=? AND {behind}"
            " ORDER BY tenant, connector LIMIT 1",
            (pool, *values),
        )
        if found:
            return found[0][0], found[0][1]
    return None


def list_ready(
    journal: Journal, pool: str, tenant: str, connector: str, *, after: tuple[int, int], limit: int
) -> list[ReadyAttempt]:
    """Claimable attempts of a tenant and connector in a pool behind (rank, id), in that order."""
    return [
        ReadyAttempt(*r)
        for r in journal.rows(
            "SELECT a.run, r.public_id, a.tenant, a.step, a.generation, a.attempt, a.scheduled_seq, a.item,"
            " a.connector, a.rank, a.id FROM attempt a JOIN run r ON r.id = a.run WHERE a.status='ready' AND a.pool=?"
            " AND a.tenant=? AND a.connector=? AND (a.rank, a.id) > (?, ?) ORDER BY a.rank, a.id LIMIT ?",
            (pool, tenant, connector, *after, limit),
        )
    ]


def scheduled_body(journal: Journal, run: int, seq: int) -> dict[str, Any]:
    """The data of the `activity.scheduled` event an attempt refers to."""
    found = journal.rows(
        "SELECT coalesce(e.data, p.data) FROM event e LEFT JOIN payload p ON p.id = e.payload_id"
        " WHERE e.run=? AND e.seq=?",
        (run, seq),
    )
    body: dict[str, Any] = journal.body(run, f"event {seq}", found[0][0]) or {}
    return body


def renew(journal: Journal, claims: Sequence[Sequence[Any]], now: int) -> list[bool]:
    """Renew leases; True for each claim (run key, step, generation, attempt, fence) that still holds."""
    return [
        journal.write(
            "UPDATE attempt SET lease_until = ? + heartbeat_ms * 1000 WHERE run=? AND step=? AND generation=?"
            " AND attempt=? AND fence=? AND status='leased'",
            (now, *claim),
        )
        == 1
        for claim in claims
    ]


def report(journal: Journal, claim: Sequence[Any], progress: Progress, now: int, *, sealed: bool = False) -> bool:
    """Keep what a claim (run key, step, generation, attempt, fence) reported; False where it holds no more.

    Of `sealed` runs the note is encrypted together with the details.
    """
    details = None if progress.details is None else dump(progress.details)
    note: str | None = progress.note
    if sealed:
        note, details = None, journal.seal(claim[0], "progress", dump([progress.note, progress.details]))
    return (
        journal.write(
            "UPDATE attempt SET fraction=?, note=?, details=?, reported_at=? WHERE run=? AND step=? AND generation=?"
            " AND attempt=? AND fence=? AND status='leased'",
            (progress.fraction, note, details, now, *claim),
        )
        == 1
    )


def last_report(journal: Journal, run: int, key: str) -> dict[str, Any] | None:
    """What earlier attempts with the same idempotency key reported last, for the next one to go on from."""
    found = journal.rows(
        "SELECT fraction, note, details FROM attempt WHERE run=? AND key=? AND reported_at IS NOT NULL"
        " ORDER BY reported_at DESC, id DESC LIMIT 1",
        (run, key),
    )
    if not found:
        return None
    fraction, note, details = found[0]
    if is_sealed(details):
        note, value = journal.body(run, "progress", details)
        return {"fraction": fraction, "note": note, "details": value}
    return {"fraction": fraction, "note": note or "", "details": load(details) if details is not None else None}


def _single(engine: Engine) -> Engine:
    """For reads of one statement: these look again every second, so that each round trip counts."""
    return dialect_of(engine).for_statements(engine)


def list_expired(engine: Engine, now: int, limit: int) -> list[Lease]:
    """Leases that ran out before `now`."""
    with _single(engine).connect() as c:
        found = c.exec_driver_sql(
            "SELECT r.public_id, a.tenant, a.step, a.generation, a.attempt, a.fence, a.worker FROM attempt a"
            " JOIN run r ON r.id = a.run WHERE a.status='leased' AND a.lease_until < ? ORDER BY a.lease_until LIMIT ?",
            (now, limit),
        )
        return [Lease(*r) for r in found]


def list_due(engine: Engine, now: int, limit: int) -> list[DueTimer]:
    """Armed timers due by `now`, earliest first."""
    with _single(engine).connect() as c:
        found = c.exec_driver_sql(
            "SELECT r.public_id, r.tenant, t.step, t.kind, t.generation, t.attempt FROM timer t"
            " JOIN run r ON r.id = t.run WHERE t.due <= ? ORDER BY t.due, t.id LIMIT ?",
            (now, limit),
        )
        return [DueTimer(*r) for r in found]


def next_due(engine: Engine) -> int | None:
    """When the next timer is due, in microseconds; None where none is armed."""
    with _single(engine).connect() as c:
        found: int | None = c.exec_driver_sql("SELECT min(due) FROM timer").scalar()
        return found


def next_lease_end(engine: Engine) -> int | None:
    """When the next lease runs out, in microseconds; None where none is held."""
    with _single(engine).connect() as c:
        found: int | None = c.exec_driver_sql("SELECT min(lease_until) FROM attempt WHERE status='leased'").scalar()
        return found


def list_outbox(engine: Engine, limit: int, vault: Vault | None = None) -> list[OutboxRow]:
    """Undelivered notices, oldest first."""
    reader = Reader(engine, vault)
    found = reader.rows(
        "SELECT o.id, o.tenant, r.public_id, o.topic, o.step, o.data, o.tries, o.run FROM outbox o"
        " JOIN run r ON r.id = o.run WHERE o.tries >= 0 ORDER BY o.id LIMIT ?",
        (limit,),
    )
    return [OutboxRow(r[0], r[1], r[2], r[3], r[4], reader.bodies.load(r[7], "notice", r[5]), r[6]) for r in found]


def remove_outbox(journal: Journal, ids: Sequence[int]) -> None:
    """Delivered. The newest row stays, marked, so that its id is never given to another notice.

    Were it, a repeated "delivered" would remove a notice that nobody has seen.
    """
    newest = journal.rows("SELECT max(id) FROM outbox")[0][0]
    for i in ids:
        if i == newest:
            journal.write("UPDATE outbox SET tries = -1 WHERE id=?", (i,))
        else:
            journal.write("DELETE FROM outbox WHERE id=?", (i,))
    journal.write("DELETE FROM outbox WHERE tries = -1 AND id < ?", (newest,))
