"""The list of definitions, the page of one with its versions, and the start of a new draft."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.views import DefinitionRow
from signoff.web.escape import esc, label, moment
from signoff.web.models.naming import identifier
from signoff.web.parts.markup import Safe, digest_text, empty, heading, link, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import frame
from signoff.web.site import Visitor, in_thread


def definitions_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """All definitions with their newest version and draft."""
    rows = visitor.site.signoff.queries.list_definitions(visitor.site.tenant)
    new = link("/new", "New definition", css="button main") if "create_draft" in visitor.may else ""
    now = datetime.now(UTC)
    head = ("Process", "Published", "Draft", "Open runs", "")
    body = (
        table(head, (_row(r, now, visitor.may) for r in rows), name="Definitions")
        if rows
        else empty("There are no definitions yet.", more=new)
    )
    return frame(visitor, "Definitions", html(heading("Definitions", side=new)), html(body, margin=(12, 0, 0, 0)))


def _row(d: DefinitionRow, now: datetime, may: frozenset[str]) -> tuple[object, ...]:
    path = f"/definitions/{d.name}"
    title = link(f"{path}/versions", Safe(f"<b>{label(d.title)}</b>"))
    what = Safe(f'{title}<div class="soft small mono">{esc(d.name)}</div>')
    version = "–"
    if d.latest_version:
        retired = " · archived" if d.archived else ""
        version = Safe(f"version {d.latest_version}{retired}<div>{digest_text(d.latest_digest)}</div>")
    draft = "–"
    if d.draft_revision:
        when = f"{moment(d.draft_at, now)} by {label(d.draft_by)}"
        draft = Safe(f'revision {d.draft_revision}<div class="soft small">{when}</div>')
    ways = []
    if d.latest_version and not d.archived and "start_run" in may:
        ways.append(link(f"{path}/start", "Start", css="button main"))
    if d.draft_revision:
        ways.append(link(f"{path}/draft", "Edit" if "save_draft" in may else "Look", css="button"))
    return what, version, draft, str(d.open_runs), Safe(f'<div class="row">{"".join(ways)}</div>')


def new_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """Begin a draft: from a template or with an empty canvas."""
    if "create_draft" not in visitor.may:
        raise errors.Forbidden("Your roles do not let you begin definitions.", remedy="Ask a designer.")
    said = html("")
    title = pmui.TextInput(
        label="Title", placeholder="Purchase approval", width=340, margin=(0, 0, 10, 0), size="small"
    )

    def say(words: str, kind: str) -> None:
        said.object = notice(words, kind)

    async def begin_empty(actor: Actor) -> None:
        words = (title.value_input or title.value or "").strip()
        if not words:
            say("Give the new definition a title first.", "error")
            return
        document: dict[str, Any] = {"format": "signoff/1", "name": "", "title": words, "steps": [], "edges": []}
        await _create(visitor, actor, document, {})

    async def begin_from(template: dict[str, Any], actor: Actor) -> None:
        await _create(visitor, actor, dict(template["document"]), template.get("layout") or {})

    blank = pn.Column(
        html("<h2>Empty canvas</h2>", margin=(0, 0, 10, 0)),
        title,
        pmui.Button(label="Begin empty", variant="contained", margin=0, on_click=visitor.command(begin_empty, say)),
        styles=_CARD,
        margin=0,
    )
    cards = [
        _card(t, visitor.command(partial(begin_from, t), say)) for t in visitor.site.signoff.queries.list_templates()
    ]
    return frame(
        visitor,
        "New definition",
        html(heading("New definition", crumb=link("/definitions", "Definitions"))),
        said,
        wrap(*cards, blank, gap="14px", margin=(12, 0, 0, 0), align="stretch", sizing_mode="stretch_width"),
    )


_CARD = {
    "border": "1px solid light-dark(#dfe3eb, #333a48)",
    "border-radius": "10px",
    "padding": "16px",
    "flex": "1 1 300px",
    "max-width": "420px",
    "min-width": "0",
}


def _card(template: dict[str, Any], begin: Any) -> Any:
    document = template["document"]
    title, steps = document.get("title", document.get("name", "")), len(document.get("steps", []))
    about = f'<p class="said own">{esc(template.get("summary", ""))}</p><p class="soft small">{steps} steps</p>'
    words = f"<h2>{label(title)}</h2>{about}"
    button = pmui.Button(label=f"Use “{title}”", variant="outlined", margin=0, on_click=begin)
    return pn.Column(html(f'<div class="stack">{words}</div>', margin=(0, 0, 12, 0)), button, styles=_CARD, margin=0)


async def _create(visitor: Visitor, actor: Actor, document: dict[str, Any], layout: dict[str, Any]) -> None:
    site = visitor.site
    taken = {d.name for d in site.signoff.queries.list_definitions(site.tenant)}
    wanted = document.get("name") or document.get("title", "")
    document["name"] = identifier(str(wanted), taken, fallback="definition")
    answer = await in_thread(lambda: site.signoff.create_draft(actor, site.tenant, document, layout))
    visitor.go(f"/definitions/{answer['name']}/draft")
