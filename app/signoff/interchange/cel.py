"""Writing CEL: literals, paths, and the connectives that keep brackets right."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    "as break const continue else false for function if import in let loop namespace null package return true var void "
    "while".split()
)
_ATOM = re.compile(r"!?[\w.]+(\[(\"[^\"]*\"|\d+)\][\w.]*)*|!?\w+\([^()]*\)")


def literal(value: Any) -> str:
    """A JSON value as CEL; numbers with a fraction and whole ones keep their kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(str(k))}: {literal(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def path(base: str, parts: Sequence[str | int]) -> str:
    """`base` with members and positions behind it."""
    written = base
    for part in parts:
        if isinstance(part, int):
            written += f"[{part}]"
        elif _SIMPLE.fullmatch(part) and part not in _RESERVED:
            written += f".{part}"
        else:
            written += f"[{json.dumps(part)}]"
    return written


def _bracketed(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def both(*parts: str) -> str:
    """All that are not empty, joined by `&&`; empty where none is left."""
    wanted = list(dict.fromkeys(p for p in parts if p))
    return wanted[0] if len(wanted) == 1 else " && ".join(_bracketed(p) for p in wanted)


def either(*parts: str) -> str:
    """Joined by `||`; empty (always) where one is empty."""
    wanted = list(dict.fromkeys(parts))
    if "" in wanted:
        return ""
    return wanted[0] if len(wanted) == 1 else " || ".join(_bracketed(p) for p in wanted)


def negated(text: str) -> str:
    """The opposite condition."""
    if re.fullmatch(r"!\([^()]*\)", text):
        return text[2:-1]
    return f"!({text})"
