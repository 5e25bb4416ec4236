"""The graph as the browser draws it: nodes and edges as plain dictionaries, the same for designer and run page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signoff.core.definition import OUTCOMES, Definition, Edge, Step
from signoff.web.models.routing import turn
from signoff.web.models.words import EDGE_WORDS, KIND_WORDS, step_word


@dataclass(frozen=True, slots=True)
class StepLook:
    """What differs between two pictures of one step."""

    class_name: str
    aria: str


@dataclass(frozen=True, slots=True)
class EdgeLook:
    """What differs between two pictures of one edge."""

    style: tuple[tuple[str, Any], ...]
    aria: str


def node_types() -> dict[str, dict[str, Any]]:
    """One type per kind, with one output handle per outcome."""
    return {
        kind.value: {
            "type": kind.value,
            "label": KIND_WORDS[kind.value],
            "inputs": ["in"],
            "outputs": [{"id": o.value, "label": o.value} for o in outcomes],
        }
        for kind, outcomes in OUTCOMES.items()
    }


def step_look(step: Step, status: str = "", problem: str = "") -> StepLook:
    """How a step looks in a state (run page), or with `problem`: `error`, `warning` or "" (designer)."""
    kind = step.kind.value
    marks = [f"is-{status}"] if status else []
    marks += [f"has-{problem}"] if problem else []
    said = f": {step_word(status, kind)}" if status else f", {problem}" if problem else ""
    return StepLook(" ".join(["step", f"kind-{kind}", *marks]), f"{KIND_WORDS[kind]} {step.label}{said}")


def edge_look(edge: Edge, labels: Mapping[str, str], state: str = "", *, live: bool = True) -> EdgeLook:
    """How an edge looks: solid where taken, dashed where not, red where blocked."""
    style: dict[str, Any] = {"strokeWidth": 1.8}
    if live:
        style = {
            "live": {"stroke": "var(--edge-live)", "strokeWidth": 2.6},
            "dead": {"stroke": "var(--edge-dead)", "strokeWidth": 1.4, "strokeDasharray": "2 5"},
            "blocked": {"stroke": "var(--edge-blocked)", "strokeWidth": 2.2, "strokeDasharray": "7 4"},
            "error": {"stroke": "var(--edge-blocked)", "strokeWidth": 2.2, "strokeDasharray": "7 4"},
        }.get(state, {"stroke": "var(--edge-open)", "strokeWidth": 1.6})
    ends = f"From {labels.get(edge.source, edge.source)} to {labels.get(edge.target, edge.target)}"
    said = f", {edge_label(edge)}" if edge_label(edge) else ""
    return EdgeLook(tuple(style.items()), ends + said + (f": {EDGE_WORDS.get(state, state)}" if live else ""))


def edge_label(edge: Edge, *, limit: int = 34) -> str:
    """What is written on an edge: its outcome where it is not the good one, and its condition in short."""
    condition = "otherwise" if edge.otherwise else edge.when.replace(f"steps.{edge.source}.", "")
    said = " · ".join(x for x in (edge.on, condition) if x)
    return said if len(said) <= limit else said[: limit - 1] + "…"


def handle_of(edge: Edge, step: Step) -> str:
    """The output handle an edge leaves from; `any` and unknown outcomes leave from the good one."""
    return edge.on if edge.on in {o.value for o in OUTCOMES[step.kind]} else step.good_outcome.value


def _turn(edge: Edge, positions: Mapping[str, tuple[float, float]]) -> float:
    others = [p for i, p in positions.items() if i not in (edge.source, edge.target)]
    return turn(positions.get(edge.source, (0.0, 0.0)), positions.get(edge.target, (0.0, 0.0)), others)


def draw(
    definition: Definition,
    positions: Mapping[str, tuple[float, float]],
    steps: Mapping[str, StepLook],
    edges: Mapping[str, EdgeLook],
    *,
    editable: bool,
    selected: tuple[str, ...] = (),
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges for the canvas. Edges whose ends are missing are left out."""
    still = {} if editable else {"draggable": False, "connectable": False, "deletable": False}
    nodes = [
        {
            "id": s.id,
            "type": s.kind.value,
            "label": s.label,
            "position": dict(zip("xy", positions.get(s.id, (0.0, 0.0)), strict=True)),
            "data": {},
            "className": steps[s.id].class_name,
            "ariaLabel": steps[s.id].aria,
            "selected": s.id in selected,
            **still,
        }
        for s in definition.steps
    ]
    found = {s.id: s for s in definition.steps}
    fixed = {} if editable else {"deletable": False, "selectable": False, "focusable": False}
    lines = [
        {
            "id": e.key,
            "source": e.source,
            "target": e.target,
            "sourceHandle": handle_of(e, found[e.source]),
            "targetHandle": "in",
            "type": "smoothstep",
            "pathOptions": {"stepPosition": _turn(e, positions), "borderRadius": 6},
            "label": edge_label(e),
            "style": dict(edges[e.key].style),
            "ariaLabel": edges[e.key].aria,
            "markerEnd": {"type": "arrowclosed", "width": 16, "height": 16, "color": "#64748b"},
            "selected": e.key in selected,
            "data": {},
            **fixed,
        }
        for e in definition.edges
        if e.source in found and e.target in found
    ]
    return nodes, lines
