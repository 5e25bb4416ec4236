"""What is wrong with a draft: one line per problem, each leading to its step or connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.problem import Problem
from signoff.web.escape import esc
from signoff.web.parts.markup import Safe
from signoff.web.parts.panes import html

MAX_SHOWN = 40


class ProblemList:
    """The list, with a line that sums it up.

    A line stays the same button while its problem stays, so that a click that falls into an update finds it.
    """

    def __init__(self, choose: Callable[[Problem], None]) -> None:
        self._choose = choose
        self._sum = html(Safe(""), margin=(0, 0, 4, 0))
        self._lines: dict[Problem, Any] = {}
        self.column = pn.Column(self._sum, sizing_mode="stretch_width", margin=(10, 0, 0, 0), css_classes=["problems"])

    def show(self, problems: Sequence[Problem]) -> None:
        """Show these, in their order."""
        self._sum.object = _summed_up(problems)
        shown = list(dict.fromkeys(problems))[:MAX_SHOWN]
        self._lines = {p: self._lines.get(p) or _line(p, self._choose) for p in shown}
        lines = [self._sum, *self._lines.values()]
        if self.column.objects != lines:
            self.column.objects = lines


def _summed_up(problems: Sequence[Problem]) -> Safe:
    wrong = sum(p.severity == "error" for p in problems)
    hints = len(problems) - wrong
    if not problems:
        words, kind = "No problems: this can be published.", "success"
    else:
        words = " and ".join(
            f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((wrong, "problem"), (hints, "warning")) if n
        )
        words, kind = (
            f"{words}. {'Mend the problems before publishing.' if wrong else 'It can be published.'}",
            "warning",
        )
    return Safe(f'<div class="notice {"error" if wrong else kind}" role="status" aria-live="polite">{esc(words)}</div>')


def _line(problem: Problem, choose: Callable[[Problem], None]) -> Any:
    return pmui.Button(
        label=problem.sentence,
        variant="text",
        size="small",
        color="error" if problem.severity == "error" else "warning",
        margin=0,
        sizing_mode="stretch_width",
        on_click=lambda _: choose(problem),
        sx={
            "justifyContent": "flex-start",
            "textAlign": "start",
            "overflowWrap": "anywhere",
            "whiteSpace": "normal",
            "fontSize": "13px",
            "fontWeight": 500,
        },
    )
