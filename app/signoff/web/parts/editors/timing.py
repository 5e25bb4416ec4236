"""Editors of the kinds that wait for something other than people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.definition import WaitConfig
from signoff.web.parts.inputs import text_input


def wait_editors(c: WaitConfig, config: Callable[..., None]) -> list[Any]:
    """How long, or until when."""
    return [
        text_input("For", c.duration, lambda v: config(duration=v.strip()), help="such as PT2H, P3D or P1M", limit=40),
        text_input(
            "Or until", c.until, lambda v: config(until=v.strip()), help="such as 2027-03-28T09:00, or =input.date"
        ),
    ]
