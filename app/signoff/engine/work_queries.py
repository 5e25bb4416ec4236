"""Reads about work: dead letters, and what activities under way reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signoff.core.plan import Plan
from signoff.core.progress import Progress
from signoff.core.states import RunState, StepStatus
from signoff.engine.caches import PlanCache
from signoff.engine.paging import older_than, page_size
from signoff.engine.views import AttemptView, DeadLetter, Page
from signoff.store.bodies import load
from signoff.store.reads import work
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, from_micros_or_none


class WorkQueries:
    """Mixed into `Queries`, which owns the reader and the plans."""

    _reader: Reader
    _plans: PlanCache

    def list_dead_letters(
        self, tenant: str, *, definition: str = "", cursor: str | None = None, limit: int = 50
    ) -> Page[DeadLetter]:
        """Work that failed for good and waits for an operator, the newest first."""
        size = page_size(limit)
        before = older_than(cursor)
        found = work.list_dead_letters(self._reader, tenant, definition=definition, before=before, limit=size + 1)
        items = tuple(_letter(self._plans.get(x.version_id), x) for x in found[:size])
        return Page(items, str(found[size - 1].id) if len(found) > size else None)

    def count_dead_letters(self, tenant: str) -> int:
        """How many dead letters there are."""
        return work.count_dead_letters(self._reader, tenant)

    def _reported(self, run: int, state: RunState) -> dict[str, Progress]:
        """By step, what work under way reported last."""
        if not any(s.status is StepStatus.RUNNING for s in state.steps.values()):
            return {}
        found = {}
        for step, _, fraction, note, details, at in work.list_reports(self._reader, run):
            if (made := progress_of(fraction, note, details, at)) is not None:
                found[step] = made
        return found


def _letter(plan: Plan, x: work.DeadLetterRecord) -> DeadLetter:
    return DeadLetter(
        run_id=x.run_id,
        definition=x.definition,
        title=plan.definition.title,
        business_key=x.business_key,
        run_status=x.status,
        sequence=x.sequence,
        step=x.step,
        label=plan.label(x.step),
        generation=x.generation,
        code=x.code,
        message=x.message,
        attempts=x.attempts,
        since=from_micros(x.since),
    )


def attempt_of(row: Sequence[Any]) -> AttemptView:
    """An attempt from its columns, as `list_attempts` of the store gives them."""
    step, generation, attempt, status, fence, worker, key, lease_until, created_at, changed_at, item, *report = row
    return AttemptView(
        step=step,
        generation=generation,
        attempt=attempt,
        status=status,
        fence=fence,
        worker=worker,
        key=key,
        lease_until=from_micros_or_none(lease_until or None),
        created_at=from_micros(created_at),
        changed_at=from_micros(changed_at),
        item=item,
        progress=progress_of(*report),
    )


def progress_of(fraction: float | None, note: str | None, details: bytes | None, at: int | None) -> Progress | None:
    """A report as it is stored; None where there is none."""
    if at is None:
        return None
    return Progress(fraction, note or "", load(details) if details is not None else None, from_micros(at))
