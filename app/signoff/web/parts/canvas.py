"""The drawing board: turns what a person does on an editable graph into edits of the sheet, one per action.

The browser sends several messages for one action (deleting a step: its edges, then the step; moving a selection: one
per step), so they are gathered for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from signoff.core.definition import OUTCOMES
from signoff.core.rejection import Rejection
from signoff.web.models import sheet as board
from signoff.web.models.picture import draw, edge_look, step_look
from signoff.web.models.selection import Pursuit, Selection
from signoff.web.models.sheet import Position, Sheet
from signoff.web.parts.graph import StepGraph

GATHER_MS = 150
CHOOSE_MS = 50
"""Selecting one thing deselects another; the browser tells both, one after the other."""
FOLLOW_MS = 3_000
"""How long a browser may take to select what was selected for its person; it usually says when it has."""
VIEW = (700.0, 540.0)
"""The canvas in pixels, as far as the server can tell."""
MARGIN = 40.0


class Canvas:
    """An editable graph of one sheet.

    Args:
        sheet: what is drawn first.
        edit: called with an edit for each action of a person.
        select: called when something else is selected.
    """

    def __init__(
        self,
        sheet: Sheet,
        edit: Callable[[Callable[[Sheet], Sheet | Rejection]], None],
        select: Callable[[Selection], None],
    ) -> None:
        self._edit, self._on_select = edit, select
        self._document = pn.state.curdoc
        self._drawing = self._waiting = self._choosing = False
        self._asked = 0
        self._told = Selection()
        self._pursuit = Pursuit()
        self._moves: dict[str, Position] = {}
        self._links: list[tuple[str, str, str]] = []
        self._steps: set[str] = set()
        self._edges: set[str] = set()
        self.graph = StepGraph(
            editable=True,
            nodes=[],
            edges=[],
            height=560,
            connection_validation={"direction": True},
            default_edge_options={"type": "smoothstep"},
        )
        self.draw(sheet, {})
        self.graph.on("*", self._heard)

    def draw(self, sheet: Sheet, problems: Mapping[str, str]) -> None:
        """Draw the sheet; `problems` maps step ids to `error` or `warning`."""
        labels = {s.id: s.label for s in sheet.definition.steps}
        steps = {s.id: step_look(s, problem=problems.get(s.id, "")) for s in sheet.definition.steps}
        edges = {e.key: edge_look(e, labels, live=False) for e in sheet.definition.edges}
        chosen = (*self.selection.steps, *self.selection.edges)
        nodes, lines = draw(sheet.definition, sheet.positions, steps, edges, editable=True, selected=chosen)
        self._drawing = True
        try:
            with pn.io.hold():
                self.graph.show_selection(self.selection.steps)
                self.graph.param.update(nodes=nodes, edges=lines)
        finally:
            self._drawing = False

    def draw_again(self, sheet: Sheet, problems: Mapping[str, str]) -> None:
        """Draw once the browser has settled what was refused, so that it is taken back."""
        self._document.add_next_tick_callback(lambda: self.draw(sheet, problems))

    def settle(self) -> None:
        """Turn what was gathered into one edit, now."""
        self._waiting = False
        moves, links, steps, edges = self._moves, self._links, self._steps, self._edges
        self._moves, self._links, self._steps, self._edges = {}, [], set(), set()
        if not (moves or links or steps or edges):
            return

        def edit(sheet: Sheet) -> Sheet | Rejection:
            result: Sheet | Rejection = board.remove(board.move(sheet, moves), steps, edges)
            for source, target, on in links:
                if isinstance(result, Rejection):
                    break
                result = board.connect(result, source, target, on)
            return result

        self._edit(edit)

    @property
    def selection(self) -> Selection:
        """What is selected."""
        return self._pursuit.now

    def select(self, selection: Selection) -> None:
        """Select something for the person; what the browser says until it has followed is only on the way there."""
        self._pursuit.ask(selection)
        self._asked += 1
        self._document.add_timeout_callback(self._asked_enough, FOLLOW_MS)

    def _asked_enough(self) -> None:
        self._asked -= 1
        if not self._asked and self._pursuit.give_up():
            self._on_select(self.selection)

    def _choose(self) -> None:
        self._choosing = False
        if self._pursuit.hear(self._told):
            self._on_select(self.selection)

    def show(self, step: str) -> None:
        """Bring a step into view, once the browser has drawn it."""
        self._document.add_timeout_callback(lambda: self._pan(step), GATHER_MS)

    def _pan(self, step: str) -> None:
        place = next((n["position"] for n in self.graph.nodes if n["id"] == step), None)
        view = self.graph.viewport
        first = len(self.graph.nodes) == 1
        if place is None or (view is None and not first):
            return
        x, y, zoom = (view["x"], view["y"], view["zoom"]) if view and not first else (0.0, 0.0, 1.0)
        at = (place["x"] * zoom + x, place["y"] * zoom + y)
        if first or not (0 <= at[0] <= VIEW[0] - 200 * zoom and 0 <= at[1] <= VIEW[1] - 80):
            left = MARGIN if first else VIEW[0] / 2 - 100 * zoom
            self.graph.viewport = {"x": left - place["x"] * zoom, "y": VIEW[1] / 3 - place["y"] * zoom, "zoom": zoom}

    def _heard(self, message: dict[str, Any], _: Any = None) -> None:
        if self._drawing:
            return
        match message.get("type"):
            case "selection_changed":
                self._told = Selection(tuple(message.get("nodes") or ()), tuple(message.get("edges") or ()))
                if not self._choosing:
                    self._choosing = True
                    self._document.add_timeout_callback(self._choose, CHOOSE_MS)
                return
            case "node_moved":
                if place := board.position_of(message.get("position")):
                    self._moves[str(message.get("node_id"))] = place
            case "edge_added":
                edge = message["edge"]
                on = str(edge.get("sourceHandle") or "")
                if on in {o.value for outcomes in OUTCOMES.values() for o in outcomes}:
                    self._links.append((str(edge.get("source")), str(edge.get("target")), on))
            case "node_deleted":
                self._steps.update(_named(message, "node_id", "node_ids"))
            case "edge_deleted":
                self._edges.update(_named(message, "edge_id", "edge_ids"))
            case _:
                return
        if not self._waiting:
            self._waiting = True
            self._document.add_timeout_callback(self.settle, GATHER_MS)


def _named(message: Mapping[str, Any], one: str, many: str) -> set[str]:
    found = {str(i) for i in message.get(many) or ()}
    return found | ({str(message[one])} if message.get(one) else set())
