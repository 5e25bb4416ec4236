"""Times of answers about another tenant's things against those about nothing, route by route.

`python -m tests.bench.alike` asks for both in turn, in random order, and prints both medians and a permutation test of
their difference. What must hold is in `tests/api/test_alike.py`, which counts work; this shows that nothing beside the
store tells them apart either.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.api.test_alike import OBJECT_ROUTES, Two, ask_for, open_two

ROUNDS = 300
SHUFFLES = 2_000
SURE = 0.001
"""Of some fifty routes less than one in twenty runs names one by chance."""


def measure(two: Two, route: str, dice: random.Random, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Seconds of each answer: foreign, missing."""
    found: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for which in dice.sample((0, 1), 2):
            begun = time.perf_counter()
            ask_for(two, route, two.nowhere if which else two.theirs)
            found[which].append(time.perf_counter() - begun)
    return found


def chance(a: list[float], b: list[float], dice: random.Random) -> float:
    """How often shuffled labels give medians as far apart."""
    apart, pool = abs(statistics.median(a) - statistics.median(b)), [*a, *b]
    as_far = 0
    for _ in range(SHUFFLES):
        dice.shuffle(pool)
        as_far += abs(statistics.median(pool[: len(a)]) - statistics.median(pool[len(a) :])) >= apart
    return (as_far + 1) / (SHUFFLES + 1)


def main() -> None:
    """Measure all routes."""
    dice = random.Random(1)
    print(f"{'route':62} {'foreign':>9} {'missing':>9} {'ratio':>6} {'chance':>7}")
    told: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, open_two(Path(folder)) as two:
        for route in OBJECT_ROUTES:
            measure(two, route, dice, 20)
            a, b = measure(two, route, dice)
            p, (x, y) = chance(a, b, dice), (statistics.median(t) * 1e6 for t in (a, b))
            print(f"{route:62} {x:7.0f}us {y:7.0f}us {x / y:6.3f} {p:7.4f}", flush=True)
            told += [route] if p < SURE else []
    print(f"told apart at p < {SURE}: {', '.join(told) or 'none'} ({ROUNDS} answers each)")


if __name__ == "__main__":
    main()
