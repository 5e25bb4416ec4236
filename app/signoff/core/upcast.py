"""Old event payloads to today's shape. A released upcaster is never edited; a new one is added after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Upcaster = Callable[[Mapping[str, Any]], Mapping[str, Any]]

UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(wire name, version) to the function that turns that version's data into the next version's."""


def upcast(wire: str, version: int, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Apply every upcaster from `version` on; returns the data and the version reached."""
    while step := UPCASTERS.get((wire, version)):
        data = step(data)
        version += 1
    return data, version
