"""The trivial activity of the load."""

from __future__ import annotations

from typing import Any

from signoff.connectors.python import activity


@activity("bench.trivial")
def trivial(i: int, x: int) -> dict[str, Any]:
    """Give back what came."""
    return {"i": i, "x": x}
