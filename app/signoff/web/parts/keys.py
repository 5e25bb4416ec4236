"""Keys on the page of records: which there are, and for administrators the way to replace them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.states import Actor
from signoff.engine.permissions import is_of_installation
from signoff.web.escape import clock
from signoff.web.parts.confirming import Confirming
from signoff.web.parts.markup import Safe, empty, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.site import Visitor, in_thread

KINDS = {"tenant": "Key of the tenant", "signing": "Signing key"}
_FIELD: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (0, 0, 12, 0), "size": "small"}


def keys_table(visitor: Visitor) -> str:
    """All keys with state, age and use."""
    queries, tenant = visitor.site.signoff.queries.keys, visitor.site.tenant
    rows = [
        (k.id, KINDS[k.what], k.state, Safe(clock(k.made_at)), "" if k.used_by is None else k.used_by)
        for k in queries.listed(tenant)
    ]
    shown = table(("Key", "Kind", "State", "Made", "Wraps"), rows, name="Keys") if rows else empty("There are no keys.")
    going = "".join(f"<p>{KINDS[w]}: a new one is being made.</p>" for w in queries.under_way(tenant))
    return f'<h2 style="margin:18px 0 8px">Keys</h2>{shown}{going}'


class KeyEditor:
    """Asks for a reason and the password, then for new keys; they are made in the background."""

    def __init__(self, visitor: Visitor, draw: Callable[[], None]) -> None:
        self._visitor, self._draw = visitor, draw
        self._said = html("", margin=(0, 0, 10, 0))
        self._reason = pmui.TextInput(label="Reason for new keys", max_length=2_000, **_FIELD)
        self._confirming = Confirming(visitor, "Your password", "/records")
        kinds = [("tenant", "New key of the tenant")]
        kinds += [("signing", "New signing key")] if is_of_installation(visitor.site.tenant) else []
        buttons = []
        for what, words in kinds:
            button = pmui.Button(label=words, variant="outlined", margin=0)
            button.on_click(visitor.command(partial(self._rotate, what), self._say))
            buttons.append(button)
        parts = [self._reason, self._confirming.whole, self._said, wrap(*buttons, gap="8px", margin=0)]
        self.whole = pn.Column(*parts, max_width=640, sizing_mode="stretch_width", margin=(12, 0, 0, 0))

    async def _rotate(self, what: str, actor: Actor) -> None:
        do, tenant = self._visitor.site.signoff.do, self._visitor.site.tenant
        reason = (self._reason.value_input or self._reason.value or "").strip()
        password = self._confirming.take()
        await in_thread(lambda: do("rotate_keys", actor, tenant, what=what, reason=reason, password=password))
        self._reason.value = self._reason.value_input = ""
        self._say("A new key is being made; load the page again to see it.", "success")
        self._draw()

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)
