"""Editors of the kinds that wait for something other than people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.definition import SignalConfig, WaitConfig
from signoff.web.parts.inputs import text_input
from signoff.web.parts.rows import FieldRows


def wait_editors(c: WaitConfig, config: Callable[..., None]) -> list[Any]:
    """How long, or until when."""
    return [
        text_input("For", c.duration, lambda v: config(duration=v.strip()), help="such as PT2H, P3D or P1M", limit=40),
        text_input(
            "Or until", c.until, lambda v: config(until=v.strip()), help="such as 2027-03-28T09:00, or =input.date"
        ),
    ]


def signal_editors(c: SignalConfig, config: Callable[..., None]) -> list[Any]:
    """Which message, what it carries, how long."""
    return [
        text_input("Name of the signal", c.signal, lambda v: config(signal=v.strip()), limit=63),
        text_input(
            "Key",
            c.key,
            lambda v: config(key=v.strip()),
            help="such as =input.order_number; empty: the run's business key, else its id",
            limit=2_000,
        ),
        FieldRows("Payload", c.payload, lambda v: config(payload=v)),
        text_input(
            "Expires after",
            c.expires,
            lambda v: config(expires=v.strip()),
            help="such as PT72H or P3D; empty: never",
            limit=40,
        ),
    ]
