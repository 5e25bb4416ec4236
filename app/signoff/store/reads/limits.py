"""What readers see of limits: the stored text, and what is used now."""

from __future__ import annotations

from typing import Any

from signoff.store.limits import COUNT_OPEN_RUNS, COUNT_TIMERS, FIND, NAME
from signoff.store.reads.reader import Reader


def find_limits(reader: Reader, tenant: str) -> str | None:
    """The stored text, or None where nothing was set."""
    found = reader.one(FIND, (tenant, NAME))
    return str(found[0]) if found else None


def count_open_runs(reader: Reader, tenant: str) -> int:
    """Runs that have not ended."""
    return int(_count(reader, COUNT_OPEN_RUNS, tenant))


def count_timers(reader: Reader, tenant: str) -> int:
    """Armed timers."""
    return int(_count(reader, COUNT_TIMERS, tenant))


def list_calls(reader: Reader, tenant: str) -> list[tuple[Any, ...]]:
    """(pool, connector, status, how many, scheduled first) of calls that wait or are under way."""
    return reader.rows(
        "SELECT pool, connector, status, count(*), min(created_at) FROM attempt"
        " WHERE tenant=? AND status IN ('ready', 'leased') GROUP BY pool, connector, status"
        " ORDER BY pool, connector, status",
        (tenant,),
    )


def _count(reader: Reader, statement: str, tenant: str) -> int:
    found = reader.one(statement, (tenant,))
    return found[0] if found else 0
