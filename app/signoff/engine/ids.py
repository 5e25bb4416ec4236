"""Public ids: sortable by time, 80 random bits, safe in URLs and file names."""

from __future__ import annotations

import secrets
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id(now: datetime) -> str:
    """`r-` and 26 characters: 48 bits of milliseconds, 80 random bits (Crockford base 32)."""
    value = (int(now.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "r-" + "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
