"""Editor of the quotas of an approval: so many of each, each possibly only under a condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import panel as pn

from signoff.core.definition import QuotaRule
from signoff.core.validate import Surroundings
from signoff.web.parts.inputs import number_input, several_input, text_input
from signoff.web.parts.listed import FRAMED, Listed

_HEAD = (
    '<h3>So many of each</h3><p class="soft small">Instead of one number: empty the groups and people above, '
    "and name them here. Each person counts once.</p>"
)


class QuotaRows(Listed[QuotaRule]):
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
        self._around, self._change = around, change
        super().__init__(_HEAD, quotas, "Add quota")

    def _fresh(self) -> QuotaRule:
        return QuotaRule()

    def _tell(self) -> None:
        self._change(tuple(self._rows))

    def _row(self, i: int) -> Any:
        quota, around = self._rows[i], self._around
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
            self._remover(i, "Remove quota"),
            margin=(0, 0, 8, 0),
            **FRAMED,
        )

    def _set(self, i: int, **changes: Any) -> None:
        self._put(i, replace(self._rows[i], **changes))
