"""The graph of steps on a ReactFlow canvas: live and read-only on a run page, editable in the designer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import panel as pn
from panel_reactflow import ReactFlow

from signoff.core.states import StepStatus
from signoff.web.files import text
from signoff.web.models.picture import EdgeLook, StepLook, node_types
from signoff.web.models.words import step_word
from signoff.web.parts.icons import css_mask

LISTENED = frozenset({"selection_changed", "client_error"})
"""Messages of the browser that a read-only graph accepts."""
EDITED = LISTENED | {"node_moved", "edge_added", "edge_deleted", "node_deleted"}
"""Messages that an editable graph accepts; whoever listens to them draws the result anew."""


def _styles() -> str:
    kinds = "".join(
        f".step.kind-{k} .rf-node-label::before{{mask:{css_mask(k)} center/contain no-repeat}}" for k in node_types()
    )
    states = "".join(
        f".step.is-{s}{{--c:var(--s-{s})}}"
        f".step.is-{s} .rf-node-content::before{{mask:{css_mask(s)} center/contain no-repeat}}"
        f'.step.is-{s} .rf-node-content::after{{content:"{step_word(s)}"}}'
        for s in StepStatus
    )
    good = "".join(
        f'.step.kind-{k}.is-succeeded .rf-node-content::after{{content:"{step_word("succeeded", k)}"}}'
        for k in node_types()
    )
    return text("graph.css") + kinds + states + good


class StepGraph(ReactFlow):
    """A graph whose nodes are DOM elements with a state in class, text and aria-label.

    Args:
        editable: False shows a live picture: nodes can be selected and nothing else, whatever the browser sends.
    """

    def __init__(self, *, editable: bool, **params: Any) -> None:
        self._may_edit = editable
        css = [_styles(), *([] if editable else [text("graph-still.css")])]
        super().__init__(
            node_types=node_types(),
            editor_mode="side",
            default_node_editor=_no_editor,
            default_edge_editor=_no_editor,
            enable_connect=editable,
            enable_delete=editable,
            enable_multiselect=editable,
            display_side_bar=False,
            popup_trigger="none",
            min_zoom=0.15,
            max_zoom=1.0,
            stylesheets=css,
            sizing_mode="stretch_width",
            margin=0,
            **params,
        )

    def _get_properties(self, doc: Any) -> Any:
        # The name of a subclass is not exported by the bundle; the page would wait for it for ever.
        return {**super()._get_properties(doc), "class_name": "ReactFlow"}

    def _process_msg(self, msg: dict[str, Any]) -> None:
        if msg.get("type") in (EDITED if self._may_edit else LISTENED):
            super()._process_msg(msg)

    def show_step(self, step: str, look: StepLook) -> None:
        """Give one node another look, in one small message (`patch_node_props` does not take `ariaLabel`)."""
        patch = {"className": look.class_name, "ariaLabel": look.aria}
        self._remember(self.nodes, step, patch)
        self._send_msg({"type": "patch_node_props", "node_id": step, "patch": patch})

    def show_edge(self, key: str, look: EdgeLook) -> None:
        """Give one edge another look, in one small message."""
        patch = {"style": dict(look.style), "ariaLabel": look.aria}
        self._remember(self.edges, key, patch)
        self._send_msg({"type": "patch_edge_props", "edge_id": key, "patch": patch})

    @staticmethod
    def _remember(items: list[dict[str, Any]], key: str, patch: Mapping[str, Any]) -> None:
        for item in items:
            if item["id"] == key:
                item.update(patch)

    def show_selection(self, steps: Collection[str]) -> None:
        """Select exactly these nodes; assigning `nodes` alone keeps what the browser has selected."""
        for node in self.nodes:
            self._send_msg(
                {"type": "patch_node_props", "node_id": node["id"], "patch": {"selected": node["id"] in steps}}
            )

    def turn(self, dark: bool) -> None:
        """Follow the page's theme."""
        self.color_mode = "dark" if dark else "light"


def _no_editor(*_: Any, **__: Any) -> Any:
    return pn.pane.HTML("", height=0, margin=0)


class LiveGraph:
    """Remembers what a read-only graph shows and sends only what changed."""

    def __init__(self, graph: StepGraph, steps: Mapping[str, StepLook], edges: Mapping[str, EdgeLook]) -> None:
        self.graph = graph
        self._steps, self._edges = dict(steps), dict(edges)

    def show(self, steps: Mapping[str, StepLook], edges: Mapping[str, EdgeLook]) -> None:
        """Patch the nodes and edges that look different now."""
        for step, look in steps.items():
            if self._steps.get(step) != look:
                self._steps[step] = look
                self.graph.show_step(step, look)
        for key, line in edges.items():
            if self._edges.get(key) != line:
                self._edges[key] = line
                self.graph.show_edge(key, line)
