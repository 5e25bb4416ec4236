"""Rows of shares of the workers: for each name how many calls at once and how many in a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.limits import Share
from signoff.web.escape import esc
from signoff.web.parts.inputs import number_input, text_input
from signoff.web.parts.panes import html, wrap


def share_words(share: Share) -> str:
    """A share for people."""
    parts = []
    if share.at_once is not None:
        parts.append(f"{share.at_once} at once")
    if share.per_minute is not None:
        parts.append(f"{share.per_minute} in a minute")
    return ", ".join(parts) or "no limit"


class ShareRows(pn.viewable.Viewer):
    """Names with their shares.

    Args:
        title: what the rows are.
        values: name to {"at_once", "per_minute"}, as stored.
        change: called with all of them after each change; rows without a name or a limit are left out.
        fixed: there is one row, whose name is not shown.
    """

    def __init__(
        self,
        title: str,
        values: Mapping[str, Mapping[str, Any]],
        change: Callable[[dict[str, dict[str, int]]], None],
        *,
        fixed: bool = False,
    ) -> None:
        super().__init__()
        self._change, self._fixed = change, fixed
        self._rows: list[tuple[str, dict[str, Any]]] = [(name, dict(share)) for name, share in values.items()]
        self._list = pn.Column(sizing_mode="stretch_width", margin=0)
        add = pmui.Button(
            label=f"Add to “{title.lower()}”", variant="outlined", size="small", margin=(0, 0, 12, 0),
            on_click=lambda _: self._add(),
        )  # fmt: skip
        head = html(f'<p class="small"><b>{esc(title)}</b></p>', margin=(4, 0, 6, 0))
        self._whole = pn.Column(head, self._list, *([] if fixed else [add]), sizing_mode="stretch_width", margin=0)
        self._draw()

    def __panel__(self) -> Any:
        return self._whole

    def _draw(self) -> None:
        self._list[:] = [self._row(i) for i in range(len(self._rows))]

    def _row(self, i: int) -> Any:
        name, share = self._rows[i]
        once = number_input(
            "At once", share.get("at_once"), lambda v: self._set(i, at_once=v), whole=True, optional=True
        )
        rate = number_input(
            "In a minute", share.get("per_minute"), lambda v: self._set(i, per_minute=v), whole=True, optional=True
        )
        once.styles = rate.styles = {"flex": "1 1 110px"}
        parts = [once, rate]
        if not self._fixed:
            named = text_input("Name", name, lambda v: self._name(i, v.strip()), limit=63)
            named.styles = {"flex": "2 1 140px"}
            remove = pmui.Button(
                label="Remove", variant="text", size="small", color="error", margin=(0, 0, 6, 0),
                on_click=lambda _: self._remove(i),
            )  # fmt: skip
            parts = [named, *parts, remove]
        return wrap(*parts, gap="6px", align="flex-start", margin=0, sizing_mode="stretch_width")

    def _name(self, i: int, name: str) -> None:
        self._rows[i] = (name, self._rows[i][1])
        self._tell()

    def _set(self, i: int, **one: Any) -> None:
        self._rows[i][1].update(one)
        self._tell()

    def _add(self) -> None:
        self._rows.append(("", {}))
        self._draw()

    def _remove(self, i: int) -> None:
        del self._rows[i]
        self._draw()
        self._tell()

    def _tell(self) -> None:
        kept = {
            name: {k: v for k, v in share.items() if v is not None} for name, share in self._rows if name or self._fixed
        }
        self._change({name: share for name, share in kept.items() if share or self._fixed})
