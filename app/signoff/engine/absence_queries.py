"""Reads about absences: one's own, those in which one decides for others, and all of them for administrators."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signoff.core.facts import Absence
from signoff.engine.views import AbsenceView
from signoff.store.absences import AbsenceRow, facts_of, list_absences
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, to_micros


class AbsenceQueries:
    """Mixed into `Queries`, which owns the reader and the clock."""

    _reader: Reader
    _now: Callable[[], datetime]

    def list_absences(
        self, tenant: str, *, person: str = "", delegate: str = "", everything: bool = False
    ) -> list[AbsenceView]:
        """Absences that are not over, the earliest first; with `everything` also what is over or was revoked."""
        now = to_micros(self._now())
        found = list_absences(
            self._reader,
            tenant,
            person=person.casefold(),
            delegate=delegate.casefold(),
            after=0 if everything else now,
            revoked=everything,
        )
        return [_view(a, now) for a in found]

    def absences_now(self, tenant: str, delegate: str) -> tuple[Absence, ...]:
        """Those in which this person decides for somebody now."""
        now = self._now()
        found = facts_of(list_absences(self._reader, tenant, delegate=delegate.casefold(), after=to_micros(now)))
        return tuple(a for a in found if a.begins <= now)


def _view(a: AbsenceRow, now: int) -> AbsenceView:
    status = "revoked" if a.revoked_at else "over" if a.ends <= now else "now" if a.begins <= now else "upcoming"
    return AbsenceView(
        a.id,
        a.person,
        a.delegate,
        from_micros(a.begins),
        from_micros(a.ends),
        a.reason,
        a.set_by,
        from_micros(a.set_at),
        status,
        a.revoked_by or "",
        a.revoked_reason or "",
    )
