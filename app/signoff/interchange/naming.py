"""Names of foreign models as names that definitions allow."""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_NAME_CHARS = 63
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
DECIDING = re.compile(r"approv|accept|confirm|review|sign.?off|authori[sz]|permit|grant|decid|ok\b", re.I)
"""Words of tasks at which somebody says yes or no."""
_OTHER = re.compile(r"[^a-z0-9]+")


def name_of(text: str, usual: str = "step") -> str:
    """`Check Stock`, `checkStock` and `check-stock` as `check_stock`; `usual` where nothing is left."""
    plain = _OTHER.sub("_", _CAMEL.sub("_", text).lower()).strip("_") or usual
    if not plain[0].isalpha():
        plain = f"{usual}_{plain}"
    return plain[:MAX_NAME_CHARS].rstrip("_")


def free_name(text: str, taken: Collection[str], usual: str = "step") -> str:
    """As `name_of`, with a number behind it where it is taken."""
    name = name_of(text, usual)
    number, free = 2, name
    while free in taken:
        tail = f"_{number}"
        free, number = name[: MAX_NAME_CHARS - len(tail)].rstrip("_") + tail, number + 1
    return free


def label_of(text: str, usual: str) -> str:
    """One line of at most 200 characters."""
    return " ".join(text.split())[:200] or usual
