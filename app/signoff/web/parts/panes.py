"""Panes of our own markup."""

from __future__ import annotations

from typing import Any

import panel as pn

from signoff.web.files import address


def html(text: str = "", *, css: str = "pane.css", **params: Any) -> Any:
    """A pane of markup that is already escaped, styled by one of our style sheets."""
    params.setdefault("sizing_mode", "stretch_width")
    params.setdefault("margin", 0)
    return pn.pane.HTML(text, stylesheets=[address(css)], **params)


def wrap(*children: Any, gap: str = "8px", align: str = "center", **params: Any) -> Any:
    """Side by side, in as many lines as the width needs; Panel's own FlexBox evaluates code in the browser."""
    params.setdefault("sizing_mode", "stretch_width")
    return pn.Row(
        *children, styles={"flex-wrap": "wrap", "gap": gap, "align-items": align, "max-height": "none"}, **params
    )
