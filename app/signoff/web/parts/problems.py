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


def problem_list(problems: Sequence[Problem], choose: Callable[[Problem], None]) -> Any:
    """The list, with a line that sums it up."""
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
    said = Safe(f'<div class="notice {"error" if wrong else kind}" role="status" aria-live="polite">{esc(words)}</div>')
    return pn.Column(
        html(said, margin=(0, 0, 4, 0)),
        *(_line(p, choose) for p in problems[:MAX_SHOWN]),
        sizing_mode="stretch_width",
        margin=0,
        css_classes=["problems"],
    )


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
