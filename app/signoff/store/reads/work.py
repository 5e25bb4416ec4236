"""What readers ask about work: dead letters, and what activities under way reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from signoff.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    """A row of the dead-letter list."""

    id: int
    run_id: str
    version_id: int
    definition: str
    business_key: str
    status: str
    sequence: int
    step: str
    generation: int
    code: str
    message: str
    attempts: int
    since: int


def list_dead_letters(
    reader: Reader, tenant: str, *, definition: str, before: int | None, limit: int
) -> list[DeadLetterRecord]:
    """Dead letters of a tenant, the newest first; `before` is the id of the last one seen."""
    where, parameters = "l.tenant=?", [tenant]
    extra: list[Any] = []
    if definition:
        where += " AND d.name=?"
        extra.append(definition)
    if before is not None:
        where += " AND l.id < ?"
        extra.append(before)
    found = reader.rows(
        "SELECT l.id, r.public_id, r.version_id, d.name, r.business_key, r.status, r.sequence, l.step, l.generation,"
        " l.code, l.message, l.attempts, l.since FROM dead_letter l JOIN run r ON r.id = l.run"
        " JOIN definition_version v ON v.id = r.version_id JOIN definition d ON d.id = v.definition_id"
        f" WHERE {where} ORDER BY l.id DESC LIMIT ?",
        [*parameters, *extra, limit],
    )
    return [DeadLetterRecord(*r) for r in found]


def count_dead_letters(reader: Reader, tenant: str) -> int:
    """How many there are."""
    found = reader.one("SELECT count(*) FROM dead_letter WHERE tenant=?", (tenant,))
    return found[0] if found else 0


def list_reports(reader: Reader, run: int) -> list[tuple[str, int, float | None, str, bytes | None, int]]:
    """(step, item, fraction, note, details, reported at) of claims under way that reported something."""
    found = reader.rows(
        "SELECT step, item, fraction, note, details, reported_at FROM attempt"
        " WHERE run=? AND status='leased' AND reported_at IS NOT NULL ORDER BY reported_at",
        (run,),
    )
    return [(*r[:3], *reader.bodies.open_report(run, r[3], r[4]), r[5]) for r in found]
