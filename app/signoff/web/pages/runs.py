"""The list of runs: filters, pages by cursor, kept up to date."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from signoff import errors
from signoff.core.states import RunStatus
from signoff.engine.permissions import permitted
from signoff.engine.views import FeedEvent, RunRow
from signoff.web.escape import esc, label, moment
from signoff.web.live import tenant_topic
from signoff.web.models.words import run_word
from signoff.web.parts.markup import Safe, empty, heading, link, run_badge, table
from signoff.web.parts.panes import html
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor

PAUSE_MS = 300
FILTERS = ("status", "definition", "text", "cursor")


def runs_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """Runs of the tenant, newest first."""
    queries, tenant = visitor.site.signoff.queries, visitor.site.tenant
    asked = arguments(*FILTERS)
    waits = _Waits(visitor)

    def draw() -> str:
        page = queries.list_runs(
            tenant,
            status=asked["status"],
            definition=asked["definition"],
            text=asked["text"],
            cursor=asked["cursor"] or None,
            reader=visitor.person,
        )
        if not page.items:
            filtered = any(asked.values())
            more = link("/runs", "Show all runs") if filtered else link("/definitions", "Start one from a definition")
            return empty("No run fits these filters." if filtered else "There are no runs yet.", more=more)
        now = datetime.now(UTC)
        waits.look(page.items)
        rows = (_row(r, now, visitor.name_of(r.started_by), waits.of(r)) for r in page.items)
        head = ("Run", "State", "Started", "Changed", "Reason")
        return f"{table(head, rows, name='Runs')}{_more(asked, page.next_cursor)}"

    pane = html(draw())

    def again(_: list[FeedEvent]) -> None:
        pane.object = draw()

    if not asked["cursor"]:
        visitor.site.live.follow(tenant_topic(tenant), visitor.document, again, pause_ms=PAUSE_MS)
    titles = {d.name: d.title for d in queries.list_definitions(tenant)}
    return frame(
        visitor,
        "Runs",
        html(heading("Runs", side=_many(visitor))),
        html(_dead(visitor)),
        html(_filters(asked, titles), margin=(10, 0, 12, 0)),
        pane,
    )


def _dead(visitor: Visitor) -> str:
    """A way to the dead letters, for those who may read them, where there are any."""
    if "read_dead_letters" not in permitted(visitor.person.roles):
        return ""
    count = visitor.site.signoff.queries.count_dead_letters(visitor.site.tenant)
    words = f"{count} dead letter{'' if count == 1 else 's'}" if count else "No dead letters"
    given_up = visitor.site.signoff.queries.count_dead_deliveries(visitor.site.tenant)
    mails = f"{given_up} mail{'' if given_up == 1 else 's'} could not be sent" if given_up else "Mails and notices"
    limits = f" · {link('/limits', 'Limits')}" if "read_limits" in visitor.may else ""
    records = f" · {link('/records', 'Records')}" if "read_retention" in visitor.may else ""
    return f'<p class="row">{link("/dead-letters", words)} · {link("/letters", mails)}{limits}{records}</p>'


def _many(visitor: Visitor) -> Safe:
    return link("/operations", "One command for many…", css="button") if "bulk" in visitor.may else Safe("")


def _more(asked: dict[str, str], cursor: str | None) -> str:
    if not cursor:
        return ""
    query = urlencode({**{k: v for k, v in asked.items() if v}, "cursor": cursor})
    return f'<p class="row" style="margin-top:10px">{link(f"/runs?{query}", "Older runs", css="button")}</p>'


def _filters(asked: dict[str, str], titles: dict[str, str]) -> str:
    states = "".join(_option(s.value, run_word(s.value), asked["status"]) for s in RunStatus)
    names = "".join(_option(name, title, asked["definition"]) for name, title in titles.items())
    return f"""<form class="row filters" method="get" action="/runs" role="search">
<label>State <select name="status"><option value="">any</option>{states}</select></label>
<label>Process <select name="definition"><option value="">any</option>{names}</select></label>
<label>Text <input type="text" name="text" value="{esc(asked["text"])}" placeholder="run, key or person"></label>
<button class="button">Filter</button>{link("/runs", "Clear") if any(asked.values()) else ""}</form>"""


def _option(value: str, words: str, chosen: str) -> str:
    return f'<option value="{esc(value)}"{" selected" if value == chosen else ""}>{esc(words)}</option>'


class _Waits:
    """What running runs wait for; a run is read again only when something happened in it."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._known: dict[tuple[str, int], str] = {}

    def look(self, runs: Iterable[RunRow]) -> None:
        """Know these runs, and forget others."""
        shown = [r for r in runs if r.status == RunStatus.RUNNING.value and not r.reason]
        self._known = {_state(r): self._known.get(_state(r)) or self._read(r.run_id) for r in shown}

    def of(self, run: RunRow) -> str:
        """A sentence, or "" for a run that waits for nothing."""
        return self._known.get(_state(run), "")

    def _read(self, run_id: str) -> str:
        site = self._visitor.site
        try:
            view = site.signoff.queries.get_run(site.tenant, run_id, reader=self._visitor.person)
        except errors.NotFound:
            return ""
        return view.explanation.sentence if view.row.status == RunStatus.RUNNING.value else ""


def _state(run: RunRow) -> tuple[str, int]:
    return run.run_id, run.sequence


def _row(run: RunRow, now: datetime, starter: str, waits: str) -> tuple[object, ...]:
    key = f" · {label(run.business_key)}" if run.business_key else ""
    title = link(f"/runs/{run.run_id}", Safe(f"<b>{label(run.title)}</b>"))
    what = Safe(f'{title} v{run.version}{key}<div class="soft mono nowrap">{esc(run.run_id)}</div>')
    started = Safe(f'{moment(run.started_at, now)}<div class="soft small">by {label(starter)}</div>')
    reason = Safe(label(run.reason or waits))
    return what, run_badge(run.status), started, Safe(moment(run.changed_at, now)), reason
