"""Editors of reminders and escalation: what happens to an approval or form that nobody answers, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import AskingConfig, Escalation, Policies, Reminders
from signoff.core.validate import Surroundings
from signoff.web.models.due import duration_words
from signoff.web.parts.editors.timing import text_with_answer
from signoff.web.parts.inputs import DURATIONS, number_input, several_input, tick_input
from signoff.web.parts.panes import html

USUAL_RUNG = Escalation(after="P3D")


def ladder_editors(
    c: AskingConfig, policies: Policies, around: Surroundings, config: Callable[..., None]
) -> tuple[str, list[Any]]:
    """The section of the side panel."""
    reminders = c.reminders

    def remind(**changes: Any) -> None:
        nonlocal reminders
        made = replace(reminders or Reminders(), **changes)
        reminders = made if made.every else None
        config(reminders=reminders)

    return "Reminders, escalation", [
        text_with_answer(
            "Remind every",
            reminders.every if reminders else "",
            lambda v: remind(every=v),
            lambda v: _first(policies, v),
            help=f"{DURATIONS}; empty: no reminders",
        ),
        number_input(
            "Reminders at most",
            reminders.at_most if reminders else Reminders().at_most,
            lambda v: remind(at_most=v),
            whole=True,
        ),
        RungRows(c.escalation, policies, around, lambda v: config(escalation=v)),
    ]


def _first(policies: Policies, text: str) -> str:
    said = duration_words(policies, text, datetime.now(UTC))
    return said.replace("Begun now, it would be over on", "Opened now, the first would be sent on")


class RungRows(pn.viewable.Viewer):
    """The rungs of an escalation, one below the other.

    Args:
        rungs: as stored.
        policies: whose calendar and zone say when each would be.
        around: groups and people that exist.
        change: called with all rungs after each change.
    """

    def __init__(
        self,
        rungs: tuple[Escalation, ...],
        policies: Policies,
        around: Surroundings,
        change: Callable[[tuple[Escalation, ...]], None],
    ) -> None:
        super().__init__()
        self._rungs, self._policies, self._around, self._change = list(rungs), policies, around, change
        self._list = pn.Column(sizing_mode="stretch_width", margin=0)
        add = pmui.Button(
            label="Add escalation", variant="outlined", size="small", margin=(0, 0, 12, 0), on_click=self._add
        )
        head = html("<h3>Escalation</h3>", margin=(4, 0, 6, 0))
        self._whole = pn.Column(head, self._list, add, sizing_mode="stretch_width", margin=0)
        self._draw()

    def __panel__(self) -> Any:
        return self._whole

    def _draw(self) -> None:
        self._list[:] = [self._rung(i) for i in range(len(self._rungs))]

    def _rung(self, i: int) -> Any:
        rung, around = self._rungs[i], self._around
        remove = pmui.Button(
            label="Remove escalation",
            variant="text",
            size="small",
            color="error",
            margin=(0, 0, 6, 0),
            on_click=lambda _: self._remove(i),
        )
        return pn.Column(
            text_with_answer(
                f"Escalation {i + 1}, after",
                rung.after,
                lambda v: self._set(i, after=v),
                lambda v: self._when(v),
                help=DURATIONS,
            ),
            several_input("Groups asked then", around.groups or (), rung.groups, lambda v: self._set(i, groups=v)),
            several_input("People asked then", around.people or (), rung.people, lambda v: self._set(i, people=v)),
            tick_input("They take over: who was asked before is asked no more", rung.hand_over,
                       lambda v: self._set(i, hand_over=v)),
            remove,
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
            styles={"border-left": "3px solid var(--accent, #3448b5)", "padding-left": "8px"},
        )  # fmt: skip

    def _when(self, text: str) -> str:
        said = duration_words(self._policies, text, datetime.now(UTC))
        return said.replace("Begun now, it would be over on", "Opened now, that would be on")

    def _set(self, i: int, **changes: Any) -> None:
        self._rungs[i] = replace(self._rungs[i], **changes)
        self._change(tuple(self._rungs))

    def _add(self, _: object) -> None:
        self._rungs.append(USUAL_RUNG)
        self._draw()
        self._change(tuple(self._rungs))

    def _remove(self, i: int) -> None:
        del self._rungs[i]
        self._draw()
        self._change(tuple(self._rungs))
