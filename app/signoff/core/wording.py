"""How instants, lists of names and foreign texts are put into sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def clock(at: datetime | None) -> str:
    """An instant as people read it: UTC, to the minute."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "an unknown time"


def sentence(text: str) -> str:
    """A text that somebody else wrote, with a full stop where it has none."""
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def listed(names: Sequence[str], word: str = "and", most: int = 4) -> str:
    """`Ann`, `Ann and Bob`, `Ann, Bob, Cem and 3 others`."""
    shown = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}" if shown else ""


def span(seconds: float) -> str:
    """A length of time in its two largest units: `3 days 1 hour`, `2 minutes`, `0 seconds`."""
    left, parts = round(seconds), []
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number} {unit}{'' if number == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"
