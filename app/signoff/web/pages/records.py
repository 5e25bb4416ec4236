"""Records of the tenant: how long ended runs are kept, what is left of those that were removed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.retention import write_retention
from signoff.core.states import Actor
from signoff.engine.permissions import who_may
from signoff.engine.retention_queries import DueView
from signoff.errors import Forbidden
from signoff.web.escape import clock, label
from signoff.web.parts.confirming import Confirming
from signoff.web.parts.inputs import number_input
from signoff.web.parts.keys import KeyEditor, keys_table
from signoff.web.parts.markup import Safe, empty, heading, link, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor, in_thread

FIELDS = {
    "days": ("Days after the end", "for definitions that ask for nothing; empty: for ever"),
    "least": ("At least", "no definition has its runs removed earlier; empty: as above"),
    "most": ("At most", "no definition has its runs kept longer; empty: as long as it asks for"),
}
RULE = {"days": "{} days after their end", "least": "never before {} days", "most": "never after more than {} days"}
PAGE = 20


def records_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """The page.

    Raises:
        Forbidden: the person may not read it.
    """
    if "read_retention" not in visitor.may:
        raise Forbidden(
            f"Expected to see how long runs are kept, but that takes the role {who_may('read_retention')}.",
            remedy="Ask someone who has it.",
        )
    rule, stones, keys = html(), html(), html()

    cursor = arguments("cursor")["cursor"]

    def draw() -> None:
        rule.object = _rule(visitor)
        stones.object = _tombstones(visitor, cursor)
        keys.object = keys_table(visitor) if "read_keys" in visitor.may else ""

    draw()
    head = html(heading("Records", crumb=Safe(link("/runs", "Runs"))))
    editor = [_Editor(visitor, draw).whole] if "set_retention" in visitor.may else []
    replace = [KeyEditor(visitor, draw).whole] if "rotate_keys" in visitor.may else []
    return frame(visitor, "Records", head, rule, *editor, stones, keys, *replace)


def _rule(visitor: Visitor) -> str:
    queries, tenant = visitor.site.signoff.queries.retention, visitor.site.tenant
    parts = [RULE[name].format(value) for name, value in write_retention(queries.of(tenant)).items()]
    words = f"Ended runs are removed {', '.join(parts)}." if parts else "Ended runs are kept for ever."
    about = (
        '<p class="soft">A run goes with everything that belongs to it and with the runs it started; a tombstone in the'
        " signed audit trail stays. A legal hold keeps it.</p>"
    )
    return f"<h2>How long runs are kept</h2><p>{words}</p>{about}{_preview(queries.preview(tenant))}"


def _preview(found: list[DueView]) -> str:
    rows = [
        (
            Safe(label(x.definition)), x.version, x.policy, x.due - x.held, x.held,
            Safe(clock(x.oldest)) if x.oldest else "",
        )
        for x in found
    ]  # fmt: skip
    head = ("Definition", "Version", "Kept", "Due now", "On hold", "Oldest ended")
    return table(head, rows, name="Due") if rows else empty("There are no definitions yet.")


def _tombstones(visitor: Visitor, cursor: str) -> str:
    queries, tenant = visitor.site.signoff.queries.retention, visitor.site.tenant
    page = queries.list_tombstones(tenant, cursor=cursor or None, limit=PAGE)
    rows = [
        (
            x.run_id, Safe(label(x.told.get("definition", ""))), str(x.told.get("status", "")),
            str(x.told.get("ended_at", ""))[:10], str(x.told.get("at", ""))[:10], str(x.told.get("policy", "")),
        )
        for x in page.items
    ]  # fmt: skip
    head = ("Run", "Definition", "Ended as", "On", "Removed", "Policy")
    shown = table(head, rows, name="Removed runs") if rows else empty("No run was removed.")
    older = f"/records?cursor={page.next_cursor}"
    more = f'<p class="row">{link(older, "Older ones", css="button")}</p>' if page.next_cursor else ""
    return f'<h2 style="margin:18px 0 8px">Removed runs</h2>{shown}{more}'


class _Editor:
    """The form of an administrator: counts before anything is removed, and saves with a reason."""

    def __init__(self, visitor: Visitor, draw: Callable[[], None]) -> None:
        self._visitor, self._draw = visitor, draw
        rule = write_retention(visitor.site.signoff.queries.retention.of(visitor.site.tenant))
        self._document: dict[str, int | None] = dict(rule)
        self._said, self._counted = html("", margin=(0, 0, 10, 0)), html("")
        self._reason = pmui.TextInput(
            label="Reason", max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0), size="small"
        )
        self._confirming = Confirming(visitor, "Your password, to save the rule", "/records")
        count = pmui.Button(label="Count what it would remove", variant="outlined", margin=0)
        count.on_click(visitor.command(self._count, self._say))
        save = pmui.Button(label="Save the rule", variant="contained", margin=0)
        save.on_click(visitor.command(self._save, self._say))
        fields = [
            number_input(
                words, self._document.get(name), partial(self._set, name), whole=True, optional=True, help=help
            )
            for name, (words, help) in FIELDS.items()
        ]
        title = html("<h2>Change it</h2>", margin=(18, 0, 6, 0))
        buttons = wrap(count, save, gap="8px", margin=0)
        parts = [title, *fields, self._reason, self._confirming.whole, self._said, buttons, self._counted]
        self.whole = pn.Column(*parts, max_width=640, sizing_mode="stretch_width", margin=0)

    def _set(self, name: str, value: Any) -> None:
        self._document[name] = value

    def _rule(self) -> dict[str, int]:
        return {name: value for name, value in self._document.items() if value is not None}

    async def _count(self, _: Actor) -> None:
        site, document = self._visitor.site, self._rule()
        found = await in_thread(lambda: site.signoff.queries.retention.preview(site.tenant, document))
        total = sum(x.due - x.held for x in found)
        self._say(
            f"{'1 run is' if total == 1 else f'{total} runs are'} due under this rule; nothing was changed.", "info"
        )
        self._counted.object = _preview(found)

    async def _save(self, actor: Actor) -> None:
        reason = (self._reason.value_input or self._reason.value or "").strip()
        site, document = self._visitor.site, self._rule()
        do, tenant, password = site.signoff.do, site.tenant, self._confirming.take()
        more = {"reason": reason, "password": password}
        await in_thread(lambda: do("set_retention", actor, tenant, retention=document, **more))
        self._reason.value = self._reason.value_input = ""
        self._counted.object = ""
        self._say("The rule is set; what is due is removed within ten minutes.", "success")
        self._draw()

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)
