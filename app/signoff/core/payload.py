"""Values that may be stored: plain JSON that every reader reads alike, of bounded size and depth."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

MAX_SAFE_INTEGER = 2**53 - 1
"""RFC 8785 and every JavaScript reader are exact up to here."""
MAX_PAYLOAD_CHARS = 1_000_000
"""Size of one payload as JSON in UTF-8: a text of other letters than the Latin ones counts two or three for each. It is
a little less than what the store takes, so that whatever passes here can be stored."""
MAX_DEPTH = 40


def plain_json(value: Any) -> Any:
    """The value with instants written as ISO 8601 text; everything else unchanged.

    Raises:
        ValueError: a sentence saying what is not plain JSON, too large or too deep.
    """
    room = [MAX_PAYLOAD_CHARS]
    return _plain(value, room, 0)


def _plain(value: Any, room: list[int], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"The value is nested more than {MAX_DEPTH} levels deep.")
    room[0] -= _size(value)
    if room[0] < 0:
        raise ValueError(f"The value is larger than {MAX_PAYLOAD_CHARS} characters.")
    match value:
        case None | bool():
            return value
        case str():
            if not is_text(value):
                raise ValueError("A text holds half of a character, which cannot be stored.")
            return value
        case int():
            if abs(value) > MAX_SAFE_INTEGER:
                raise ValueError("A whole number is not below 2^53, so readers would not agree on it.")
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError("A number is not finite.")
            return value
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Mapping():
            return {_name(k, room): _plain(v, room, depth + 1) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v, room, depth + 1) for v in value]
        case _:
            raise ValueError(f"A value of the kind '{type(value).__name__}' is not JSON.")


def _size(value: Any) -> int:
    """Bytes that a value takes as JSON, its members not counted; at least what the store will count."""
    match value:
        case str():
            plain = value.isascii() and value.isprintable() and '"' not in value and "\\" not in value
            return len(value) + 3 if plain else len(json.dumps(value, ensure_ascii=False).encode(errors="replace")) + 1
        case bool() | None:
            return 6
        case int() | float():
            return len(repr(value)) + 1
        case _:
            return 4


def _name(key: object, room: list[int]) -> str:
    if not isinstance(key, str) or not is_text(key):
        raise ValueError("The names in an object must be texts.")
    room[0] -= _size(key) + 1
    return key


def is_text(value: str) -> bool:
    """False for lone surrogates, which no UTF-8 file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
