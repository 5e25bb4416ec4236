"""Proving again who one is, before what cannot be undone: the password, or a fresh sign-in at the provider."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from signoff.web.escape import esc
from signoff.web.parts.panes import html
from signoff.web.site import Visitor


class Confirming:
    """The field for the password; for who has none here, the way to the provider and back.

    Args:
        visitor: who it is.
        label: of the field, unlike others on the page.
        back: the path of the page.
    """

    def __init__(self, visitor: Visitor, label: str, back: str) -> None:
        elsewhere = visitor.site.sign_in_again(visitor.visit, back)
        words = "This needs that you signed in a few minutes ago."
        self._password = pmui.PasswordInput(
            label=label, size="small", sizing_mode="stretch_width", margin=(0, 0, 12, 0), max_length=1_000
        )
        asked = html(f'<p class="soft">{words} <a href="{esc(elsewhere)}">Sign in again</a></p>')
        self.whole: Any = asked if elsewhere else self._password

    def take(self) -> str:
        """What was typed; the field is empty then."""
        given = str(self._password.value_input or self._password.value or "")
        self._password.value = self._password.value_input = ""
        return given
