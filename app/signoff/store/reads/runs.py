"""Runs, histories, attempts and inboxes for readers. Lists page by key, never by offset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

from signoff.core.codec import DATA_EVENTS, decode_snapshot
from signoff.core.events import Event
from signoff.core.states import TERMINAL_RUNS, RunState, RunStatus
from signoff.store.journal import event_of
from signoff.store.reads.reader import Reader

_DATA = "coalesce(e.data, p.data)"
_EVENT_FROM = "FROM event e LEFT JOIN payload p ON p.id = e.payload_id"
_MARKS = ",".join("?" * len(DATA_EVENTS))


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A row of the run list."""

    pk: int
    public_id: str
    version_id: int
    definition: str
    version: int
    digest: str
    status: str
    sequence: int
    business_key: str
    started_by: str
    started_at: int
    changed_at: int
    reason: str


_RUN = (
    "SELECT r.id, r.public_id, r.version_id, d.name, v.version, v.digest, r.status, r.sequence, "
    " r.business_key, r.started_by, r.started_at, r.changed_at, r.reason FROM run r"
    " JOIN definition_version v ON v.id = r.version_id JOIN definition d ON d.id = v.definition_id"
)


VERSIONS_AT_ONCE = 20
"""Versions times statuses are as many parts of one statement; SQLite takes 500."""
_SEARCHED = ("lower(r.business_key)", "r.public_id", "lower(r.started_by)")
_OWN = (
    "(r.started_by = ? OR EXISTS (SELECT 1 FROM approval a JOIN approval_person m ON m.approval_id = a.id"
    " WHERE a.run = r.id AND m.login = ?))"
)


def list_runs(
    reader: Reader,
    tenant: str,
    *,
    status: str,
    definition: str,
    text: str,
    after: tuple[int, int] | None,
    limit: int,
    only_for: str | None = None,
) -> list[RunRecord]:
    """Runs, the most recently changed first; `after` is (changed_at, id) of the last row seen."""
    if definition and not text and only_for is None:
        statuses = [status] if status else list(RunStatus)
        newest = _newest_of_definition(reader, tenant, definition, statuses, after, limit)
        marks = ",".join("?" * len(newest))
        statement = f"{_RUN} WHERE r.id IN ({marks}) AND r.tenant=? ORDER BY r.changed_at DESC, r.id DESC"
        return [RunRecord(*r) for r in reader.rows(statement, [*newest, tenant])] if newest else []
    where, parameters = ["r.tenant=?"], [tenant]
    extra: list[Any] = []
    if status:
        where.append("r.status=?")
        extra.append(status)
    if definition:
        where.append("d.name=?")
        extra.append(definition)
    if "\0" in text:
        return []  # no stored text has one, and SQLite would read the pattern up to it only
    if text:
        where.append(f"({' OR '.join(f"{c} LIKE ? ESCAPE '!'" for c in _SEARCHED)})")
        extra += [f"%{re.sub('[!%_]', r'!\g<0>', text.lower())}%"] * len(_SEARCHED)
    if after:
        where.append("(r.changed_at, r.id) < (?, ?)")
        extra += list(after)
    if only_for is not None:
        where.append(_OWN)
        extra += [only_for, only_for]
    statement = f"{_RUN} WHERE {' AND '.join(where)} ORDER BY r.changed_at DESC, r.id DESC LIMIT ?"
    return [RunRecord(*r) for r in reader.rows(statement, [*parameters, *extra, limit])]


def _newest_of_definition(
    reader: Reader,
    tenant: str,
    definition: str,
    statuses: Sequence[str],
    after: tuple[int, int] | None,
    limit: int,
) -> list[int]:
    """Keys of the most recently changed runs of a definition.

    The newest of each version and status are one walk along the index each, so that a definition with few runs among
    many, or with very many of its own, is as quick as any other.
    """
    of = "SELECT v.id FROM definition_version v JOIN definition d ON d.id = v.definition_id"
    versions = [row[0] for row in reader.rows(f"{of} WHERE d.tenant=? AND d.name=?", (tenant, definition))]
    beyond = " AND (changed_at, id) < (?, ?)" if after else ""
    one = (
        f"SELECT * FROM (SELECT changed_at, id FROM run WHERE version_id=? AND status=?{beyond}"
        " ORDER BY changed_at DESC, id DESC LIMIT ?) AS newest"
    )
    newest: list[tuple[int, int]] = []
    for versions_now in batched(versions, VERSIONS_AT_ONCE):
        asked = [(v, status, *(after or ()), limit) for v in versions_now for status in statuses]
        rows = reader.rows(" UNION ALL ".join([one] * len(asked)), [value for values in asked for value in values])
        newest += [(row[0], row[1]) for row in rows]
    return [pk for _, pk in sorted(newest, reverse=True)[:limit]]


def list_run_ids(
    reader: Reader,
    tenant: str,
    *,
    definition: str = "",
    version: int | None = None,
    status: str = "",
    changed_before: int | None = None,
    limit: int,
) -> list[str]:
    """Public ids of runs, the oldest first; without a status those that are not over."""
    where, parameters = ["r.tenant=?"], [tenant]
    extra: list[Any] = []
    for clause, value in (("d.name=?", definition), ("v.version=?", version), ("r.changed_at < ?", changed_before)):
        if value:
            where.append(clause)
            extra.append(value)
    if status:
        where.append("r.status=?")
        extra.append(status)
    else:
        over = sorted(TERMINAL_RUNS)
        where.append(f"r.status NOT IN ({','.join('?' * len(over))})")
        extra += [str(s) for s in over]
    found = reader.rows(
        "SELECT r.public_id FROM run r JOIN definition_version v ON v.id = r.version_id"
        f" JOIN definition d ON d.id = v.definition_id WHERE {' AND '.join(where)} ORDER BY r.id LIMIT ?",
        [*parameters, *extra, limit],
    )
    return [x[0] for x in found]


def find_run(
    reader: Reader, tenant: str, public_id: str, only_for: str | None = None
) -> tuple[RunRecord, RunState] | None:
    """A run and its state; `only_for` limits it to runs that person started or is asked in."""
    own = f" AND {_OWN}" if only_for is not None else ""
    who = (only_for, only_for) if only_for is not None else ()
    record = reader.one(f"{_RUN} WHERE r.tenant=? AND r.public_id=?{own}", (tenant, public_id, *who))
    if record is None:
        return None
    found = RunRecord(*record)
    body = reader.rows(
        "SELECT NULL, NULL, NULL, NULL, snapshot, 0 AS seq FROM run WHERE id=? UNION ALL"
        f" SELECT e.type, e.version, e.at, e.step, {_DATA}, e.seq {_EVENT_FROM} WHERE e.run=? AND e.type IN ({_MARKS})"
        " ORDER BY seq",
        (found.pk, found.pk, *DATA_EVENTS),
    )
    snapshot = reader.bodies.load(found.pk, "snapshot", body[0][4])
    if snapshot["digest"] != found.digest:  # it moved to another version between the two reads
        return find_run(reader, tenant, public_id, only_for)
    events = [event_of(r, reader.bodies, found.pk) for r in body[1:] if r[5] <= snapshot["sequence"]]
    state = decode_snapshot(snapshot, events)
    return found, state


def is_asked(reader: Reader, tenant: str, public_id: str, login: str) -> bool:
    """Whether an answer of this person is awaited somewhere in the run."""
    found = reader.one(
        "SELECT 1 FROM approval_person m JOIN approval a ON a.id = m.approval_id JOIN run r ON r.id = a.run"
        " WHERE m.tenant=? AND m.login=? AND m.open=1 AND r.public_id=?",
        (tenant, login, public_id),
    )
    return found is not None


def list_events(
    reader: Reader, tenant: str, public_id: str, after: int, limit: int
) -> list[tuple[int, int, Event, dict[str, Any]]]:
    """(sequence, at, event, raw data) of a run, oldest first."""
    found = reader.rows(
        f"SELECT e.type, e.version, e.at, e.step, {_DATA}, e.seq, e.run {_EVENT_FROM} WHERE e.run ="
        " (SELECT id FROM run WHERE tenant=? AND public_id=?) AND e.seq > ? ORDER BY e.seq LIMIT ?",
        (tenant, public_id, after, limit),
    )
    bodies = reader.bodies
    return [(r[5], r[2], event_of(r, bodies, r[6]), bodies.load(r[6], f"event {r[5]}", r[4]) or {}) for r in found]


def list_attempts(reader: Reader, tenant: str, public_id: str) -> list[tuple[Any, ...]]:
    """Columns of `AttemptView`, oldest first."""
    found = reader.rows(
        "SELECT step, generation, attempt, status, fence, worker, key, lease_until, created_at, changed_at, item,"
        " fraction, note, details, reported_at, run FROM attempt"
        " WHERE run = (SELECT id FROM run WHERE tenant=? AND public_id=?) ORDER BY id",
        (tenant, public_id),
    )
    return [(*r[:12], *reader.bodies.open_report(r[15], r[12], r[13]), r[14]) for r in found]


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An approval or a form as one person on its roster sees it; `state` is its run's, without input and outputs."""

    id: int
    run_id: str
    version_id: int
    definition: str
    version: int
    digest: str
    started_by: str
    business_key: str
    step: str
    label: str
    generation: int
    round: int
    instructions: str
    shown_digest: str
    required: int
    given: int
    opened_at: int
    due: int | None
    status: str
    opened: dict[str, Any]
    kind: str
    state: RunState
    login: str = ""


_APPROVAL = (
    "SELECT a.id, r.public_id, r.version_id, d.name, v.version, v.digest, r.started_by, r.business_key,"
    " a.step, a.label, a.generation, a.round, a.instructions, a.shown_digest, a.required, a.given, a.opened_at,"
    f" a.due, a.status, {_DATA}, a.kind, r.snapshot, a.run, e.seq, m.login FROM approval_person m"
    " JOIN approval a ON a.id = m.approval_id JOIN run r ON r.id = a.run"
    " JOIN definition_version v ON v.id = r.version_id JOIN definition d ON d.id = v.definition_id"
    " JOIN event e ON e.run = a.run AND e.seq = a.opened_seq LEFT JOIN payload p ON p.id = e.payload_id"
)


def _approvals(reader: Reader, rows: Sequence[tuple[Any, ...]]) -> list[ApprovalRecord]:
    found = []
    for row in rows:
        data, kind, snapshot, run, seq, login = row[19:]
        opened = reader.bodies.load(run, f"event {seq}", data) or {}
        state = decode_snapshot(reader.bodies.load(run, "snapshot", snapshot), ())
        found.append(ApprovalRecord(*(*row[:19], opened, kind, state, login)))
    return found


def list_inbox(reader: Reader, tenant: str, logins: Sequence[str], *, after: int, limit: int) -> list[ApprovalRecord]:
    """Open approvals of any of these people, oldest first; `after` is the id of the last one seen."""
    marks = ",".join("?" * len(logins))
    return _approvals(
        reader,
        reader.rows(
            f"{_APPROVAL} WHERE m.tenant=? AND m.login IN ({marks}) AND m.open=1 AND m.approval_id > ?"
            " ORDER BY m.approval_id, m.login LIMIT ?",
            (tenant, *logins, after, limit),
        ),
    )


MOST_COUNTED = 500
_OLDEST_OPEN = (
    "(SELECT approval_id, login FROM approval_person WHERE tenant=? AND login=? AND open=1"
    " ORDER BY approval_id LIMIT ?)"
)


def count_inbox(reader: Reader, tenant: str, login: str) -> list[tuple[int, int, int]]:
    """(version key, whether it is an approval of a run of their own, how many) of what is open for a person.

    What waits in paused runs is not counted, and no more than the oldest `MOST_COUNTED` are looked at.
    """
    return reader.rows(
        "SELECT r.version_id, r.started_by = m.login AND a.kind = 'approval' AS own, count(*)"
        f" FROM {_OLDEST_OPEN} m JOIN approval a ON a.id = m.approval_id JOIN run r ON r.id = a.run"
        " WHERE r.status <> 'paused' GROUP BY r.version_id, own",
        (tenant, login, MOST_COUNTED),
    )


def list_inbox_of_version(
    reader: Reader, tenant: str, login: str, version_id: int, own: bool
) -> list[tuple[str, RunState]]:
    """(step, run without input and outputs) behind one line of `count_inbox`."""
    found = reader.rows(
        f"SELECT a.step, r.id, r.snapshot FROM {_OLDEST_OPEN} m"
        " JOIN approval a ON a.id = m.approval_id JOIN run r ON r.id = a.run"
        " WHERE r.status <> 'paused' AND r.version_id=?"
        " AND (r.started_by = m.login AND a.kind = 'approval') = ?",
        (tenant, login, MOST_COUNTED, version_id, bool(own)),
    )
    bodies = reader.bodies
    return [(step, decode_snapshot(bodies.load(run, "snapshot", snapshot), ())) for step, run, snapshot in found]


def find_approval(reader: Reader, tenant: str, login: str, run_id: str, step: str) -> ApprovalRecord | None:
    """The newest approval of a step, if the person is on its roster."""
    found = _approvals(
        reader,
        reader.rows(
            f"{_APPROVAL} WHERE m.tenant=? AND m.login=? AND r.public_id=? AND a.step=?"
            " ORDER BY a.generation DESC LIMIT 1",
            (tenant, login, run_id, step),
        ),
    )
    return found[0] if found else None
