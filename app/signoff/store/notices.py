"""Letters to people and chat tools: made from notices, sent, tried again, given up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from signoff.store.journal import Journal
from signoff.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class Delivery:
    """One letter to one receiver. Times are microseconds."""

    id: int
    tenant: str
    notice: int
    run_id: str
    step: str
    generation: int
    topic: str
    sink: str
    login: str
    message_id: str
    status: str
    tries: int
    due: int
    error: str
    created_at: int
    changed_at: int


_COLUMNS = (
    "d.id, d.tenant, d.notice, r.public_id, d.step, d.generation, d.topic, d.sink, d.login, d.message_id, d.status,"
    " d.tries, d.due, d.error, d.created_at, d.changed_at"
)
_SELECT = f"SELECT {_COLUMNS} FROM delivery d JOIN run r ON r.id = d.run"


def add_delivery(journal: Journal, run: int, letter: Delivery) -> None:
    """Plan a letter; a notice that is handed over twice makes no second one."""
    journal.write(
        "INSERT INTO delivery(tenant, notice, run, step, generation, topic, sink, login, message_id, status, tries,"
        " due, error, created_at, changed_at) VALUES (?,?,?,?,?,?,?,?,?,'pending',0,?,'',?,?)"
        " ON CONFLICT(notice, sink, login) DO NOTHING",
        (
            letter.tenant, letter.notice, run, letter.step, letter.generation, letter.topic, letter.sink, letter.login,
            letter.message_id, letter.due, letter.created_at, letter.created_at,
        ),
    )  # fmt: skip


def find_delivery(journal: Journal, delivery: int, tenant: str | None = None) -> Delivery | None:
    """A letter by its number (within a tenant, where one is given)."""
    own, values = (" AND d.tenant=?", (delivery, tenant)) if tenant is not None else ("", (delivery,))
    found = journal.rows(f"{_SELECT} WHERE d.id=?{own}", values)
    return Delivery(*found[0]) if found else None


def list_due_deliveries(engine: Engine, now: int, sinks: Iterable[str], limit: int) -> list[Delivery]:
    """Letters that may be tried now, the one that waited longest first; only for sinks that exist."""
    names = tuple(sinks)
    if not names:
        return []
    marks = ",".join("?" * len(names))
    statement = (
        f"{_SELECT} WHERE d.status='pending' AND d.due <= ? AND d.sink IN ({marks}) ORDER BY d.due, d.id LIMIT ?"
    )
    with engine.connect() as c:
        return [Delivery(*x) for x in c.exec_driver_sql(statement, (now, *names, limit))]


def next_delivery(engine: Engine) -> int | None:
    """When the next letter may be tried, in microseconds; None where none is pending."""
    with engine.connect() as c:
        found: int | None = c.exec_driver_sql("SELECT min(due) FROM delivery WHERE status='pending'").scalar()
        return found


def move_delivery(
    journal: Journal, delivery: int, status: str, at: int, *, tries: int, due: int, error: str = ""
) -> None:
    """What became of a letter."""
    journal.write(
        "UPDATE delivery SET status=?, tries=?, due=?, error=?, changed_at=? WHERE id=?",
        (status, tries, due, error[:500], at, delivery),
    )


def list_deliveries(
    reader: Reader, tenant: str, *, status: str = "", run_id: str = "", before: int | None = None, limit: int
) -> list[Delivery]:
    """Letters of a tenant, the newest first; `before` is a number."""
    where, parameters = ["d.tenant=?"], [tenant]
    for column, value in (("d.status", status), ("r.public_id", run_id)):
        if value:
            where.append(f"{column}=?")
            parameters.append(value)
    given: list[Any] = [*parameters, before if before is not None else 2**62, limit]
    found = reader.rows(f"{_SELECT} WHERE {' AND '.join(where)} AND d.id < ? ORDER BY d.id DESC LIMIT ?", given)
    return [Delivery(*x) for x in found]


def count_dead_deliveries(reader: Reader, tenant: str) -> int:
    """How many letters were given up."""
    found = reader.one("SELECT count(*) FROM delivery WHERE tenant=? AND status='dead'", (tenant,))
    return int(found[0]) if found else 0
