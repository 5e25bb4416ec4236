"""Rows of shares of the workers: for each name how many calls at once and how many in a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from signoff.core.limits import Share
from signoff.web.escape import esc
from signoff.web.parts.inputs import number_input, text_input
from signoff.web.parts.listed import Named
from signoff.web.parts.panes import wrap


def share_words(share: Share) -> str:
    """A share for people."""
    parts = []
    if share.at_once is not None:
        parts.append(f"{share.at_once} at once")
    if share.per_minute is not None:
        parts.append(f"{share.per_minute} in a minute")
    return ", ".join(parts) or "no limit"


class ShareRows(Named[dict[str, Any]]):
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
        self._change, self._fixed = change, fixed
        rows = [(name, dict(share)) for name, share in values.items()]
        add = "" if fixed else f"Add to “{title.lower()}”"
        super().__init__(f'<p class="small"><b>{esc(title)}</b></p>', rows, add)

    def _fresh(self) -> tuple[str, dict[str, Any]]:
        return "", {}

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
            named = text_input("Name", name, lambda v: self._put(i, (v.strip(), self._rows[i][1])), limit=63)
            named.styles = {"flex": "2 1 140px"}
            parts = [named, *parts, self._remover(i)]
        return wrap(*parts, gap="6px", align="flex-start", margin=0, sizing_mode="stretch_width")

    def _set(self, i: int, **one: Any) -> None:
        self._rows[i][1].update(one)
        self._tell()

    def _tell(self) -> None:
        kept = {
            name: {k: v for k, v in share.items() if v is not None} for name, share in self._rows if name or self._fixed
        }
        self._change({name: share for name, share in kept.items() if share or self._fixed})
