"""Where a right-angled edge turns, so that it runs beside the steps and not behind them."""

from __future__ import annotations

from collections.abc import Iterable

Position = tuple[float, float]

WIDTH, HEIGHT = 196.0, 60.0
"""Size of a step on the canvas in pixels; its height is an average."""
TURN = 27.0
"""Half of the gap between two columns: where a turn is out of everybody's way."""
DEFAULT = 0.5


def turn(source: Position, target: Position, others: Iterable[Position]) -> float:
    """The share of the way (0 to 1) after which an edge turns: early, half-way or late, whichever hides least.

    Args:
        source: where the step it leaves stands.
        target: where the step it enters stands.
        others: where all other steps stand.
    """
    start = (source[0] + WIDTH, source[1] + HEIGHT / 2)
    end = (target[0], target[1] + HEIGHT / 2)
    length = end[0] - start[0]
    if length < 3 * TURN:
        return DEFAULT
    places = list(others)
    candidates = (DEFAULT, TURN / length, 1 - TURN / length)
    return min(candidates, key=lambda share: sum(_is_hidden(start, end, share, p) for p in places))


def _is_hidden(start: Position, end: Position, share: float, step: Position) -> bool:
    bend = start[0] + (end[0] - start[0]) * share
    low, high = sorted((start[1], end[1]))
    return (
        _overlaps(step, start[0], bend, start[1], start[1])
        or _overlaps(step, bend, bend, low, high)
        or _overlaps(step, bend, end[0], end[1], end[1])
    )


def _overlaps(step: Position, left: float, right: float, top: float, bottom: float) -> bool:
    return step[0] < right and left < step[0] + WIDTH and step[1] < bottom + 1 and top - 1 < step[1] + HEIGHT
