"""The write side: one connection, one transaction at a time, many commands in each.

Appending is conditional: a run row is only updated where its stored sequence is the one the decision was
made on, and events are unique by (run, seq), so concurrent writers can never overwrite each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Engine

from signoff.core.codec import DATA_EVENTS, decode_event, decode_snapshot
from signoff.core.events import Event
from signoff.core.states import RunState
from signoff.errors import Conflict
from signoff.store.bodies import load
from signoff.store.dialects import Batch, Writing, dialect_of
from signoff.store.ledger import INSERT_KEY, Ledger
from signoff.store.rows import Rows, RunKey
from signoff.store.times import from_micros
from signoff.store.vault import Bodies, Vault

_INSERT_RUN = (
    "INSERT INTO run(id, public_id, tenant, version_id, status, sequence, snapshot, business_key, started_by,"
    " started_at, changed_at, reason, parent) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_UPDATE_RUN = (
    "UPDATE run SET status=?, sequence=?, snapshot=?, changed_at=?, reason=?, version_id=? WHERE id=? AND sequence=?"
)
_INSERT_EVENT = (
    "INSERT INTO event(run, seq, type, version, step, at, data, payload_id, actor, commitment, hash)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)
_INSERT_PAYLOAD = "INSERT INTO payload(id, data) VALUES (?,?)"
_INSERT_ATTEMPT = (
    "INSERT INTO attempt(run, tenant, step, generation, attempt, status, fence, worker, lease_until, heartbeat_ms,"
    " key, connector, pool, priority, scheduled_seq, created_at, changed_at, item, rank)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_UPDATE_ATTEMPT = (
    "UPDATE attempt SET status=?, fence=?, worker=?, lease_until=?, heartbeat_ms=?, changed_at=?"
    " WHERE run=? AND step=? AND generation=? AND item=? AND attempt=?"
)
CONDITIONAL = {_UPDATE_RUN: "run", _UPDATE_ATTEMPT: "attempt"}
"""Updates that must find every row as it was read."""
_DELETE_TIMER = "DELETE FROM timer WHERE run=? AND step=?"
_INSERT_TIMER = "INSERT INTO timer(run, step, kind, generation, attempt, due) VALUES (?,?,?,?,?,?)"
_INSERT_APPROVAL = (
    "INSERT INTO approval(id, run, tenant, step, generation, round, status, label, instructions, shown_digest,"
    " required, given, opened_seq, opened_at, due, kind) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_INSERT_APPROVER = "INSERT INTO approval_person(approval_id, login, tenant, open, voted) VALUES (?,?,?,?,0)"
_UPDATE_APPROVAL = "UPDATE approval SET status=?, given=?, closed_at=? WHERE run=? AND step=? AND generation=?"
_ONE_APPROVAL = "(SELECT id FROM approval WHERE run=? AND step=? AND generation=?)"
_PERSON = (
    f"INSERT INTO approval_person(approval_id, login, tenant, open, voted) VALUES ({_ONE_APPROVAL},?,?,?,?)"
    " ON CONFLICT(approval_id, login) DO UPDATE SET open=excluded.open, voted=excluded.voted"
)
_NOT_ASKED = f"DELETE FROM approval_person WHERE approval_id={_ONE_APPROVAL} AND login=?"
_CLOSED = f"UPDATE approval_person SET open=0 WHERE approval_id={_ONE_APPROVAL}"
_LINKS_CLOSED = (
    "UPDATE approval_link SET revoked_at=?, revoked=? WHERE run=? AND step=? AND generation=?"
    " AND used_at IS NULL AND revoked_at IS NULL"
)
_LINKS_GONE = f"{_LINKS_CLOSED} AND coalesce(nullif(on_behalf_of, ''), login)=?"
_DELETE_DEAD_LETTER = "DELETE FROM dead_letter WHERE run=? AND step=?"
_INSERT_DEAD_LETTER = (
    "INSERT INTO dead_letter(tenant, run, step, generation, code, message, attempts, since) VALUES (?,?,?,?,?,?,?,?)"
)
_INSERT_OUTBOX = "INSERT INTO outbox(tenant, run, topic, step, data, at, tries) VALUES (?,?,?,?,?,?,0)"
_FIND_RUN = (
    "SELECT r.id, r.version_id, r.sequence, r.tenant, r.snapshot, k.sealed FROM run r"
    " LEFT JOIN run_key k ON k.run = r.id WHERE r.public_id=?"
)
_FIND_OWN_RUN = f"{_FIND_RUN} AND r.tenant=?"
_DATA_EVENTS = (
    "SELECT e.type, e.version, e.at, e.step, coalesce(e.data, p.data), e.seq FROM event e LEFT JOIN payload p"
    f" ON p.id = e.payload_id WHERE e.run=? AND e.type IN ({','.join('?' * len(DATA_EVENTS))}) ORDER BY e.seq"
)
_EVENTS = (
    "SELECT e.type, e.version, e.at, e.step, coalesce(e.data, p.data), e.seq FROM event e LEFT JOIN payload p"
    " ON p.id = e.payload_id WHERE e.run=? AND e.seq>? ORDER BY e.seq"
)


def event_of(row: Sequence[Any], bodies: Bodies | None = None, run: int = 0) -> Event:
    """A core event from (type, version, at, step, data, seq) of a run; without `bodies` nothing can be encrypted."""
    data = (bodies.load(run, f"event {row[5]}", row[4]) if bodies else load(row[4])) or {}
    return decode_event(row[0], row[1], from_micros(row[2]), row[3], data)


class Journal:
    """The one writer's connection. Not thread-safe: it belongs to the writer thread."""

    def __init__(self, engine: Engine, vault: Vault | None = None, writing: Writing | None = None) -> None:
        self.vault = vault or Vault()
        self.ledger = Ledger(self, self.vault)
        self.bodies = Bodies(self.vault, self.rows)
        self._writing = writing or dialect_of(engine).open_writing(engine, 10.0, bool)
        self._cursor = self._real_cursor = self._writing.cursor
        self._open = False
        self.commit_count = 0
        self.before_commit: Callable[[], None] = lambda: None
        self._count_on()
        self._writing.rollback()

    def _count_on(self) -> None:
        """Where ids go on; nobody else gives any while this engine writes."""
        self.run_ids = self._counter("run")
        self._payload_ids = self._counter("payload")
        self._approval_ids = self._counter("approval")

    def _counter(self, table: str) -> Callable[[], int]:
        newest = self._cursor.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
        name = f"newest_{table}"  # of rows that were removed
        gone = self._cursor.execute("SELECT value FROM setting WHERE tenant='' AND name=?", (name,)).fetchone()
        return itertools.count(max(newest, int(gone[0]) if gone else 0) + 1).__next__

    @property
    def is_replaced(self) -> bool:
        """Whether another engine writes to the database now."""
        return self._writing.is_replaced

    @property
    def is_lost(self) -> bool:
        """Whether the connection is gone; `begin` makes a new one."""
        return self._writing.is_lost

    def begin(self) -> Rows:
        """Take the write lock; returns an empty set of rows to fill."""
        self._writing.begin()
        self._open = True
        if self._writing.cursor is not self._real_cursor:
            self._cursor = self._real_cursor = self._writing.cursor  # the old connection was lost
            self._count_on()
        return Rows(self._payload_ids, self._approval_ids)

    def rollback(self) -> None:
        """Give everything back; safe to call twice."""
        if self._open:
            self._open = False
            self._writing.rollback()

    def commit(self, rows: Rows) -> None:
        """Write the rows and commit; after this returns they survive a power loss.

        Raises:
            Conflict: a run changed under the decision; everything was rolled back.
        """
        self._flush(rows)
        self.before_commit()
        self._writing.commit()
        self._open = False
        self.commit_count += 1
        for run, state, _ in rows.runs.values():
            run.stored_sequence = state.sequence
        if rows.erased or rows.removed or rows.resealed:
            self._writing.erased()

    def _flush(self, rows: Rows) -> None:
        keys = self.ledger.chain(rows)
        new, changed = rows.run_rows()
        moved = list(rows.attempts_moved.values())
        batch = [
            (_INSERT_PAYLOAD, rows.payloads),
            (_INSERT_RUN, new),
            (INSERT_KEY, keys),
            (_UPDATE_RUN, changed),
            (_INSERT_EVENT, rows.events),
            (_INSERT_ATTEMPT, [tuple(a) for a in rows.attempts_new.values()]),
            (_UPDATE_ATTEMPT, moved),
            (_DELETE_TIMER, list(rows.timers_gone)),
            (_INSERT_TIMER, list(rows.timers_new.values())),
            (_INSERT_APPROVAL, rows.approvals_new),
            (_INSERT_APPROVER, rows.people_new),
            (_UPDATE_APPROVAL, rows.approvals_moved),
            (_NOT_ASKED, [key for key, now in rows.people_moved.items() if now is None]),
            (_PERSON, [(*key, *now) for key, now in rows.people_moved.items() if now is not None]),
            (_CLOSED, rows.people_closed),
            (_LINKS_GONE, rows.links_gone),
            (_LINKS_CLOSED, rows.links_closed),
            (_DELETE_DEAD_LETTER, list(rows.dead_gone)),
            (_INSERT_DEAD_LETTER, list(rows.dead_new.values())),
            (_INSERT_OUTBOX, rows.outbox),
        ]
        wanted = [(statement, values) for statement, values in batch if values]
        for (statement, values), count in zip(wanted, self._write(wanted), strict=True):
            if statement in CONDITIONAL and count != len(values):
                raise Conflict(
                    f"A {CONDITIONAL[statement]} changed while it was being written.",
                    code="concurrent_write",
                    remedy="The command is tried again.",
                )
        for pk, erasure in rows.erased.items():
            self._writing.erase()
            self.ledger.erase(pk, *rows.runs[pk][:2], erasure)

    def _write(self, batch: Batch) -> list[int]:
        return self._writing.write(self._cursor, batch)

    # Reads inside the transaction

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a parametrised query."""
        found: list[tuple[Any, ...]] = self._cursor.execute(statement, tuple(parameters)).fetchall()
        return found

    def write(self, statement: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement; returns the number of rows it changed."""
        count: int = self._cursor.execute(statement, tuple(parameters)).rowcount
        return count

    def find_run(self, tenant: str | None, public_id: str) -> tuple[RunKey, str, RunState] | None:
        """A run by its public id (within a tenant, where one is given): key, tenant, state from its snapshot."""
        own = tenant is not None
        found = self.rows(_FIND_OWN_RUN, (public_id, tenant)) if own else self.rows(_FIND_RUN, (public_id,))
        if not found:
            return None
        pk, version_id, sequence, owner, snapshot, sealed = found[0]
        return RunKey(pk, version_id, sequence, sensitive=bool(sealed)), owner, self._state(pk, snapshot)

    def find_run_by_key(self, pk: int) -> tuple[RunKey, str, RunState] | None:
        """A run by its integer key."""
        found = self.rows("SELECT public_id FROM run WHERE id=?", (pk,))
        return self.find_run(None, found[0][0]) if found else None

    def _state(self, pk: int, snapshot: bytes) -> RunState:
        events = [event_of(r, self.bodies, pk) for r in self.rows(_DATA_EVENTS, (pk, *DATA_EVENTS))]
        return decode_snapshot(self.bodies.load(pk, "snapshot", snapshot), events)

    def events(self, pk: int, after: int = 0) -> list[Event]:
        """All events of a run, oldest first."""
        return [event_of(r, self.bodies, pk) for r in self.rows(_EVENTS, (pk, after))]

    def body(self, pk: int, slot: str, data: bytes | None) -> Any:
        """The value of a stored body of a run, decrypted where it has to be; None where it has none."""
        return self.bodies.load(pk, slot, data)

    def seal(self, pk: int, slot: str, data: bytes) -> bytes:
        """Encrypt something that belongs to a run which is in the database."""
        return self.bodies.seal(pk, slot, data)

    def wipe(self) -> None:
        """Inside a transaction that removes content: nothing of it may stay where it stood."""
        self._writing.erase()

    def close(self) -> None:
        """Give back what is open and close the connection."""
        self.rollback()
        self._writing.close()
