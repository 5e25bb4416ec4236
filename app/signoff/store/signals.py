"""Messages and the steps that wait for them: statements of the writer, inside its transaction.

Waits are written at once, not collected with the other rows, so that a message of the same commit finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from signoff.store.bodies import dump, load
from signoff.store.journal import Journal
from signoff.store.vault import Bodies, is_sealed, keyed


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message; `at` values are microseconds."""

    id: int
    name: str
    key: str
    message_id: str
    digest: str
    payload: dict[str, Any]
    sender: str
    channel: str
    status: str
    received_at: int
    expires_at: int
    run_id: str
    step: str
    note: str


_MESSAGE = (
    "SELECT m.id, m.name, m.key, m.message_id, m.digest, m.payload, m.sender, m.channel, m.status, m.received_at,"
    " m.expires_at, coalesce(r.public_id, ''), m.step, m.note FROM signal_message m LEFT JOIN run r ON r.id = m.run"
)


def _message(journal: Journal, tenant: str, rows: list[tuple[Any, ...]]) -> MessageRow | None:
    if not rows:
        return None
    values: list[Any] = list(rows[0])
    values[5] = open_payload(journal.bodies, tenant, values[5], values[1:4])
    return MessageRow(*values)


def open_payload(bodies: Bodies, tenant: str, data: bytes, of: Sequence[str]) -> Any:
    """What a message says. `of` are its name, key and id, which it is bound to."""
    cipher = bodies.of_tenant(tenant) if is_sealed(data) else None
    return load(cipher.open(_slot(of), bytes(data)) if cipher else data)


def _slot(of: Sequence[str]) -> str:
    return f"message {dump(list(of)).decode()}"


def message_digests(journal: Journal, tenant: str, digest: str) -> tuple[str, str]:
    """How the digest of a payload stands in rows of this release, where nobody can try guesses, and of an older one."""
    return keyed(keyed(journal.ledger.of_tenant(tenant).secret, b"messages"), digest.encode()).hex(), digest


def put_wait(journal: Journal, run: int, step: str, generation: int, tenant: str, name: str, key: str) -> None:
    """A step begins to wait, behind all that wait already."""
    remove_wait(journal, run, step)
    journal.write(
        "INSERT INTO signal_wait(run, step, generation, tenant, name, key) VALUES (?,?,?,?,?,?)",
        (run, step, generation, tenant, name, key),
    )


def remove_wait(journal: Journal, run: int, step: str) -> None:
    """The step waits no more."""
    journal.write("DELETE FROM signal_wait WHERE run=? AND step=?", (run, step))


def list_waits(journal: Journal, tenant: str, name: str, key: str) -> list[tuple[int, str, int]]:
    """(run key, step, generation) of those that wait, the one that has waited longest first."""
    found = journal.rows(
        "SELECT run, step, generation FROM signal_wait WHERE tenant=? AND name=? AND key=? ORDER BY id",
        (tenant, name, key),
    )
    return [(r[0], r[1], r[2]) for r in found]


def find_message(journal: Journal, tenant: str, name: str, key: str, message_id: str) -> MessageRow | None:
    """A message that came before, whatever became of it."""
    where = "WHERE m.tenant=? AND m.name=? AND m.key=? AND m.message_id=?"
    return _message(journal, tenant, journal.rows(f"{_MESSAGE} {where}", (tenant, name, key, message_id)))


def oldest_kept(journal: Journal, tenant: str, name: str, key: str, now: int) -> MessageRow | None:
    """The message to use next, or None."""
    where = "WHERE m.tenant=? AND m.name=? AND m.key=? AND m.status='kept' AND m.expires_at > ? ORDER BY m.id LIMIT 1"
    return _message(journal, tenant, journal.rows(f"{_MESSAGE} {where}", (tenant, name, key, now)))


def count_kept(journal: Journal, tenant: str, name: str, key: str, now: int) -> int:
    """How many messages wait for a step."""
    where = "WHERE tenant=? AND name=? AND key=? AND status='kept' AND expires_at > ?"
    count: int = journal.rows(f"SELECT count(*) FROM signal_message {where}", (tenant, name, key, now))[0][0]
    return count


def add_message(journal: Journal, tenant: str, message: MessageRow) -> int:
    """Keep a message; returns its key. Which run will use it is not known yet, so that the tenant's secret seals it."""
    of = (message.name, message.key, message.message_id)
    sealed = journal.ledger.of_tenant(tenant).seal(_slot(of), dump(message.payload))
    journal.write(
        "INSERT INTO signal_message(tenant, name, key, message_id, digest, payload, sender, channel, status,"
        " received_at, expires_at, changed_at, run, step, note) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,NULL,'','')",
        (
            tenant,
            message.name,
            message.key,
            message.message_id,
            message.digest,
            sealed,
            message.sender,
            message.channel,
            message.status,
            message.received_at,
            message.expires_at,
            message.received_at,
        ),
    )
    found = find_message(journal, tenant, message.name, message.key, message.message_id)
    assert found is not None
    return found.id


def settle_message(
    journal: Journal, message: int, status: str, at: int, *, run: int | None = None, step: str = "", note: str = ""
) -> None:
    """What became of a message."""
    journal.write(
        "UPDATE signal_message SET status=?, changed_at=?, run=?, step=?, note=? WHERE id=?",
        (status, at, run, step, note, message),
    )
