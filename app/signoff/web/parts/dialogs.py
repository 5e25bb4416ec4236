"""A dialog that asks before something is done: a reason, perhaps values, one button that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.web.parts.markup import Safe, notice
from signoff.web.parts.panes import html, wrap


class AskDialog(pn.viewable.Viewer):
    """Opens with a title that is our own text; `body` may hold anything."""

    def __init__(self) -> None:
        super().__init__()
        self._said = html("", margin=(0, 0, 10, 0))
        self._body = pn.Column(sizing_mode="stretch_width", margin=0)
        self._confirm = pmui.Button(label="", color="primary", variant="contained", margin=0)
        self._cancel = pmui.Button(label="Cancel", variant="outlined", margin=0, on_click=lambda _: self.close())
        buttons = wrap(self._confirm, self._cancel, gap="10px", margin=(6, 0, 6, 0))
        self._dialog = pmui.Dialog(
            self._said,
            self._body,
            buttons,
            title="",
            title_variant="h5",
            open=False,
            show_close_button=True,
            close_on_click=False,
            width_option="sm",
        )
        self._watcher: Any = None

    def __panel__(self) -> Any:
        return self._dialog

    @property
    def is_open(self) -> bool:
        """Whether a person sees it."""
        return bool(self._dialog.open)

    def ask(self, title: str, words: str, body: list[Any], button: str, do: Callable[..., Any]) -> None:
        """Open it.

        Args:
            title: our own words, never people's text.
            words: a sentence in front of the body, any text.
            body: viewables to fill in.
            button: what confirming is called.
            do: called once per click on it.
        """
        if self._watcher is not None:
            self._confirm.param.unwatch(self._watcher)
        self._confirm.label, self._confirm.disabled = button, False
        self._watcher = self._confirm.param.watch(do, "clicks")
        self._said.object = Safe(notice(words)) if words else ""
        self._body[:] = body
        self._dialog.title = title
        self._dialog.open = True

    def say(self, words: str, kind: str = "error") -> None:
        """Show a sentence inside the dialog."""
        self._said.object = notice(words, kind)

    def wait(self, waiting: bool) -> None:
        """Keep the button from being pressed while it works."""
        self._confirm.disabled = waiting

    def close(self) -> None:
        """Close it; nothing is done."""
        self._dialog.open = False
