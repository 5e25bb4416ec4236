"""Choosing whom an open approval or form asks: some of those asked go, others come."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.quorum import find_person
from signoff.web.parts.markup import notice
from signoff.web.parts.panes import html


class PeopleChooser(pn.viewable.Viewer):
    """Two choices of people, shown by name. `read` gives the arguments of the command and whether there are any."""

    def __init__(self, names: Mapping[str, str], asked: Collection[str], voted: Collection[str]) -> None:
        super().__init__()
        look: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (0, 0, 12, 0)}
        may_go = {_shown(names, p): p for p in asked if not find_person(p, voted)}
        may_come = {_shown(names, p): p for p in sorted(names) if not find_person(p, asked)}
        self._add = pmui.MultiChoice(label="Ask as well", options=may_come, value=[], **look)
        self._remove = pmui.MultiChoice(label="Ask no more", options=may_go, value=[], **look)
        self._said = html()
        self._column = pn.Column(self._add, self._remove, self._said, sizing_mode="stretch_width", margin=0)

    def __panel__(self) -> Any:
        return self._column

    def read(self) -> tuple[dict[str, Any], bool]:
        """{"add", "remove"} and whether anybody was chosen; where nobody was, it says so."""
        chosen = {"add": list(self._add.value), "remove": list(self._remove.value)}
        good = any(chosen.values())
        self._said.object = "" if good else notice("Choose at least one person.", "warning")
        return chosen, good


def _shown(names: Mapping[str, str], login: str) -> str:
    name = names.get(login, "")
    return f"{name} ({login})" if name and name != login else login
