"""JSON bodies in columns: compact bytes, canonical enough to compare, large ones moved to `payload`."""

from __future__ import annotations

from typing import Any

import orjson

INLINE_BYTES = 1024
"""Bodies up to this size stand in their row; larger ones take a payload row (SQLite overflow pages cost more)."""

MAX_BODY_BYTES = 1_048_576
"""No single input, output or displayed value may be larger."""


def dump(value: Any) -> bytes:
    """JSON bytes; raises TypeError for values that are not JSON."""
    return orjson.dumps(value)


def load(data: bytes | None) -> Any:
    """The value of stored bytes; None for an empty column."""
    return orjson.loads(data) if data else None
