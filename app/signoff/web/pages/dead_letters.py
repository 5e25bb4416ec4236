"""Dead letters: work that failed for good, with what was tried, and a way to try it again."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.states import Actor
from signoff.engine.permissions import permitted, who_may
from signoff.engine.views import DeadLetter, FeedEvent
from signoff.errors import Forbidden
from signoff.web.escape import esc, label, moment
from signoff.web.live import tenant_topic
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.markup import Safe, empty, heading, link, notice
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor, in_thread

PAUSE_MS = 300
REPLAY = "Replay"
_WORDS = "It is tried again in a new generation, with the same idempotency key."


def dead_letters_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """The page.

    Raises:
        Forbidden: the person may not read them.
    """
    if "read_dead_letters" not in permitted(visitor.person.roles):
        raise Forbidden(
            f"Expected to read the dead letters, but that takes the role {who_may('read_dead_letters')}.",
            remedy="Ask someone who has it.",
        )
    page = _DeadLetters(visitor, arguments("cursor")["cursor"])
    return frame(visitor, "Dead letters", *page.content())


class _DeadLetters:
    def __init__(self, visitor: Visitor, cursor: str) -> None:
        self.visitor, self.cursor = visitor, cursor
        self.dialog, self.said = AskDialog(), html()
        self.cards = pn.Column(sizing_mode="stretch_width", margin=(10, 0, 0, 0))
        self.more = html()
        self._shown: tuple[DeadLetter, ...] | None = None
        self._draw()
        topic = tenant_topic(visitor.site.tenant)
        visitor.site.live.follow(topic, visitor.document, self._again, pause_ms=PAUSE_MS)

    def content(self) -> list[Any]:
        """What the page shows, one below the other."""
        crumb = Safe(link("/runs", "Runs"))
        about = html('<p class="soft">Activities that failed for good and that nothing in their process handled.</p>')
        return [html(heading("Dead letters", crumb=crumb)), about, self.said, self.cards, self.more, self.dialog]

    def _again(self, _: list[FeedEvent]) -> None:
        self._draw()

    def _draw(self) -> None:
        queries, tenant = self.visitor.site.signoff.queries, self.visitor.site.tenant
        found = queries.list_dead_letters(tenant, cursor=self.cursor or None)
        if found.items == self._shown:
            return
        self._shown = found.items
        self.cards[:] = [self._card(x) for x in found.items] or [html(empty("There are no dead letters.", more=""))]
        older = (
            link(f"/dead-letters?cursor={found.next_cursor}", "Older ones", css="button") if found.next_cursor else ""
        )
        self.more.object = f'<p class="row" style="margin-top:10px">{older}</p>' if older else ""

    def _card(self, x: DeadLetter) -> Any:
        key = f" · {label(x.business_key)}" if x.business_key else ""
        times = "once" if x.attempts == 1 else f"{x.attempts} times"
        words = html(
            f'<div class="card stack" data-run="{esc(x.run_id)}" data-step="{esc(x.step)}">'
            f"<div>{link(f'/runs/{x.run_id}', Safe(f'<b>{label(x.label)}</b>'))} in {label(x.title)}{key}</div>"
            f'<div class="said">{label(x.message)}</div>'
            f'<div class="soft small"><span class="mono">{esc(x.code)}</span> · tried {times} · failed '
            f"{moment(x.since, datetime.now(UTC))} · {esc(x.run_id)}</div></div>"
        )
        words.styles = {"flex": "1 1 320px", "min-width": "0"}
        buttons = []
        if "replay_dead_letter" in permitted(self.visitor.person.roles):
            ask = self.visitor.handler(lambda _: self._ask(x), self._say)
            buttons = [pmui.Button(label=REPLAY, variant="outlined", margin=0, on_click=ask)]
        return wrap(words, *buttons, gap="12px", align="center", margin=(0, 0, 10, 0), sizing_mode="stretch_width")

    def _ask(self, x: DeadLetter) -> None:
        reason = pmui.TextAreaInput(
            label="Reason", rows=2, max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0)
        )
        send = partial(self._send, x, reason, secrets.token_urlsafe(18))
        do = self.visitor.command(send, self.dialog.say)
        self.dialog.ask("Replay a dead letter", f"‘{x.label}’: {_WORDS}", [reason], REPLAY, do)

    async def _send(self, x: DeadLetter, reason: Any, key: str, actor: Actor) -> None:
        given = (reason.value_input or reason.value or "").strip()
        reason.error_state = not given
        reason.helper_text = "" if given else "Say why; it is kept in the history."
        if not given:
            return
        site = self.visitor.site
        self.dialog.wait(True)
        try:
            await in_thread(
                lambda: site.signoff.operate(
                    "replay_dead_letter",
                    actor,
                    site.tenant,
                    x.run_id,
                    step=x.step,
                    reason=given,
                    seen_sequence=x.sequence,
                    idempotency_key=f"web:{actor.id}:{key}",
                )
            )
        finally:
            self.dialog.wait(False)
        self.dialog.close()
        self._say(f"Replaying ‘{x.label}’ of {x.run_id}.", "success")
        self._draw()

    def _say(self, words: str, kind: str) -> None:
        self.said.object = notice(words, kind)
