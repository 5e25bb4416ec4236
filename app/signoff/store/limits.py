"""Limits of tenants as stored, and what the writer counts to keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from signoff.core.limits import UNLIMITED, Limits, read_limits, write_limits
from signoff.core.states import TERMINAL_RUNS, RunStatus
from signoff.errors import StoreFault
from signoff.store.journal import Journal

NAME = "limits"
_OPEN = ",".join(f"'{s}'" for s in RunStatus if s not in TERMINAL_RUNS)
COUNT_OPEN_RUNS = f"SELECT count(*) FROM run WHERE tenant=? AND status IN ({_OPEN})"
COUNT_TIMERS = "SELECT count(*) FROM timer t JOIN run r ON r.id = t.run WHERE r.tenant=?"
FIND = "SELECT value FROM setting WHERE tenant=? AND name=?"


def limits_of(value: str | None) -> Limits:
    """Limits from the stored text; the defaults where there is none.

    Raises:
        StoreFault: the text was not written by this release or an older one.
    """
    if value is None:
        return UNLIMITED
    document: Mapping[str, Any] = orjson.loads(value)
    limits, problems = read_limits(document)
    if problems:
        raise StoreFault(f"The stored limits cannot be read. {problems[0]}", remedy="Set them again.")
    return limits


def load_limits(journal: Journal, tenant: str) -> Limits:
    """The limits of a tenant."""
    found = journal.rows(FIND, (tenant, NAME))
    return limits_of(found[0][0] if found else None)


def save_limits(journal: Journal, tenant: str, limits: Limits) -> None:
    """Replace them."""
    journal.write(
        "INSERT INTO setting(tenant, name, value) VALUES (?,?,?)"
        " ON CONFLICT(tenant, name) DO UPDATE SET value=excluded.value",
        (tenant, NAME, orjson.dumps(write_limits(limits)).decode()),
    )


def count_open_runs(journal: Journal, tenant: str) -> int:
    """Runs of a tenant that have not ended."""
    count: int = journal.rows(COUNT_OPEN_RUNS, (tenant,))[0][0]
    return count


def count_timers(journal: Journal, tenant: str) -> int:
    """Timers of a tenant that are armed."""
    count: int = journal.rows(COUNT_TIMERS, (tenant,))[0][0]
    return count


def list_leased(journal: Journal) -> list[tuple[Any, ...]]:
    """(tenant, pool, connector, run, step, generation, item, attempt) of all calls under way."""
    return journal.rows(
        "SELECT tenant, pool, connector, run, step, generation, item, attempt FROM attempt WHERE status='leased'"
    )
