"""Editors of the kinds that wait for something other than people."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from signoff.core.definition import Policies, SignalConfig, WaitConfig
from signoff.web.models.due import duration_words, until_words
from signoff.web.parts.forms import say_at
from signoff.web.parts.inputs import DURATIONS, text_input
from signoff.web.parts.rows import FieldRows


def wait_editors(c: WaitConfig, policies: Policies, config: Callable[..., None]) -> list[Any]:
    """How long, or until when, and which instant that is."""
    return [
        text_with_answer(
            "For",
            c.duration,
            lambda v: config(duration=v),
            lambda v: duration_words(policies, v, datetime.now(UTC)),
            help=f"{DURATIONS}, or =expression",
        ),
        text_with_answer(
            "Or until",
            c.until,
            lambda v: config(until=v),
            lambda v: until_words(policies, v),
            help="such as 2027-03-28T09:00, or =input.date",
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
            help=f"{DURATIONS}; empty: never",
            limit=40,
        ),
    ]


def text_with_answer(
    label: str, value: str, change: Callable[[str], None], answer: Callable[[str], str], *, help: str
) -> Any:
    """One line of text, with what it comes to below it."""

    def changed(entered: str) -> None:
        change(entered.strip())
        say_at(widget, answer(entered) or help, wrong=False)

    widget = text_input(label, value, changed, help=answer(value) or help)
    return widget
