"""Limits of the tenant: what is allowed, what is used now, and for administrators the way to change them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.limits import UNLIMITED
from signoff.core.states import Actor
from signoff.engine.permissions import who_may
from signoff.engine.views import LimitsView
from signoff.errors import Forbidden
from signoff.web.escape import label, moment
from signoff.web.live import tenant_topic
from signoff.web.parts.inputs import number_input, text_input
from signoff.web.parts.markup import Safe, empty, heading, link, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.parts.shares import ShareRows, share_words
from signoff.web.shell import frame
from signoff.web.site import Visitor, in_thread

PAUSE_MS = 1_000
COUNTS = {
    "open_runs": ("Open runs", "further runs do not start"),
    "starts_per_minute": ("Runs started in a minute", "further ones are refused with the time to wait"),
    "armed_timers": ("Armed timers", "further runs do not start"),
    "events_per_run": ("Events of a run", "the run is paused each time it has grown by as many"),
    "steps": ("Steps of a definition", "checked when it is published"),
    "depth": ("Steps on the longest branch", "checked when it is published"),
    "weight": ("Share beside other tenants", "2 gets twice as many calls as 1 when both wait"),
}
RUN_TIME = ("Time of a run", "a duration such as P90D; then the run is paused")
_REQUIRED = frozenset({"steps", "depth", "weight"})


def limits_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """The page.

    Raises:
        Forbidden: the person may not read them.
    """
    if "read_limits" not in visitor.may:
        raise Forbidden(
            f"Expected to look at the limits, but that takes the role {who_may('read_limits')}.",
            remedy="Ask someone who has it.",
        )
    queries, tenant = visitor.site.signoff.queries, visitor.site.tenant
    used = html()

    def draw(_: object = None) -> None:
        used.object = _used(queries.limits.view(tenant))

    draw()
    visitor.site.live.follow(tenant_topic(tenant), visitor.document, draw, pause_ms=PAUSE_MS)
    editor = [_Editor(visitor, draw).whole] if "set_limits" in visitor.may else []
    head = html(heading("Limits", crumb=Safe(link("/runs", "Runs"))))
    about = html('<p class="soft">Over a limit, work is paused, held back or refused; nothing is lost.</p>')
    return frame(visitor, "Limits", head, about, used, *editor)


def _used(view: LimitsView) -> str:
    now = {"open_runs": view.open_runs, "armed_timers": view.armed_timers}
    rows: list[tuple[object, object, object]] = []
    for name, (words, effect) in COUNTS.items():
        value, count = getattr(view.limits, name), now.get(name)
        rows.append((words, "no limit" if value is None else f"{value} · {effect}", "" if count is None else count))
    rows.append(
        (RUN_TIME[0], f"{view.limits.run_time} · then it is paused" if view.limits.run_time else "no limit", "")
    )
    rows.append(("All calls", share_words(view.limits.activities), sum(c.under_way for c in view.calls)))
    for kind, shares in (("pool", view.limits.pools), ("connector", view.limits.connectors)):
        for name, share in sorted(shares.items()):
            busy = sum(c.under_way for c in view.calls if getattr(c, kind) == name)
            rows.append((Safe(f"Calls, {kind} {label(name)}"), share_words(share), busy))
    allowed = table(("Limit", "Allowed", "Used now"), rows, name="Limits")
    at = datetime.now(UTC)
    calls = [
        (c.pool, c.connector, c.under_way, c.waiting, moment(c.waiting_since, at) if c.waiting_since else "")
        for c in view.calls
    ]
    head = ("Pool", "Connector", "Under way", "Waiting", "First since")
    shown = table(head, calls, name="Calls") if calls else empty("No calls are waiting or under way.")
    return f'{allowed}<h2 style="margin:18px 0 8px">Calls</h2>{shown}'


class _Editor:
    """The form of an administrator; nothing changes before it is saved with a reason."""

    def __init__(self, visitor: Visitor, draw: Callable[[], None]) -> None:
        self._visitor, self._draw = visitor, draw
        self._document = deepcopy(visitor.site.signoff.queries.limits.view(visitor.site.tenant).document)
        self._said = html("", margin=(0, 0, 10, 0))
        self._reason = pmui.TextInput(
            label="Reason", max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0), size="small"
        )
        save = pmui.Button(label="Save the limits", variant="contained", margin=0)
        save.on_click(visitor.command(self._save, self._say))
        parts = [*self._numbers(), self._time(), *self._shares(), self._reason, self._said, wrap(save, margin=0)]
        title = html("<h2>Change them</h2>", margin=(18, 0, 6, 0))
        self.whole = pn.Column(title, *parts, max_width=640, sizing_mode="stretch_width", margin=0)

    def _numbers(self) -> list[Any]:
        return [
            number_input(
                words,
                self._document.get(name, getattr(UNLIMITED, name)),
                partial(self._set, name),
                whole=True,
                optional=name not in _REQUIRED,
                help=effect if name in _REQUIRED else f"{effect}; empty: no limit",
            )
            for name, (words, effect) in COUNTS.items()
        ]

    def _time(self) -> Any:
        words, effect = RUN_TIME
        value = str(self._document.get("run_time", ""))
        return text_input(words, value, lambda v: self._set("run_time", v.strip()), help=effect, limit=40)

    def _shares(self) -> list[Any]:
        whole = {"": self._document.get("activities", {})}
        rows = ShareRows("All calls", whole, lambda v: self._set("activities", v.get("", {})), fixed=True)
        more = [
            ShareRows(title, self._document.get(name, {}), partial(self._set, name))
            for name, title in (("pools", "Calls of a pool"), ("connectors", "Calls of a connector"))
        ]
        return [rows, *more]

    def _set(self, name: str, value: Any) -> None:
        self._document[name] = value

    async def _save(self, actor: Actor) -> None:
        reason = (self._reason.value_input or self._reason.value or "").strip()
        site, document = self._visitor.site, deepcopy(self._document)
        await in_thread(lambda: site.signoff.do("set_limits", actor, site.tenant, limits=document, reason=reason))
        self._reason.value = self._reason.value_input = ""
        self._say("The limits are set.", "success")
        self._draw()

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)
