"""What a definition may refer to outside itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a definition may refer to; None means "not known here, do not check"."""

    connectors: Collection[str] | None = None
    groups: Collection[str] | None = None
    group_sizes: dict[str, int] = field(default_factory=dict)
    people: Collection[str] | None = None
