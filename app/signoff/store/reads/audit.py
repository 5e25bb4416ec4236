"""What the verifier reads: each run with all its rows in one short transaction, and rows that belong to nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from signoff.core.events import Event
from signoff.errors import NotFound, SignoffError
from signoff.store.bodies import load
from signoff.store.checkpoints import CheckpointFiles
from signoff.store.dialects import dialect_of
from signoff.store.files import FileStore, list_attachments, open_secret
from signoff.store.journal import event_of
from signoff.store.reads.chain import ChainedRun, Problem, chain_problems
from signoff.store.reads.ledger import ledger_problems
from signoff.store.reads.reader import Reader
from signoff.store.vault import Bodies, Vault

_PAGE = 500


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A row of `run` with the digest and the tenant of its version (None where that is gone)."""

    pk: int
    run_id: str
    tenant: str
    status: str
    sequence: int
    snapshot: bytes
    business_key: str
    started_by: str
    reason: str
    digest: str | None
    version: int | None
    version_tenant: str | None


_RUN = (
    "SELECT r.id, r.public_id, r.tenant, r.status, r.sequence, r.snapshot, r.business_key, r.started_by, r.reason,"
    " v.digest, v.version, v.tenant FROM run r LEFT JOIN definition_version v ON v.id = r.version_id WHERE r.id=?"
)
_EVENTS = (
    "SELECT e.type, e.version, e.at, e.step, coalesce(e.data, p.data), e.seq, e.payload_id, p.id FROM event e"
    " LEFT JOIN payload p ON p.id = e.payload_id WHERE e.run=? ORDER BY e.seq"
)
OPEN_ATTEMPTS = "('ready', 'held', 'leased')"


class RunRows:
    """The rows of one run, inside one read transaction."""

    def __init__(self, connection: Connection, run: StoredRun, vault: Vault, attached: FileStore | None) -> None:
        self._connection = connection
        self.attached = attached
        self.run = run
        self._vault = vault
        self.bodies = Bodies(vault, self.rows)

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return [tuple(r) for r in self._connection.exec_driver_sql(statement, tuple(parameters))]

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.rows(statement, (self.run.pk,))

    def events(self) -> Iterator[tuple[int, Event | str]]:
        """(sequence, event) in order, one at a time; a text instead of the event says why it cannot be read."""
        for row in self._connection.exec_driver_sql(_EVENTS, (self.run.pk,)):
            if row[6] is not None and row[7] is None:
                yield row[5], "its payload is gone"
                continue
            try:
                yield row[5], event_of(row, self.bodies, self.run.pk)
            except (SignoffError, ValueError, TypeError, KeyError, AttributeError) as error:
                yield row[5], str(error) or type(error).__name__

    def chain_problems(self) -> Iterator[Problem]:
        """(code, message, sequence) of everything that is wrong with the hash chain."""
        return chain_problems(self._connection, self._vault, ChainedRun(self.run.pk, self.run.tenant, self.run.run_id))

    def migration_plan(self, plan_id: str) -> tuple[str, str] | None:
        """(digest, status) of a stored migration plan of the run's tenant."""
        found = self._connection.exec_driver_sql(
            "SELECT digest, status FROM migration_plan WHERE tenant=? AND public_id=?", (self.run.tenant, plan_id)
        ).first()
        return (found[0], found[1]) if found else None

    def snapshot(self) -> bytes:
        """The stored snapshot as JSON text; as it stands where it cannot be decrypted."""
        try:
            return self.bodies.plain(self.run.pk, "snapshot", self.run.snapshot)
        except SignoffError:
            return self.run.snapshot

    def is_sealed(self) -> bool:
        """Whether its bodies are encrypted."""
        return bool(self._rows("SELECT 1 FROM run_key WHERE run=? AND sealed=1"))

    def is_erased(self) -> bool:
        """Whether the content was erased, so that only the chain can be checked."""
        return bool(self._rows("SELECT 1 FROM run_key WHERE run=? AND erased_at IS NOT NULL"))

    def attempts(self) -> list[tuple[Any, ...]]:
        """(step, generation, item, attempt, status, fence, lease_until) of the open ones."""
        return self._rows(
            "SELECT step, generation, item, attempt, status, fence, lease_until FROM attempt"
            f" WHERE run=? AND status IN {OPEN_ATTEMPTS}"
        )

    def timers(self) -> list[tuple[Any, ...]]:
        """(step, kind, generation, attempt, due) of all that are armed."""
        return self._rows("SELECT step, kind, generation, attempt, due FROM timer WHERE run=?")

    def dead_letters(self) -> list[tuple[Any, ...]]:
        """(step, generation, attempts) of all."""
        return self._rows("SELECT step, generation, attempts FROM dead_letter WHERE run=?")

    def signals(self) -> list[tuple[Any, ...]]:
        """(step, generation, name, key) of the steps that wait for a message."""
        return self._rows("SELECT step, generation, name, key FROM signal_wait WHERE run=?")

    def approvals(self) -> list[tuple[Any, ...]]:
        """(id, step, generation, given, shown_digest) of the open ones."""
        return self._rows(
            "SELECT id, step, generation, given, shown_digest FROM approval WHERE run=? AND status='open'"
        )

    def people(self) -> list[tuple[Any, ...]]:
        """(approval, step, status, login, open, voted) of every roster of the run."""
        return self._rows(
            "SELECT a.id, a.step, a.status, m.login, m.open, m.voted FROM approval a"
            " JOIN approval_person m ON m.approval_id = a.id WHERE a.run=? ORDER BY a.id, m.login"
        )

    def links(self) -> list[tuple[Any, ...]]:
        """(step, generation, whose answer, shown digest, token hash, used at, outcome) of those not revoked."""
        return self._rows(
            "SELECT step, generation, coalesce(nullif(on_behalf_of, ''), login), shown_digest, token_hash, used_at,"
            " outcome FROM approval_link WHERE run=? AND revoked_at IS NULL ORDER BY id"
        )

    def foreign(self) -> list[tuple[str, str]]:
        """(table, tenant) of rows of this run that belong to another tenant."""
        found = []
        for table, source in (
            ("attempt", "attempt x"),
            ("approval", "approval x"),
            ("approval_person", "approval a JOIN approval_person x ON x.approval_id = a.id"),
            ("outbox", "outbox x"),
            ("delivery", "delivery x"),
            ("approval_link", "approval_link x"),
        ):
            run = "a.run" if " a " in source else "x.run"
            statement = f"SELECT DISTINCT x.tenant FROM {source} WHERE {run}=? AND x.tenant <> ?"
            rows = self._connection.exec_driver_sql(statement, (self.run.pk, self.run.tenant))
            found += [(table, r[0]) for r in rows]
        return found


def attached_problems(rows: RunRows) -> Iterator[tuple[str, str]]:
    """(code, message) of every file of a run whose content is not there, or not the one that was given."""
    attached, run = rows.attached, rows.run
    for a in list_attachments(rows, run.pk) if attached else ():
        assert attached is not None
        try:
            secret, digest = open_secret(rows.bodies, run.tenant, a), hashlib.sha256()
            for chunk in attached.read(run.tenant, secret.digest, a.blob, secret.key):
                digest.update(chunk)
        except NotFound:
            yield "file_missing", f"The content of the file '{a.name}' is not there."
            continue
        except (SignoffError, ValueError) as error:
            yield "file_altered", f"The file '{a.name}' cannot be read: {error}"
            continue
        if f"sha256:{digest.hexdigest()}" != secret.digest:
            yield "file_altered", f"The file '{a.name}' is not the one that was given."


class WholeDatabase:
    """Reads a whole database with bounded memory, while an engine may be writing to it."""

    def __init__(
        self,
        engine: Engine,
        vault: Vault | None = None,
        files: CheckpointFiles | None = None,
        attached: FileStore | None = None,
        is_signed: Callable[[str], bool] | None = None,
    ) -> None:
        self._engine = engine
        self._attached = attached
        self._vault = vault or Vault()
        self._files = files
        self._is_signed = is_signed

    def run_keys(self, run_id: str = "") -> Iterator[int]:
        """Keys of all runs (or of one) in order, a page at a time."""
        if run_id:
            yield from (r[0] for r in self._all("SELECT id FROM run WHERE public_id=?", (run_id,)))
            return
        after = 0
        while page := self._all("SELECT id FROM run WHERE id > ? ORDER BY id LIMIT ?", (after, _PAGE)):
            yield from (r[0] for r in page)
            after = page[-1][0]

    @contextmanager
    def run(self, pk: int) -> Iterator[RunRows | None]:
        """The rows of a run as of one moment; None where it is gone."""
        with self._engine.connect() as connection:
            found = connection.exec_driver_sql(_RUN, (pk,)).fetchone()
            yield RunRows(connection, StoredRun(*found), self._vault, self._attached) if found else None

    def find_version(self, tenant: str, digest: str) -> tuple[dict[str, Any], int] | None:
        """(document, number) of a published version by its digest."""
        found = self._all(
            "SELECT document, version FROM definition_version WHERE tenant=? AND digest=?", (tenant, digest)
        )
        return (load(found[0][0]), found[0][1]) if found else None

    def versions(self) -> Iterator[tuple[str, int, str, bytes]]:
        """(name, number, digest, document) of every version, one at a time."""
        statement = (
            "SELECT d.name, v.version, v.digest, v.document FROM definition_version v"
            " JOIN definition d ON d.id = v.definition_id WHERE v.id > ? ORDER BY v.id LIMIT 1"
        )
        for (key,) in self._all("SELECT id FROM definition_version ORDER BY id", ()):
            yield from ((r[0], r[1], r[2], r[3]) for r in self._all(statement, (key - 1,)))

    def loose_rows(self) -> Iterator[tuple[str, int]]:
        """(table, how many) of rows whose run, approval or payload does not exist."""
        for table in (
            "event", "attempt", "timer", "approval", "outbox", "delivery", "approval_link", "dead_letter", "run_key",
            "signal_wait", "signal_message", "attachment",
        ):  # fmt: skip
            whose = "x.run IS NOT NULL AND r.id IS NULL"
            statement = f"SELECT count(*) FROM {table} x LEFT JOIN run r ON r.id = x.run WHERE {whose}"
            if count := self._all(statement, ())[0][0]:
                yield table, count
        count = self._all(
            "SELECT count(*) FROM approval_person m LEFT JOIN approval a ON a.id = m.approval_id WHERE a.id IS NULL", ()
        )[0][0]
        if count:
            yield "approval_person", count

    def file_problems(self) -> list[str]:
        """What the database itself finds wrong."""
        return dialect_of(self._engine).file_problems(self._all)

    def ledger_problems(self) -> Iterator[tuple[str, str]]:
        """(code, message) of everything that is wrong with the trees and their signed checkpoints."""
        yield from ledger_problems(Reader(self._engine, self._vault), self._files, self._is_signed)

    def _all(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._engine.connect() as connection:
            return [tuple(r) for r in connection.exec_driver_sql(statement, parameters)]

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
