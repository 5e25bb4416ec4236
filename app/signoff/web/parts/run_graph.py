"""A run's graph on its own: the same picture as on the run page, for a notebook cell."""

from __future__ import annotations

from signoff.engine.views import RunView
from signoff.web.models.picture import EdgeLook, StepLook, draw, edge_look, step_look
from signoff.web.models.sheet import positions_of
from signoff.web.parts.graph import StepGraph


def looks(view: RunView) -> tuple[dict[str, StepLook], dict[str, EdgeLook]]:
    """How the graph of a run looks now."""
    labels = {i: s.label for i, s in view.plan.steps.items()}
    steps = {i: step_look(s, view.state.steps[i].status.value) for i, s in view.plan.steps.items()}
    edges = {k: edge_look(e, labels, view.state.edges.get(k, "")) for k, e in view.plan.edges.items()}
    return steps, edges


def run_graph(view: RunView, *, height: int = 420) -> StepGraph:
    """A read-only graph of a run as it is now.

    Args:
        view: from `queries.get_run`.
        height: pixels.
    """
    steps, edges = looks(view)
    positions = positions_of(view.plan.definition, view.layout)
    nodes, lines = draw(view.plan.definition, positions, steps, edges, editable=False)
    return StepGraph(editable=False, nodes=nodes, edges=lines, height=height)
