"""Mails and chat notices: what was sent to whom, what could not be sent, and a way to send it again."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.states import Actor
from signoff.engine.notice_queries import STATUSES
from signoff.engine.permissions import who_may
from signoff.engine.views import DeliveryView, FeedEvent
from signoff.errors import Forbidden
from signoff.web.escape import esc, label, moment
from signoff.web.live import tenant_topic
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.markup import Safe, empty, heading, link, notice
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor, in_thread

PAUSE_MS = 500
AGAIN = "Send again"
WORDS = {"pending": "waiting to be sent", "sent": "sent", "moot": "not needed any more", "dead": "given up"}


def letters_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """The page.

    Raises:
        Forbidden: the person may not read them.
    """
    if "read_deliveries" not in visitor.may:
        raise Forbidden(
            f"Expected to look at letters that were sent, but that takes the role {who_may('read_deliveries')}.",
            remedy="Ask someone who has it.",
        )
    asked = arguments("cursor", "status")
    page = _Letters(visitor, asked["cursor"], asked["status"] if asked["status"] in STATUSES else "")
    return frame(visitor, "Mails and notices", *page.content())


class _Letters:
    def __init__(self, visitor: Visitor, cursor: str, status: str) -> None:
        self.visitor, self.cursor, self.status = visitor, cursor, status
        self.dialog, self.said = AskDialog(), html()
        self.cards = pn.Column(sizing_mode="stretch_width", margin=(10, 0, 0, 0))
        self.more = html()
        self._shown: tuple[DeliveryView, ...] | None = None
        self._draw()
        topic = tenant_topic(visitor.site.tenant)
        visitor.site.live.follow(topic, visitor.document, self._again, pause_ms=PAUSE_MS)

    def content(self) -> list[Any]:
        """What the page shows, one below the other."""
        crumb = Safe(link("/runs", "Runs"))
        filters = [("", "All"), *((s, WORDS[s].capitalize()) for s in STATUSES)]
        row = " ".join(
            link(f"/letters{f'?status={s}' if s else ''}", words, css="button main" if s == self.status else "button")
            for s, words in filters
        )
        head = html(heading("Mails and notices", crumb=crumb))
        return [
            head,
            html(f'<div class="row">{row}</div>', margin=(10, 0, 0, 0)),
            self.said,
            self.cards,
            self.more,
            self.dialog,
        ]

    def _again(self, _: list[FeedEvent]) -> None:
        self._draw()

    def _draw(self) -> None:
        queries, tenant = self.visitor.site.signoff.queries, self.visitor.site.tenant
        found = queries.list_deliveries(tenant, status=self.status, cursor=self.cursor or None)
        if found.items == self._shown:
            return
        self._shown = found.items
        self.cards[:] = [self._card(x) for x in found.items] or [html(empty("There are no such letters."))]
        path = f"/letters?cursor={found.next_cursor}{f'&status={self.status}' if self.status else ''}"
        self.more.object = f'<p class="row">{link(path, "Older ones", css="button")}</p>' if found.next_cursor else ""

    def _card(self, x: DeliveryView) -> Any:
        to = self.visitor.name_of(x.login) if x.login else x.sink
        error = f'<div class="said">{label(x.error)}</div>' if x.error else ""
        tries = f" · tried {x.tries} time{'' if x.tries == 1 else 's'}" if x.tries else ""
        about = f"{x.topic.replace('.', ' ')}{f' · {x.step}' if x.step else ''}"
        words = html(
            f'<div class="card stack" data-letter="{x.id}" data-status="{esc(x.status)}"><div><b>{label(to)}</b> – '
            f"{link(f'/runs/{x.run_id}', about)}</div>{error}"
            f'<div class="soft small">{esc(WORDS[x.status])}{tries} · {moment(x.changed_at, datetime.now(UTC))}'
            f" · {esc(x.run_id)}</div></div>"
        )
        words.styles = {"flex": "1 1 320px", "min-width": "0"}
        buttons = []
        if x.status == "dead" and "retry_delivery" in self.visitor.may:
            ask = self.visitor.handler(lambda _: self._ask(x, to), self._say)
            buttons = [pmui.Button(label=AGAIN, variant="outlined", margin=0, on_click=ask)]
        return wrap(words, *buttons, gap="12px", align="center", margin=(0, 0, 10, 0), sizing_mode="stretch_width")

    def _ask(self, x: DeliveryView, to: str) -> None:
        reason = pmui.TextAreaInput(
            label="Reason", rows=2, max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0)
        )
        do = self.visitor.command(partial(self._send, x, reason), self.dialog.say)
        self.dialog.ask("Send a letter again", f"To {to}. It is written anew, with a new link.", [reason], AGAIN, do)

    async def _send(self, x: DeliveryView, reason: Any, actor: Actor) -> None:
        given = (reason.value_input or reason.value or "").strip()
        reason.error_state = not given
        reason.helper_text = "" if given else "Say why; it is kept in the audit trail."
        if not given:
            return
        site = self.visitor.site
        self.dialog.wait(True)
        try:
            await in_thread(lambda: site.signoff.do("retry_delivery", actor, site.tenant, id=x.id, reason=given))
        finally:
            self.dialog.wait(False)
        self.dialog.close()
        self._say("It is sent again.", "success")
        self._draw()

    def _say(self, words: str, kind: str) -> None:
        self.said.object = notice(words, kind)
