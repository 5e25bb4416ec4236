"""Reads of migration plans."""

from __future__ import annotations

from signoff.engine.paging import older_than, page_size
from signoff.engine.views import MigrationPlanView, Page
from signoff.errors import NotFound
from signoff.store.migration_plans import StoredPlan, find_plan, list_plans
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, from_micros_or_none


class PlanQueries:
    """Migration plans of tenants, for readers."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def list(
        self, tenant: str, *, definition: str = "", cursor: str | None = None, limit: int = 50
    ) -> Page[MigrationPlanView]:
        """Plans, the newest first."""
        size, before = page_size(limit), older_than(cursor)
        found = list_plans(self._reader.rows, tenant, definition, before, size + 1)
        items = tuple(_view(x) for x in found[:size])
        return Page(items, str(found[size - 1].id) if len(found) > size else None)

    def get(self, tenant: str, plan_id: str) -> MigrationPlanView:
        """A plan.

        Raises:
            NotFound: there is none.
        """
        found = find_plan(self._reader.rows, tenant, plan_id)
        if found is None:
            raise NotFound(f"There is no migration plan '{plan_id[:60]}'.", remedy="Check the id.")
        return _view(found)


def _view(x: StoredPlan) -> MigrationPlanView:
    return MigrationPlanView(
        plan_id=x.plan_id,
        definition=x.definition,
        source_version=x.source_version,
        target_version=x.target_version,
        digest=x.digest,
        plan=x.document,
        status=x.status,
        reason=x.reason,
        proposed_by=x.proposed_by,
        proposed_at=from_micros(x.proposed_at),
        decided_by=x.decided_by,
        decided_at=from_micros_or_none(x.decided_at),
        comment=x.comment,
    )
