"""Rows that a person adds and removes, one below the other; what a row is and says is its editor's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.web.parts.panes import html

FRAMED: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "styles": {"border-left": "3px solid var(--accent, #3448b5)", "padding-left": "8px"},
}
_ADD: dict[str, Any] = {"variant": "outlined", "size": "small", "margin": (0, 0, 12, 0)}
_REMOVE: dict[str, Any] = {"variant": "text", "size": "small", "color": "error", "margin": (0, 0, 6, 0)}


class Listed[Row](pn.viewable.Viewer):
    """Common part of such editors.

    Args:
        head: markup above the rows.
        rows: as they are at first.
        add: what the button that adds one is called; "" where there is none.
    """

    def __init__(self, head: str, rows: Iterable[Row], add: str) -> None:
        super().__init__()
        self._rows = list(rows)
        self._list = pn.Column(sizing_mode="stretch_width", margin=0)
        above = html(head, margin=(4, 0, 6, 0))
        button = [pmui.Button(label=add, on_click=lambda _: self._add(), **_ADD)] if add else []
        self._whole = pn.Column(above, self._list, *button, sizing_mode="stretch_width", margin=0)
        self._draw()

    def __panel__(self) -> Any:
        return self._whole

    def _fresh(self) -> Row:
        """What is added."""
        raise NotImplementedError

    def _row(self, i: int) -> Any:
        """What a row looks like."""
        raise NotImplementedError

    def _tell(self) -> None:
        """Something has changed."""
        raise NotImplementedError

    def _draw(self) -> None:
        self._list[:] = [self._row(i) for i in range(len(self._rows))]

    def _put(self, i: int, row: Row) -> None:
        self._rows[i] = row
        self._tell()

    def _add(self) -> None:
        self._rows.append(self._fresh())
        self._draw()
        self._tell()

    def _remove(self, i: int) -> None:
        del self._rows[i]
        self._draw()
        self._tell()

    def _remover(self, i: int, words: str = "Remove") -> Any:
        return pmui.Button(label=words, on_click=lambda _: self._remove(i), **_REMOVE)


class Named[Row](Listed[tuple[str, Row]]):
    """Rows with a name each. One that was just added has none yet, so that nothing has changed by it."""

    def _add(self) -> None:
        self._rows.append(self._fresh())
        self._draw()
