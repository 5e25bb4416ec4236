"""What evaluating an expression may cost, estimated before it is done, so that one cannot hold up the engine.

The unit is roughly one list item, or 16 characters, looked at or copied once. Joining (`+`) copies what
was joined before, so a chain of joins costs the square of its length; inside a list macro it is done for every item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_COST = 1_000_000
"""About 20 ms on a slow machine."""
_CHARS_PER_UNIT = 16


def weight(value: Any) -> tuple[int, int]:
    """Units in a JSON value, and the length of its longest list."""
    units, longest, todo = 0, 0, [value]
    while todo:
        v = todo.pop()
        units += 1
        if isinstance(v, str):
            units += len(v) // _CHARS_PER_UNIT
        elif isinstance(v, Mapping):
            todo.extend(v.values())
        elif isinstance(v, list):
            longest = max(longest, len(v))
            todo.extend(v)
    return units, longest


def cost_of(named: Mapping[str, Any], *, uses: int, joins: int, has_macro: bool) -> int:
    """The estimate for an expression.

    Args:
        named: the values that it reads.
        uses: how often it names a value.
        joins: how many `+` it has.
        has_macro: whether it goes through a list.
    """
    units, longest = weight(named)
    each = longest if has_macro else 1
    joining = units * max(1, uses) * (1 + joins) * (each if joins else 1)
    return joining + (each * max(1, uses) if has_macro else 0)
