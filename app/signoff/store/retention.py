"""Removing ended runs under the rule of their tenant: what is written, by the one writer.

A run and the runs that it started go together, in the commit that puts their tombstones into the tenant's tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from signoff.core.retention import FOR_EVER, Retention, days_for, read_retention, words_for, write_retention
from signoff.core.states import TERMINAL_RUNS
from signoff.errors import SignoffError, StoreFault
from signoff.store.files import forget_waiting
from signoff.store.times import from_micros
from signoff.store.tree import SEALED_EVENT, append_leaves, remember

if TYPE_CHECKING:
    from signoff.store.journal import Journal

NAME = "retention"
DAY_US = 86_400_000_000
NEWEST_RUN = "newest_run"
_RUN = (
    "SELECT r.id, r.public_id, r.status, r.sequence, r.started_at, r.changed_at, r.parent, v.id, v.document, d.name,"
    " v.version, v.digest, k.hold, k.erased_at, l.head FROM run r JOIN definition_version v ON v.id = r.version_id"
    " JOIN definition d ON d.id = v.definition_id LEFT JOIN run_key k ON k.run = r.id"
    " LEFT JOIN ledger_leaf l ON l.tenant = r.tenant AND l.run_id = r.public_id AND l.kind = 'head'"
    " AND l.seq = r.sequence WHERE r.tenant=? AND r.public_id=?"
)
_OF_A_RUN = (
    "DELETE FROM payload WHERE id IN (SELECT payload_id FROM event WHERE run=?)",
    "DELETE FROM approval_person WHERE approval_id IN (SELECT id FROM approval WHERE run=?)",
    *(
        f"DELETE FROM {table} WHERE run=?"
        for table in (
            "event", "attempt", "timer", "approval", "dead_letter", "outbox", "delivery", "approval_link",
            "attachment", "signal_message", "signal_wait", "run_key",
        )
    ),
    "DELETE FROM run WHERE id=?",
)  # fmt: skip


def retention_of(value: str | None) -> Retention:
    """The rule from the stored text.

    Raises:
        StoreFault: the text was not written by this release or an older one.
    """
    if value is None:
        return FOR_EVER
    rule, problems = read_retention(orjson.loads(value))
    if problems:
        raise StoreFault(f"The stored rule of retention cannot be read. {problems[0]}", remedy="Set it again.")
    return rule


def load_retention(journal: Journal, tenant: str) -> Retention:
    """The rule of a tenant."""
    found = journal.rows("SELECT value FROM setting WHERE tenant=? AND name=?", (tenant, NAME))
    return retention_of(found[0][0] if found else None)


def save_retention(journal: Journal, tenant: str, rule: Retention) -> None:
    """Replace it."""
    journal.write(
        "INSERT INTO setting(tenant, name, value) VALUES (?,?,?)"
        " ON CONFLICT(tenant, name) DO UPDATE SET value=excluded.value",
        (tenant, NAME, orjson.dumps(write_retention(rule)).decode()),
    )


def asked_by(document: bytes) -> int | None:
    """How many days a version asks for."""
    policies: Mapping[str, Any] = orjson.loads(document).get("policies") or {}
    days = policies.get("retention_days")
    return days if isinstance(days, int) else None


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run as it would be removed; times are microseconds. `head` is None where no leaf has its last event."""

    pk: int
    run_id: str
    status: str
    events: int
    started_at: int
    ended_at: int
    parent: str | None
    version_id: int
    document: bytes
    definition: str
    version: int
    digest: str
    hold: str | None
    erased_at: int | None
    head: bytes | None

    def due(self, rule: Retention) -> int | None:
        """When it may go; None never."""
        days = days_for(rule, asked_by(self.document))
        return None if days is None else self.ended_at + days * DAY_US

    def tombstone(self, rule: Retention, at: int) -> str:
        """What the leaf says of it."""
        asked = asked_by(self.document)
        told = {
            "definition": self.definition,
            "version": self.version,
            "digest": self.digest,
            "status": self.status,
            "started_at": from_micros(self.started_at).isoformat(),
            "ended_at": from_micros(self.ended_at).isoformat(),
            "days": days_for(rule, asked),
            "policy": words_for(rule, asked),
            "parent": self.parent or "",
            "erased": self.erased_at is not None,
            "at": from_micros(at).isoformat(),
        }
        return orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()


def note_problem(note: str) -> str:
    """What is wrong with the text of a tombstone; "" where nothing is. The offline verifier says the same."""
    try:
        told = orjson.loads(note)
        ended, at = datetime.fromisoformat(told["ended_at"]), datetime.fromisoformat(told["at"])
        words = [told[n] for n in ("definition", "version", "digest", "status", "policy")]
        early = at < ended + timedelta(days=told["days"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return "it cannot be read"
    if not all(words) or told["days"] < 1:
        return "it does not say what was removed and why"
    return "the run had not ended as long ago as its policy says" if early else ""


def find_ended(journal: Journal, tenant: str, run_id: str) -> EndedRun | None:
    """A run that there is."""
    found = journal.rows(_RUN, (tenant, run_id))
    return EndedRun(*found[0]) if found else None


def parent_of(journal: Journal, run: EndedRun) -> str:
    """Which run started it; written down where an older release did not."""
    if run.parent is not None:
        return run.parent
    try:
        known = journal.find_run_by_key(run.pk)
        parent = known[2].parent if known else ""
    except SignoffError:  # its content was erased
        parent = ""
    journal.write("UPDATE run SET parent=? WHERE id=?", (parent, run.pk))
    return parent


def children_of(journal: Journal, run: EndedRun) -> list[str]:
    """The runs that it started, as far as they are there."""
    found = {str(r[0]) for r in journal.rows("SELECT public_id FROM run WHERE parent=?", (run.run_id,))}
    if run.parent is None and run.erased_at is None:
        found |= {str(child) for e in journal.events(run.pk) if (child := getattr(e, "child", ""))}
    return sorted(found)


def why_kept(run: EndedRun, rule: Retention, now: int) -> str:
    """Why a run cannot be removed now; "" where it can."""
    due = run.due(rule)
    if run.status not in TERMINAL_RUNS:
        return "open"
    if run.hold:
        return "on hold"
    if due is None or due > now:
        return "not due"
    return "" if run.head is not None else "not sealed"


def family_of(journal: Journal, tenant: str, root: EndedRun) -> list[EndedRun]:
    """A run and all runs that it and its descendants started."""
    found, left = {root.run_id: root}, [root]
    while left:
        for child in children_of(journal, left.pop()):
            known = None if child in found else find_ended(journal, tenant, child)
            if known is not None:
                found[child] = known
                left.append(known)
    return list(found.values())


def remove_runs(journal: Journal, origin: str, tenant: str, runs: list[EndedRun], rule: Retention, at: int) -> None:
    """Remove runs with everything that belongs to them; their tombstones are leaves of the next checkpoint."""
    journal.wipe()
    for run in runs:
        forget_waiting(journal, run.pk)
        for statement in _OF_A_RUN:
            journal.write(statement, (run.pk,))
    append_leaves(
        journal,
        origin,
        tenant,
        [("pruned", r.run_id, r.events, bytes(r.head or b""), r.tombstone(rule, at)) for r in runs],
        at,
    )
    _never_again(journal, max(r.pk for r in runs))


def _never_again(journal: Journal, pk: int) -> None:
    """Ids of rows that are gone are not given to others, and what comes now is sealed although its ids are."""
    known = journal.rows("SELECT value FROM setting WHERE tenant='' AND name=?", (NEWEST_RUN,))
    if not known or int(known[0][0]) < pk:
        remember(journal, NEWEST_RUN, pk)
    newest = journal.rows("SELECT coalesce(max(id), 0) FROM event")[0][0]
    sealed = journal.rows("SELECT value FROM setting WHERE tenant='' AND name=?", (SEALED_EVENT,))
    if sealed and int(sealed[0][0]) > newest:
        remember(journal, SEALED_EVENT, newest)
