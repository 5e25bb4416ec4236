"""Data frames over an installation: runs, steps, events, approvals. Times are UTC timestamps, durations timedeltas."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pandas as pd

from signoff.engine.client import Signoff
from signoff.engine.queries import Queries
from signoff.engine.views import RunRow, RunView

RUN_COLUMNS = (
    "run_id", "definition", "title", "version", "status", "business_key", "started_by", "started_at", "changed_at",
    "reason",
)  # fmt: skip
STEP_COLUMNS = (
    "run_id", "definition", "step", "label", "kind", "status", "generation", "attempt", "since", "due", "outcome",
    "error", "waits_for",
)  # fmt: skip
EVENT_COLUMNS = ("run_id", "definition", "sequence", "at", "type", "step", "actor", "sentence")
APPROVAL_COLUMNS = (
    "run_id", "definition", "step", "label", "round", "opened_at", "settled_at", "outcome", "decided_by", "waited",
    "open",
)  # fmt: skip


def frames_of(signoff: Signoff, tenant: str = "default") -> Frames:
    """The frames of a running installation, embedded or remote."""
    return Frames(signoff.queries, tenant)


class Frames:
    """Reads through `queries`; every call reads anew."""

    def __init__(self, queries: Queries, tenant: str = "default") -> None:
        self._queries = queries
        self._tenant = tenant

    def _rows(self, definition: str, limit: int) -> Iterator[RunRow]:
        cursor, left = None, limit
        while left > 0:
            page = self._queries.list_runs(self._tenant, definition=definition, cursor=cursor, limit=min(left, 200))
            yield from page.items
            left -= len(page.items)
            cursor = page.next_cursor
            if cursor is None:
                return

    def runs(self, definition: str = "", limit: int = 10_000) -> pd.DataFrame:
        """One row per run, the most recently changed first, with its duration so far.

        Args:
            definition: only runs of this definition; "" for all.
            limit: at most so many rows.
        """
        frame = pd.DataFrame(
            [[getattr(r, c) for c in RUN_COLUMNS] for r in self._rows(definition, limit)], columns=list(RUN_COLUMNS)
        )
        frame["duration"] = pd.to_datetime(frame["changed_at"], utc=True) - pd.to_datetime(
            frame["started_at"], utc=True
        )
        return frame

    def steps(self, definition: str = "", limit: int = 1_000) -> pd.DataFrame:
        """One row per step of each run: where it is, since when, and for whom it waits."""
        rows = []
        for row in self._rows(definition, limit):
            view = self._queries.get_run(self._tenant, row.run_id)
            for s in view.explanation.steps:
                state = view.state.steps[s.step]
                error = state.error.message if state.error else ""
                rows.append(
                    [
                        row.run_id,
                        row.definition,
                        s.step,
                        s.label,
                        s.kind,
                        s.status,
                        state.generation,
                        state.attempt,
                        s.since,
                        s.due,
                        state.outcome,
                        error,
                        ", ".join(s.waits_for),
                    ]
                )
        return pd.DataFrame(rows, columns=list(STEP_COLUMNS))

    def events(self, run_id: str = "", definition: str = "", limit: int = 1_000) -> pd.DataFrame:
        """The histories of one run or of all (at most `limit` runs), in order within each run."""
        rows = []
        for row in self._rows(definition, limit):
            if run_id and row.run_id != run_id:
                continue
            for e in self._history(row.run_id):
                rows.append([row.run_id, row.definition, *e])
        return pd.DataFrame(rows, columns=list(EVENT_COLUMNS))

    def _history(self, run_id: str) -> Iterator[tuple[int, datetime, str, str, str, str]]:
        after = 0
        while events := self._queries.list_events(self._tenant, run_id, after=after, limit=2_000):
            for e in events:
                yield e.sequence, e.at, e.type, e.step, e.actor, e.sentence
            after = events[-1].sequence

    def approvals(self, definition: str = "", limit: int = 1_000, now: datetime | None = None) -> pd.DataFrame:
        """One row per approval that was opened: how long it waited (so far) and how it was settled.

        Args:
            definition: only runs of this definition; "" for all.
            limit: at most so many runs.
            now: the end of waiting for open ones; by default the moment of the call.
        """
        end = pd.Timestamp(now) if now is not None else pd.Timestamp.now("UTC")
        rows = []
        for row in self._rows(definition, limit):
            view = self._queries.get_run(self._tenant, row.run_id)
            rows += [[row.run_id, row.definition, *a] for a in self._approvals_of(view, end)]
        frame = pd.DataFrame(rows, columns=list(APPROVAL_COLUMNS))
        return frame.sort_values("waited", ascending=False, ignore_index=True)

    def _approvals_of(self, view: RunView, end: pd.Timestamp) -> list[list[object]]:
        state = view.state
        opened: dict[str, list[object]] = {}
        for e in self._queries.list_events(self._tenant, view.row.run_id, limit=2_000):
            if e.type == "approval.opened":
                opened[f"{e.step}/{e.data.get('generation', 1)}"] = [
                    e.step, view.plan.label(e.step), e.data.get("round", 1), e.at, None, "", "", None, True,
                ]  # fmt: skip
            elif e.type in ("approval.settled", "approval.expired", "step.skipped", "step.cancelled"):
                for key in [k for k in opened if k.startswith(f"{e.step}/") and opened[k][8]]:
                    outcome = e.data.get("outcome") or e.type.rsplit(".", 1)[1]
                    decided_by = (
                        (e.data.get("output") or {}).get("decided_by", []) if e.type == "approval.settled" else []
                    )
                    opened[key][4:9] = [e.at, outcome, ", ".join(decided_by), None, False]
        for found in opened.values():
            until = found[4] if found[4] is not None else (state.since if state.is_terminal else end)
            found[7] = pd.Timestamp(until) - pd.Timestamp(found[3])  # type: ignore[arg-type]
        return list(opened.values())
