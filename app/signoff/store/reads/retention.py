"""Runs that are due to be removed, and tombstones of those that were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signoff.core.states import TERMINAL_RUNS
from signoff.store.files import Rows
from signoff.store.reads.reader import Reader
from signoff.store.retention import NAME

_OVER = ",".join(f"'{s}'" for s in sorted(TERMINAL_RUNS))
_ROOT = "(r.parent IS NULL OR r.parent = '' OR NOT EXISTS (SELECT 1 FROM run p WHERE p.public_id = r.parent))"
_TOMBSTONES = "SELECT number, run_id, seq, note FROM ledger_leaf WHERE tenant=? AND kind='pruned'"


def list_rules(reader: Reader) -> list[tuple[str, str]]:
    """(tenant, stored rule) of all tenants that have one."""
    return [
        (r[0], r[1]) for r in reader.rows("SELECT tenant, value FROM setting WHERE name=? ORDER BY tenant", (NAME,))
    ]


def find_rule(reader: Reader, tenant: str) -> str | None:
    """The stored rule of a tenant."""
    found = reader.one("SELECT value FROM setting WHERE tenant=? AND name=?", (tenant, NAME))
    return str(found[0]) if found else None


def list_versions(reader: Reader, tenant: str) -> list[tuple[int, str, int, bytes]]:
    """(key, definition, number, document) of every version of a tenant."""
    found = reader.rows(
        "SELECT v.id, d.name, v.version, v.document FROM definition_version v JOIN definition d"
        " ON d.id = v.definition_id WHERE v.tenant=? ORDER BY d.name, v.version",
        (tenant,),
    )
    return [(r[0], r[1], r[2], r[3]) for r in found]


def list_due(
    reader: Reader, tenant: str, versions: Sequence[int], before: int, after: tuple[int, int], limit: int
) -> list[tuple[int, int, str]]:
    """(ended, key, id) of ended runs of some versions that nobody holds and no other run started, oldest first."""
    marks = ",".join("?" * len(versions))
    found = reader.rows(
        "SELECT r.changed_at, r.id, r.public_id FROM run r LEFT JOIN run_key k ON k.run = r.id"
        f" WHERE r.tenant=? AND r.status IN ({_OVER}) AND r.changed_at <= ? AND (r.changed_at, r.id) > (?, ?)"
        f" AND r.version_id IN ({marks}) AND k.hold IS NULL AND {_ROOT} ORDER BY r.changed_at, r.id LIMIT ?",
        (tenant, before, *after, *versions, limit),
    )
    return [(r[0], r[1], r[2]) for r in found]


def count_due(reader: Reader, tenant: str, version: int, before: int) -> tuple[int, int, int | None]:
    """(due, of these on hold, when the oldest of them ended) among the ended runs of a version."""
    found = reader.rows(
        "SELECT count(*), count(k.hold), min(r.changed_at) FROM run r LEFT JOIN run_key k ON k.run = r.id"
        f" WHERE r.tenant=? AND r.version_id=? AND r.status IN ({_OVER}) AND r.changed_at <= ?",
        (tenant, version, before),
    )[0]
    return int(found[0]), int(found[1]), found[2]


def find_tombstone(store: Rows, tenant: str, run_id: str) -> tuple[Any, ...] | None:
    """(number, run id, events, note) of a run that was removed."""
    found = store.rows(f"{_TOMBSTONES} AND run_id=? ORDER BY number LIMIT 1", (tenant, run_id))
    return found[0] if found else None


def list_tombstones(reader: Reader, tenant: str, before: int | None, limit: int) -> list[tuple[Any, ...]]:
    """The same of all, the newest first; `before` is a number."""
    if before is None:
        return reader.rows(f"{_TOMBSTONES} ORDER BY number DESC LIMIT ?", (tenant, limit))
    return reader.rows(f"{_TOMBSTONES} AND number < ? ORDER BY number DESC LIMIT ?", (tenant, before, limit))


def count_tombstones(reader: Reader, tenant: str) -> int:
    """How many runs of a tenant were removed."""
    return int(reader.rows("SELECT count(*) FROM ledger_leaf WHERE tenant=? AND kind='pruned'", (tenant,))[0][0])
