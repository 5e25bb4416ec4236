"""The inbox: what waits for this person, and the page on which one approval is decided or one form filled in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import panel as pn

from signoff import errors
from signoff.engine.views import FeedEvent, InboxItem
from signoff.web.escape import esc, label, moment
from signoff.web.live import run_topic, tenant_topic
from signoff.web.models.words import until
from signoff.web.parts.answering import task_facts, task_form
from signoff.web.parts.markup import Safe, empty, heading, link, notice, table
from signoff.web.parts.panes import html
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor

PAUSE_MS = 300


def inbox_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """Open approvals and forms that the person may answer, oldest first, kept up to date."""
    queries, tenant, login = visitor.site.signoff.queries, visitor.site.tenant, visitor.person.login
    cursor = arguments("cursor")["cursor"]

    def draw() -> str:
        page = queries.list_inbox(tenant, login, cursor=cursor or None)
        if not page.items:
            return empty("Nothing waits for you.", more=link("/runs", "Look at the runs"))
        more = link(f"/inbox?cursor={page.next_cursor}", "Show more", css="button") if page.next_cursor else ""
        head = ("What", "Process", "Asked by", "Waiting since", "Due")
        rows = (_row(i, visitor.name_of(i.started_by)) for i in page.items)
        return f'{table(head, rows, name="Inbox")}<p class="row">{more}</p>'

    pane = html(draw())

    def again(_: list[FeedEvent]) -> None:
        pane.object = draw()

    visitor.site.live.follow(tenant_topic(tenant), visitor.document, again, pause_ms=PAUSE_MS)
    return frame(visitor, "Inbox", html(heading("Inbox")), pn.Spacer(height=12), pane)


def _row(item: InboxItem, asker: str) -> tuple[object, ...]:
    now = datetime.now(UTC)
    due = Safe(f'<span title="{esc(item.due)}">{esc(until(item.due, now))}</span>') if item.due else "–"
    behalf = f"for {item.on_behalf_of_name}, who is absent" if item.on_behalf_of else ""
    own = Safe(f'<div class="soft small">{esc(behalf)}</div>') if behalf and item.may_decide else ""
    own = own if item.may_decide else Safe(f'<div class="soft small">{esc(item.why_not)}</div>')
    key = Safe(f'<div class="soft small">{label(item.business_key)}</div>') if item.business_key else ""
    what = Safe(f"{link(_path(item), Safe(f'<b>{label(item.label)}</b>'))}{key}{own}")
    return what, Safe(label(item.title)), Safe(label(asker)), Safe(moment(item.opened_at, now)), due


def _path(item: InboxItem) -> str:
    return f"/inbox/{item.run_id}/{item.step}"


def task_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """One approval or form: exactly what is shown, and a plain form that answers it."""
    run_id, step = params["run_id"], params["step"]
    tenant = visitor.site.tenant

    def look() -> InboxItem | None:
        return visitor.site.signoff.queries.find_task(tenant, visitor.person.login, run_id, step)

    item = look()
    if item is None:
        raise errors.NotFound(
            "Nothing waits for you here.",
            remedy="It may have been answered already; your inbox shows what is open.",
        )
    changed = html("")

    def again(_: list[FeedEvent]) -> None:
        now = look()
        if now is None or (item.may_decide and not now.may_decide):
            why = now.why_not if now else "It is not yours to answer any more."
            sent = "A decision" if item.kind == "approval" else "A form"
            changed.object = notice(f"{why} {sent} sent now is refused.", "warning")
        elif (now.generation, now.round, now.shown_digest) != (item.generation, item.round, item.shown_digest):
            changed.object = notice(
                "This changed while you were reading. Load the page again to see what waits now.", "warning"
            )

    visitor.site.live.follow(run_topic(tenant, run_id), visitor.document, again)
    facts = task_facts(item, visitor.name_of(item.started_by))
    elsewhere = visitor.site.sign_in_again(visitor.visit, _path(item))
    form = task_form(item, visitor.visit.form_token, elsewhere=elsewhere)
    crumb = Safe(f"{link('/inbox', 'Inbox')} / {label(item.title)}")
    return frame(
        visitor,
        item.label,
        html(heading(Safe(label(item.label)), crumb=crumb)),
        changed,
        html(f'<div class="stack" style="max-width:760px;margin-top:12px">{facts}{form}</div>'),
    )
