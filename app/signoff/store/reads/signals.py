"""Messages for readers, the newest first."""

from __future__ import annotations

from typing import Any

from signoff.store.reads.reader import Reader
from signoff.store.signals import open_payload

STATUSES = ("kept", "used", "refused", "discarded", "expired")


def list_messages(
    reader: Reader, tenant: str, *, name: str, key: str, status: str, now: int, before: int, limit: int
) -> list[tuple[Any, ...]]:
    """(id, name, key, message id, status, payload, sender, received, expires, run, step, note); `before` is an id."""
    where, parameters = ["m.tenant=?"], [tenant]
    extra: list[Any] = []
    for column, value in (("name", name), ("key", key)):
        if value:
            where.append(f"m.{column}=?")
            extra.append(value)
    if status in ("kept", "expired"):
        where.append(f"m.status='kept' AND m.expires_at {'>' if status == 'kept' else '<='} ?")
        extra.append(now)
    elif status:
        where.append("m.status=?")
        extra.append(status)
    if before:
        where.append("m.id < ?")
        extra.append(before)
    found = reader.rows(
        "SELECT m.id, m.name, m.key, m.message_id,"
        " CASE WHEN m.status='kept' AND m.expires_at <= ? THEN 'expired' ELSE m.status END, m.payload, m.sender,"
        " m.received_at, m.expires_at, coalesce(r.public_id, ''), m.step, m.note"
        " FROM signal_message m LEFT JOIN run r ON r.id = m.run"
        f" WHERE {' AND '.join(where)} ORDER BY m.id DESC LIMIT ?",
        [now, *parameters, *extra, limit],
    )
    return [(*r[:5], open_payload(reader.bodies, tenant, r[5], r[1:4]) or {}, *r[6:]) for r in found]
