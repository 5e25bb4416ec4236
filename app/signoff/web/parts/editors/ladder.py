"""Editors of reminders and escalation: what happens to an approval or form that nobody answers, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import panel as pn

from signoff.core.definition import AskingConfig, Escalation, Policies, Reminders
from signoff.core.validate import Surroundings
from signoff.web.models.due import duration_words
from signoff.web.parts.editors.timing import text_with_answer
from signoff.web.parts.inputs import DURATIONS, number_input, several_input, tick_input
from signoff.web.parts.listed import FRAMED, Listed

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


class RungRows(Listed[Escalation]):
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
        self._policies, self._around, self._change = policies, around, change
        super().__init__("<h3>Escalation</h3>", rungs, "Add escalation")

    def _fresh(self) -> Escalation:
        return USUAL_RUNG

    def _tell(self) -> None:
        self._change(tuple(self._rows))

    def _row(self, i: int) -> Any:
        rung, around = self._rows[i], self._around
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
            self._remover(i, "Remove escalation"),
            margin=(0, 0, 8, 0),
            **FRAMED,
        )  # fmt: skip

    def _when(self, text: str) -> str:
        said = duration_words(self._policies, text, datetime.now(UTC))
        return said.replace("Begun now, it would be over on", "Opened now, that would be on")

    def _set(self, i: int, **changes: Any) -> None:
        self._put(i, replace(self._rows[i], **changes))
