"""Absences, in which somebody else decides: statements of the writer and of readers. Times are microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from signoff.core.facts import Absence
from signoff.store.times import from_micros


class Rows(Protocol):
    """What reads."""

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...


class Writes(Rows, Protocol):
    """What writes."""

    def write(self, statement: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement; the number of rows it changed."""
        ...


@dataclass(frozen=True, slots=True)
class AbsenceRow:
    """One absence as it is stored."""

    id: int
    person: str
    delegate: str
    begins: int
    ends: int
    reason: str
    set_by: str
    set_at: int
    revoked_at: int | None = None
    revoked_by: str | None = None
    revoked_reason: str | None = None


_COLUMNS = "id, person, delegate, begins, ends, reason, set_by, set_at, revoked_at, revoked_by, revoked_reason"


def list_absences(
    store: Rows, tenant: str, *, person: str = "", delegate: str = "", after: int = 0, revoked: bool = False
) -> list[AbsenceRow]:
    """Absences that end after an instant, the earliest first; of one person, or in which one person decides."""
    where, values = ["tenant=?", "ends > ?"], [tenant, after]
    for column, value in (("person", person), ("delegate", delegate)):
        if value:
            where.append(f"{column}=?")
            values.append(value)
    if not revoked:
        where.append("revoked_at IS NULL")
    found = store.rows(f"SELECT {_COLUMNS} FROM absence WHERE {' AND '.join(where)} ORDER BY begins, id", values)
    return [AbsenceRow(*row) for row in found]


def find_absence(store: Rows, tenant: str, number: int) -> AbsenceRow | None:
    """One absence by its number."""
    found = store.rows(f"SELECT {_COLUMNS} FROM absence WHERE tenant=? AND id=?", (tenant, number))
    return AbsenceRow(*found[0]) if found else None


def add_absence(store: Writes, tenant: str, a: AbsenceRow) -> int:
    """Store a new one; its number."""
    store.write(
        "INSERT INTO absence(tenant, person, delegate, begins, ends, reason, set_by, set_at) VALUES (?,?,?,?,?,?,?,?)",
        (tenant, a.person, a.delegate, a.begins, a.ends, a.reason, a.set_by, a.set_at),
    )
    return int(store.rows("SELECT max(id) FROM absence WHERE tenant=?", (tenant,))[0][0])


def revoke_absence(store: Writes, tenant: str, number: int, at: int, by: str, reason: str) -> bool:
    """End one before its time; False where it was revoked already."""
    changed = store.write(
        "UPDATE absence SET revoked_at=?, revoked_by=?, revoked_reason=?"
        " WHERE tenant=? AND id=? AND revoked_at IS NULL",
        (at, by, reason, tenant, number),
    )
    return changed == 1


def facts_of(rows: Iterable[AbsenceRow]) -> tuple[Absence, ...]:
    """As decisions see them."""
    return tuple(
        Absence(a.id, a.person, a.delegate, from_micros(a.begins), from_micros(a.ends), a.reason, a.set_by)
        for a in rows
    )
