"""The wall clock of live processes; tests bring their own."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Aware UTC."""
    return datetime.now(UTC)
