"""Reads about retention: the rule, what it would remove now, and the tombstones of what it has removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson

from signoff.core.retention import Retention, days_for, read_retention, words_for, write_retention
from signoff.engine.paging import older_than, page_size
from signoff.engine.views import Page
from signoff.errors import InvalidInput, NotFound
from signoff.store.files import Rows
from signoff.store.reads import retention as stored
from signoff.store.reads.reader import Reader
from signoff.store.retention import DAY_US, asked_by, retention_of
from signoff.store.times import from_micros, to_micros


@dataclass(frozen=True, slots=True)
class DueView:
    """What a rule does with the ended runs of one version; `held` of the `due` ones are on hold and stay."""

    definition: str
    version: int
    asked: int | None
    days: int | None
    policy: str
    due: int
    held: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class TombstoneView:
    """What is left of a run that was removed. `told` is what its leaf says of it."""

    run_id: str
    events: int
    number: int
    told: Mapping[str, Any]


class RetentionQueries:
    """Retention of tenants, for readers."""

    def __init__(self, reader: Reader, now: Callable[[], datetime]) -> None:
        self._reader, self._now = reader, now

    def of(self, tenant: str) -> Retention:
        """The rule of a tenant."""
        return retention_of(stored.find_rule(self._reader, tenant))

    def preview(self, tenant: str, document: Mapping[str, Any] | None = None) -> list[DueView]:
        """What the rule (or the one that is given) would remove now, by version; nothing is written.

        Raises:
            InvalidInput: the rule that is given cannot be read.
        """
        rule = self.of(tenant)
        if document is not None:
            rule, problems = read_retention(document)
            if problems:
                raise InvalidInput(" ".join(problems), code="invalid_retention", remedy="Correct it.")
        now, found = to_micros(self._now()), []
        for key, name, number, text in stored.list_versions(self._reader, tenant):
            asked = asked_by(text)
            days = days_for(rule, asked)
            due, held, oldest = (0, 0, None)
            if days is not None:
                due, held, oldest = stored.count_due(self._reader, tenant, key, now - days * DAY_US)
            since = None if oldest is None else from_micros(oldest)
            found.append(DueView(name, number, asked, days, words_for(rule, asked), due, held, since))
        return found

    def list_tombstones(self, tenant: str, *, cursor: str | None = None, limit: int = 50) -> Page[TombstoneView]:
        """Runs that were removed, the newest first."""
        size = page_size(limit)
        found = stored.list_tombstones(self._reader, tenant, older_than(cursor), size + 1)
        items = tuple(_tombstone(row) for row in found[:size])
        return Page(items, str(items[-1].number) if len(found) > size else None)

    def count_tombstones(self, tenant: str) -> int:
        """How many runs were removed."""
        return stored.count_tombstones(self._reader, tenant)


def not_there(store: Rows, tenant: str, run_id: str) -> NotFound:
    """What somebody is told who asks for a run that is not there: whether it was removed."""
    found = stored.find_tombstone(store, tenant, run_id)
    return no_such_run(run_id) if found is None else pruned(_tombstone(found))


def no_such_run(run_id: str) -> NotFound:
    """There never was one, as far as anybody may know."""
    return NotFound(f"There is no run '{run_id[:60]}'.", remedy="Check the id.")


def pruned(stone: TombstoneView) -> NotFound:
    """There was one."""
    told = stone.told
    return NotFound(
        f"The run '{stone.run_id}' ended as {told.get('status')} on {str(told.get('ended_at'))[:10]} and was pruned on"
        f" {str(told.get('at'))[:10]} under the policy: {told.get('policy')}.",
        code="pruned",
        remedy="Its tombstone is part of the signed audit trail: `signoff audit export` has it.",
    )


def _tombstone(row: tuple[Any, ...]) -> TombstoneView:
    number, run_id, events, note = row
    try:
        told = orjson.loads(note)
    except ValueError:
        told = {"policy": note}
    return TombstoneView(run_id, events, number, told if isinstance(told, dict) else {"policy": note})


def rule_document(queries: RetentionQueries, tenant: str) -> dict[str, Any]:
    """The rule, what it would remove now, and how many runs were removed, as JSON for programs."""
    return {
        "retention": write_retention(queries.of(tenant)),
        "preview": preview_document(queries.preview(tenant)),
        "pruned": queries.count_tombstones(tenant),
    }


def preview_document(found: list[DueView]) -> list[dict[str, Any]]:
    """A preview as JSON for programs."""
    return [{**asdict(x), "oldest": x.oldest.isoformat() if x.oldest else None} for x in found]


def tombstone_document(stone: TombstoneView) -> dict[str, Any]:
    """A tombstone as JSON for programs."""
    return {"run_id": stone.run_id, "events": stone.events, "leaf": stone.number, **stone.told}
