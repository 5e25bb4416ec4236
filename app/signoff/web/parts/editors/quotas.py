"""Editor of the quotas of an approval: so many of each, each possibly only under a condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import QuotaRule
from signoff.core.validate import Surroundings
from signoff.web.parts.inputs import number_input, several_input, text_input
from signoff.web.parts.panes import html


class QuotaRows(pn.viewable.Viewer):
    """The quotas, one below the other.

    Args:
        quotas: as stored.
        around: groups and people that exist.
        change: called with all quotas after each change.
    """

    def __init__(
        self,
        quotas: tuple[QuotaRule, ...],
        around: Surroundings,
        change: Callable[[tuple[QuotaRule, ...]], None],
    ) -> None:
        super().__init__()
        self._quotas, self._around, self._change = list(quotas), around, change
        self._list = pn.Column(sizing_mode="stretch_width", margin=0)
        add = pmui.Button(label="Add quota", variant="outlined", size="small", margin=(0, 0, 12, 0), on_click=self._add)
        head = html(
            '<h3>So many of each</h3><p class="soft small">Instead of one number: empty the groups and people above, '
            "and name them here. Each person counts once.</p>",
            margin=(4, 0, 6, 0),
        )
        self._whole = pn.Column(head, self._list, add, sizing_mode="stretch_width", margin=0)
        self._draw()

    def __panel__(self) -> Any:
        return self._whole

    def _draw(self) -> None:
        self._list[:] = [self._row(i) for i in range(len(self._quotas))]

    def _row(self, i: int) -> Any:
        quota, around = self._quotas[i], self._around
        remove = pmui.Button(
            label="Remove quota",
            variant="text",
            size="small",
            color="error",
            margin=(0, 0, 6, 0),
            on_click=lambda _: self._remove(i),
        )
        return pn.Column(
            number_input(
                f"Quota {i + 1}: approvals needed",
                quota.required,
                lambda v: self._set(i, required=v),
                whole=True,
                help="0 means all of them",
            ),
            several_input("Of the groups", around.groups or (), quota.groups, lambda v: self._set(i, groups=v)),
            several_input("Of the people", around.people or (), quota.people, lambda v: self._set(i, people=v)),
            text_input(
                "Only when",
                quota.when,
                lambda v: self._set(i, when=v.strip().removeprefix("=")),
                help="an expression such as input.amount > 1000.0; empty: always",
                limit=2_000,
            ),
            remove,
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
            styles={"border-left": "3px solid var(--accent, #3448b5)", "padding-left": "8px"},
        )

    def _set(self, i: int, **changes: Any) -> None:
        self._quotas[i] = replace(self._quotas[i], **changes)
        self._change(tuple(self._quotas))

    def _add(self, _: object) -> None:
        self._quotas.append(QuotaRule())
        self._draw()
        self._change(tuple(self._quotas))

    def _remove(self, i: int) -> None:
        del self._quotas[i]
        self._draw()
        self._change(tuple(self._quotas))
