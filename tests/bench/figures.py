"""Numbers of a measurement: percentiles, medians, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank); 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def median(values: Sequence[float]) -> float:
    """The median; 0 for none."""
    return statistics.median(values) if values else 0.0


def machine() -> str:
    """One line about where this was measured."""
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def versions(*packages: str) -> str:
    """Installed versions of packages, in one line."""
    return ", ".join(f"{p} {version(p)}" for p in packages)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(r) + " |" for r in rows)])
