"""Finds ended runs that are due to be removed and has the writer do it, a few to a commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signoff.core.retention import days_for
from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.submit import submit_all
from signoff.store.reads import retention as stored
from signoff.store.reads.reader import Reader
from signoff.store.retention import DAY_US, asked_by, retention_of
from signoff.store.times import to_micros

PAGE = 100
TOGETHER = 25
_ACTOR = Actor("system", "retention", "Retention", "engine")


class Pruner:
    """Used by the sealer, whose thread it runs on: tombstones are leaves, and the sealer signs them."""

    def __init__(self, reader: Reader, writer: Writer, now: Callable[[], datetime]) -> None:
        self._reader, self._writer, self._now = reader, writer, now

    def prune(self, origin: str, signed: Callable[[], object], stopped: Callable[[], bool]) -> int:
        """Remove what is due; returns how many runs.

        Args:
            origin: the installation's name in the checkpoints.
            signed: called after each commit, so that its checkpoint is signed.
            stopped: ends the work between two commits.
        """
        count = 0
        for tenant, value in stored.list_rules(self._reader):
            for days, versions in self._versions(tenant, value).items():
                count += self._tenant(tenant, days, versions, origin, signed, stopped)
        return count

    def _versions(self, tenant: str, value: str) -> dict[int, list[int]]:
        """The versions of a tenant by the days that their runs are kept."""
        rule, found = retention_of(value), dict[int, list[int]]()
        if rule.days is None and rule.least is None:
            return found
        for key, _, _, document in stored.list_versions(self._reader, tenant):
            days = days_for(rule, asked_by(document))
            if days is not None:
                found.setdefault(days, []).append(key)
        return found

    def _tenant(
        self,
        tenant: str,
        days: int,
        versions: list[int],
        origin: str,
        signed: Callable[[], object],
        stopped: Callable[[], bool],
    ) -> int:
        count, after, before = 0, (0, 0), to_micros(self._now()) - days * DAY_US
        while page := stored.list_due(self._reader, tenant, versions, before, after, PAGE):
            after = page[-1][:2]
            left = [run_id for _, _, run_id in page]
            while left:
                if stopped():
                    return count
                together, later = left[:TOGETHER], left[TOGETHER:]
                args = {"runs": together, "origin": origin}
                (answer,) = submit_all(self._writer, _ACTOR, [("prune_runs", tenant, args)])
                told = answer.get("ok")
                if told is None:
                    return count
                count += len(told["pruned"])
                left = [*told["left"], *later]
                if told["pruned"]:
                    signed()
        return count
