"""Identifiers made from labels: `Check the invoice` → `check_the_invoice`, unique among those taken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MAX_CHARS = 63
_FOLDED = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "AE", "œ": "oe", "đ": "d"})


def identifier(label: str, taken: Collection[str] = (), *, fallback: str = "step") -> str:
    """A name that expressions can use: a lower-case letter, then letters, digits, underscores; at most 63.

    Args:
        label: what people read, in any script.
        taken: names already used; the result is none of them.
        fallback: used where nothing of the label can be kept.
    """
    folded = unicodedata.normalize("NFKD", label.translate(_FOLDED)).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", folded).strip("_").lstrip("0123456789_")[:40].strip("_") or fallback
    if name not in taken:
        return name
    number = next(n for n in range(2, len(taken) + 3) if f"{name}_{n}" not in taken)
    return f"{name}_{number}"
