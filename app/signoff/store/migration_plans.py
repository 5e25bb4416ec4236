"""Stored migration plans: statements that the writer and the readers share, and the writer's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from signoff.store.bodies import dump, load
from signoff.store.journal import Journal

Rows = Callable[[str, Iterable[Any]], list[tuple[Any, ...]]]

_SELECT = (
    "SELECT p.public_id, d.name, p.source_version, p.target_version, p.digest, p.document, p.status, p.reason,"
    " p.proposed_by, p.proposed_at, p.decided_by, p.decided_at, p.comment, p.id FROM migration_plan p"
    " JOIN definition d ON d.id = p.definition_id WHERE p.tenant=?"
)


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as it is stored; times are microseconds."""

    plan_id: str
    definition: str
    source_version: int
    target_version: int
    digest: str
    document: dict[str, Any]
    status: str
    reason: str
    proposed_by: str
    proposed_at: int
    decided_by: str
    decided_at: int | None
    comment: str
    id: int


def _plan(row: tuple[Any, ...]) -> StoredPlan:
    whole: list[Any] = [*row[:5], load(row[5]), *row[6:]]
    return StoredPlan(*whole)


def find_plan(rows: Rows, tenant: str, plan_id: str) -> StoredPlan | None:
    """A plan by its id."""
    found = rows(f"{_SELECT} AND p.public_id=?", (tenant, plan_id))
    return _plan(found[0]) if found else None


def find_with_digest(rows: Rows, tenant: str, digest: str, *statuses: str) -> StoredPlan | None:
    """The newest plan with that content in one of the statuses."""
    wanted = ",".join("?" * len(statuses))
    found = rows(f"{_SELECT} AND p.digest=? AND p.status IN ({wanted}) ORDER BY p.id DESC LIMIT 1",
                 (tenant, digest, *statuses))  # fmt: skip
    return _plan(found[0]) if found else None


def list_plans(rows: Rows, tenant: str, definition: str, before: int | None, limit: int) -> list[StoredPlan]:
    """Plans, the newest first; of one definition where one is named."""
    named = (" AND d.name=?", (definition,)) if definition else ("", ())
    older = (" AND p.id < ?", (before,)) if before is not None else ("", ())
    statement = f"{_SELECT}{named[0]}{older[0]} ORDER BY p.id DESC LIMIT ?"
    return [_plan(r) for r in rows(statement, (tenant, *named[1], *older[1], limit))]


def add_plan(
    journal: Journal,
    tenant: str,
    definition_id: int,
    plan_id: str,
    versions: tuple[int, int],
    digest: str,
    document: dict[str, Any],
    reason: str,
    by: str,
    at: int,
) -> None:
    """A new proposal."""
    journal.write(
        "INSERT INTO migration_plan(public_id, tenant, definition_id, source_version, target_version, digest, document,"
        " status, reason, proposed_by, proposed_at, decided_by, comment)"
        " VALUES (?,?,?,?,?,?,?,'proposed',?,?,?,'','')",
        (plan_id, tenant, definition_id, *versions, digest, dump(document), reason, by, at),
    )


def settle_plan(journal: Journal, tenant: str, plan_id: str, status: str, by: str, at: int, comment: str) -> None:
    """Approved, rejected or withdrawn."""
    journal.write(
        "UPDATE migration_plan SET status=?, decided_by=?, decided_at=?, comment=? WHERE tenant=? AND public_id=?",
        (status, by, at, comment, tenant, plan_id),
    )
