"""Layered layout: every step right of those before it, long processes wrapped into bands.

Layers are the longest path from a start (Sugiyama et al. 1981); inside a layer steps are ordered by the mean
position of their neighbours, swept four times. An edge that passes over layers keeps a free place in each, so that it
runs beside the steps there. Steps on a cycle are laid out as if one of its edges were not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COLUMN, ROW, BAND_GAP = 250, 104, 40
COLUMNS = 4


def layered(successors: Mapping[str, Sequence[str]], *, columns: int = COLUMNS) -> dict[str, tuple[float, float]]:
    """Positions in pixels of the canvas, by step id.

    Args:
        successors: every step with those that follow it.
        columns: layers side by side before the next band begins.
    """
    layers = _ordered(*_with_places(_layers(successors), successors))
    positions: dict[str, tuple[float, float]] = {}
    top = 0.0
    for first in range(0, len(layers), columns):
        band = layers[first : first + columns]
        tallest = max(len(layer) for layer in band)
        for column, layer in enumerate(band):
            offset = (tallest - len(layer)) / 2
            for row, step in enumerate(layer):
                if step in successors:
                    positions[step] = (float(column * COLUMN), top + (row + offset) * ROW)
        top += tallest * ROW + BAND_GAP
    return positions


def _layers(successors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Longest-path layers by depth-first search; an edge back to an open step is ignored."""
    depth: dict[str, int] = {}
    before: dict[str, list[str]] = {step: [] for step in successors}
    for step, targets in successors.items():
        for target in targets:
            if target in before:
                before[target].append(step)

    def visit(step: str, open_steps: frozenset[str]) -> int:
        if step not in depth:
            inner = open_steps | {step}
            depth[step] = max((visit(b, inner) + 1 for b in before[step] if b not in inner), default=0)
        return depth[step]

    for step in successors:
        visit(step, frozenset())
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for step in successors:
        layers[depth[step]].append(step)
    return [layer for layer in layers if layer]


def _with_places(
    layers: list[list[str]], successors: Mapping[str, Sequence[str]]
) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The layers and successors with a placeholder wherever an edge passes over a layer."""
    depth = {step: i for i, layer in enumerate(layers) for step in layer}
    filled = [list(layer) for layer in layers]
    links: dict[str, list[str]] = {step: [] for step in successors}
    for step, targets in successors.items():
        for target in dict.fromkeys(t for t in targets if t in depth):
            last = step
            for between in range(depth[step] + 1, depth[target]):
                place = f"{step} {target} {between}"
                filled[between].append(place)
                links[last].append(place)
                links[place] = []
                last = place
            links[last].append(target)
    return filled, links


def _ordered(layers: list[list[str]], successors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    before: dict[str, list[str]] = {step: [] for step in successors}
    for step, targets in successors.items():
        for target in targets:
            if target in before:
                before[target].append(step)
    for sweep in range(4):
        forward = sweep % 2 == 0
        order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
        for i in order:
            beside = {step: k for k, step in enumerate(layers[i - 1 if forward else i + 1])}
            neighbours = before if forward else successors
            place = {step: k for k, step in enumerate(layers[i])}
            layers[i].sort(key=lambda s, b=beside, n=neighbours, p=place: _mean([b[x] for x in n[s] if x in b], p[s]))  # type: ignore[misc]
    return layers


def _mean(values: Sequence[int], otherwise: int) -> float:
    return sum(values) / len(values) if values else float(otherwise)
