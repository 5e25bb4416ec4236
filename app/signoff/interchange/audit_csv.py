"""Histories as CSV that spreadsheets show as what they are: a row for each event, no cell a formula, times with offset.

The text begins with a byte order mark, so that spreadsheets read UTF-8 without being asked. A cell that a spreadsheet
would take for a formula is preceded by an apostrophe, which readers of the file see; `signoff audit export` has
everything untouched.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from signoff.engine.queries import Queries
from signoff.engine.views import EventView, RunRow
from signoff.errors import SignoffError

COLUMNS = (
    "run", "definition", "version", "business key", "sequence", "at", "event", "step", "actor", "what happened",
    "outcome", "comment or reason", "data",
)  # fmt: skip
BOM = "\ufeff"
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What spreadsheets take for the beginning of a formula, or skip before one."""


def audit_csv(queries: Queries, tenant: str, run_ids: Iterable[str]) -> Iterator[str]:
    """Lines of the file: a header, then every event of the runs in order."""
    yield BOM + _line(COLUMNS)
    for run_id in run_ids:
        row, after = queries.get_run(tenant, run_id).row, 0
        try:
            while page := queries.list_events(tenant, run_id, after=after):
                yield from (_line(_cells(row, event)) for event in page)
                after = page[-1].sequence
        except SignoffError as error:
            yield _line((run_id, row.title, row.version, "", "", "", "", "", "", str(error), "", "", ""))


def all_runs(queries: Queries, tenant: str, definition: str = "") -> Iterator[str]:
    """Ids of all runs, the most recently changed first."""
    cursor: str | None = None
    while True:
        page = queries.list_runs(tenant, definition=definition, cursor=cursor, limit=200)
        yield from (r.run_id for r in page.items)
        cursor = page.next_cursor
        if cursor is None:
            return


def _cells(run: RunRow, event: EventView) -> tuple[object, ...]:
    data = event.data
    return (
        run.run_id,
        run.title,
        run.version,
        run.business_key,
        event.sequence,
        event.at.isoformat(),
        event.type,
        event.step,
        event.actor,
        event.sentence,
        data.get("outcome", ""),
        data.get("comment") or data.get("reason") or "",
        json.dumps(data, ensure_ascii=False, sort_keys=True),
    )


def _line(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow([safe_cell(c) for c in cells])
    return out.getvalue()


def safe_cell(value: object) -> str:
    """The text of a cell, never a formula."""
    text = str(value).replace("\x00", "\ufffd")
    return f"'{text}" if text.startswith(_STARTS) or text.lstrip().startswith(_STARTS) else text
