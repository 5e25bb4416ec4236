"""Reads about letters and the links in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signoff.engine.paging import older_than, page_size
from signoff.engine.views import DeliveryView, LinkView, Page
from signoff.errors import InvalidInput
from signoff.store.links import find_link
from signoff.store.notices import count_dead_deliveries, list_deliveries
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, from_micros_or_none

STATUSES = ("pending", "sent", "moot", "dead")


class NoticeQueries:
    """Mixed into `Queries`, which owns the reader and the clock."""

    _reader: Reader
    _now: Callable[[], datetime]

    def find_link(self, tenant: str, token: str) -> LinkView | None:
        """The link that a token stands for, whatever has become of it; None where it is none, or was altered."""
        link = find_link(self._reader, tenant, token) if 0 < len(token) <= 200 else None
        if link is None or not link.is_bound(token):
            return None
        expires = from_micros(link.expires_at)
        over = "expired" if expires <= self._now() else "open"
        status = "used" if link.used_at is not None else "revoked" if link.revoked_at is not None else over
        return LinkView(
            link.run_id,
            link.step,
            link.generation,
            link.login,
            link.actions,
            link.shown_digest,
            status,
            expires,
            from_micros_or_none(link.used_at),
            link.outcome,
            link.on_behalf_of,
        )

    def list_deliveries(
        self, tenant: str, *, status: str = "", run_id: str = "", cursor: str | None = None, limit: int = 50
    ) -> Page[DeliveryView]:
        """Letters, the newest first.

        Raises:
            InvalidInput: there is no such status, or the cursor is not one of ours.
        """
        if status and status not in STATUSES:
            raise InvalidInput(f"There is no status '{status[:40]}'.", remedy=f"Use one of: {', '.join(STATUSES)}.")
        size = page_size(limit)
        before = older_than(cursor)
        found = list_deliveries(self._reader, tenant, status=status, run_id=run_id, before=before, limit=size + 1)
        items = tuple(
            DeliveryView(
                d.id, d.run_id, d.step, d.topic, d.sink, d.login, d.status, d.tries, d.error, from_micros(d.due),
                from_micros(d.created_at), from_micros(d.changed_at),
            )
            for d in found[:size]
        )  # fmt: skip
        return Page(items, str(found[size - 1].id) if len(found) > size else None)

    def count_dead_deliveries(self, tenant: str) -> int:
        """How many letters were given up and wait for an operator."""
        return count_dead_deliveries(self._reader, tenant)
