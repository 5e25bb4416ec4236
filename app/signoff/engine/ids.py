"""Public ids: sortable by time, 80 random bits, safe in URLs and file names."""

from __future__ import annotations

import secrets
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id(now: datetime) -> str:
    """`r-` and 26 characters: 48 bits of milliseconds, 80 random bits (Crockford base 32)."""
    return "r-" + _sortable(now)


def new_bulk_id(now: datetime) -> str:
    """The same behind `b-`: names one bulk command in the audit and in the history of its runs."""
    return "b-" + _sortable(now)


def new_plan_id(now: datetime) -> str:
    """The same behind `p-`: names one migration plan."""
    return "p-" + _sortable(now)


def new_epoch() -> int:
    """48 random bits that name one process of the engine, so that they are exact in any JSON."""
    return secrets.randbits(48)


def _sortable(now: datetime) -> str:
    value = (int(now.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
