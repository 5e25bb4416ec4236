"""The inbox: what waits for this person, and the page on which one approval is decided or one form filled in."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

import panel as pn

from signoff import errors
from signoff.engine.views import FeedEvent, InboxItem
from signoff.web.escape import clock, esc, label, moment
from signoff.web.live import run_topic, tenant_topic
from signoff.web.models.words import until
from signoff.web.parts.filling import MAX_COMMENT_CHARS, filling_form
from signoff.web.parts.markup import Safe, digest_text, empty, heading, link, notice, pairs, table
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
    own = "" if item.may_decide else Safe(f'<div class="soft small">{esc(item.why_not)}</div>')
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
    facts = _facts(item, visitor.name_of(item.started_by))
    crumb = Safe(f"{link('/inbox', 'Inbox')} / {label(item.title)}")
    return frame(
        visitor,
        item.label,
        html(heading(Safe(label(item.label)), crumb=crumb)),
        changed,
        html(f'<div class="stack" style="max-width:760px;margin-top:12px">{facts}{_form(visitor, item)}</div>'),
    )


def _facts(item: InboxItem, asker: str) -> str:
    now = datetime.now(UTC)
    asks = (
        f'<div class="card"><h3>What to do</h3><p class="said own">{esc(item.instructions)}</p></div>'
        if item.instructions
        else ""
    )
    count = f"{item.given} of {item.required} approvals given" if item.required > 1 else ""
    about: dict[str, Any] = {
        "Asked by": asker,
        **({"Reference": item.business_key} if item.business_key else {}),
        "Waiting since": Safe(f"{clock(item.opened_at)} ({moment(item.opened_at, now)})"),
        "Due": Safe(f"{clock(item.due)} ({esc(until(item.due, now))})") if item.due else "no deadline",
        "Run": link(f"/runs/{item.run_id}", item.run_id),
        "Definition": Safe(f"{label(item.title)}, version {item.version} {digest_text(item.digest)}"),
    }
    if count:
        about["Approvals"] = count
    shown = pairs(item.shown) if item.shown else "<p>Nothing is shown.</p>"
    title = "What you decide on" if item.kind == "approval" else "What you should know"
    told = f'<div class="card"><h3>{title}</h3>{shown}</div>' if item.shown or item.kind == "approval" else ""
    return f"""{asks}{told}
<div class="card"><h3>About this request</h3>{pairs(about)}</div>"""


def _button(outcome: str, words: str, css: str, *, needs_comment: bool) -> str:
    """A button that decides; the browser asks for the comment where this outcome needs one."""
    free = "" if needs_comment else " formnovalidate"
    return f'<button class="button {css}" name="outcome" value="{outcome}"{free}>{words}</button>'


def _return_button(step: str, name: str, needs_comment: bool) -> str:
    words = f"Return to “<bdi>{esc(name)}</bdi>”"
    return _button(f"returned:{esc(step)}", words, "", needs_comment=needs_comment)


def _form(visitor: Visitor, item: InboxItem) -> str:
    if not item.may_decide:
        withdrawing = _withdrawing(visitor, item) if item.may_withdraw else ""
        return f"{notice(item.why_not or 'You may not answer this.', 'warning')}{withdrawing}"
    if item.kind == "form":
        return filling_form(item, visitor.visit.form_token)
    hidden = {
        "token": visitor.visit.form_token,
        "generation": item.generation,
        "shown_digest": item.shown_digest,
        "key": secrets.token_urlsafe(18),
    }
    fields = "".join(f'<input type="hidden" name="{n}" value="{esc(v)}">' for n, v in hidden.items())
    needs = item.comment_required_on
    words = {"approved": "approve", "rejected": "reject", "returned": "return it"}
    verbs = [verb for outcome, verb in words.items() if outcome in needs]
    when = f"(needed when you {' or '.join(verbs)})" if verbs else "(if you like)"
    buttons = _button("approved", "Approve", "good", needs_comment="approved" in needs)
    buttons += _button("rejected", "Reject", "bad", needs_comment="rejected" in needs)
    buttons += "".join(_return_button(step, name, "returned" in needs) for step, name in item.returns_to)
    return f"""<form class="card stack" method="post" action="/decide/{esc(item.run_id)}/{esc(item.step)}">{fields}
<label class="field">Comment <span class="soft">{when}</span>
<textarea name="comment" maxlength="{MAX_COMMENT_CHARS}" rows="3"{" required" if needs else ""}></textarea></label>
<div class="row">{buttons}</div></form>"""


def _withdrawing(visitor: Visitor, item: InboxItem) -> str:
    """Taking one's own vote back while others are still asked."""
    hidden = {"token": visitor.visit.form_token, "generation": item.generation, "key": secrets.token_urlsafe(18)}
    fields = "".join(f'<input type="hidden" name="{n}" value="{esc(v)}">' for n, v in hidden.items())
    return f"""<form class="card stack" method="post" action="/withdraw/{esc(item.run_id)}/{esc(item.step)}">{fields}
<p>It is still open. You may take your vote back and decide again; both stay in the history.</p>
<label class="field">Comment <span class="soft">(if you like)</span>
<textarea name="comment" maxlength="{MAX_COMMENT_CHARS}" rows="2"></textarea></label>
<div class="row"><button class="button">Withdraw your vote</button></div></form>"""
