"""A run that turned out to be sensitive after it had begun: what stands there already is encrypted too.

The commitments are over the plain bodies, so that the chain stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from signoff.store.vault import RunCipher, is_sealed

if TYPE_CHECKING:
    from signoff.store.journal import Journal

_PAGE = 500
_EVENTS = (
    "SELECT e.seq, e.id, e.data, e.payload_id, p.data FROM event e LEFT JOIN payload p ON p.id = e.payload_id"
    " WHERE e.run=? AND e.seq > ? ORDER BY e.seq LIMIT ?"
)


def seal_earlier(journal: Journal, pk: int, cipher: RunCipher, withheld: str) -> None:
    """Encrypt the bodies of all events of a run, its reports and its notices; messages it used are in its events."""
    journal.wipe()
    after = 0
    while page := journal.rows(_EVENTS, (pk, after, _PAGE)):
        for seq, key, inline, payload_id, large in page:
            body = bytes(large if payload_id is not None else inline or b"")
            if not body or is_sealed(body):
                continue
            table, row = ("payload", payload_id) if payload_id is not None else ("event", key)
            journal.write(f"UPDATE {table} SET data=? WHERE id=?", (cipher.seal(f"event {seq}", body), row))
        after = page[-1][0]
    for key, note, details in journal.rows("SELECT id, note, details FROM attempt WHERE run=?", (pk,)):
        if (note or details) and not is_sealed(details):
            report = orjson.dumps([note, orjson.loads(details) if details else None])
            sealed = cipher.seal("progress", report)
            journal.write("UPDATE attempt SET note=NULL, details=? WHERE id=?", (sealed, key))
    for key, data in journal.rows("SELECT id, data FROM outbox WHERE run=?", (pk,)):
        if not is_sealed(data):
            journal.write("UPDATE outbox SET data=? WHERE id=?", (cipher.seal("notice", bytes(data)), key))
    journal.write("UPDATE dead_letter SET message=? WHERE run=?", (withheld, pk))
    journal.write("UPDATE signal_message SET payload='{}', note='' WHERE run=?", (pk,))
