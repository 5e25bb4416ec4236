"""What work under way reports with its heartbeats: how far it is, and what the next attempt may go on from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from signoff.core.payload import is_text, plain_json

MAX_NOTE_CHARS = 300
MAX_DETAILS_CHARS = 4_000
"""Of the details as JSON."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One report.

    Attributes:
        fraction: how much is done, 0 to 1; None where only words were given.
        note: where it is, in a few words.
        details: JSON that the next attempt may go on from.
        at: when the engine heard of it; None before that.
    """

    fraction: float | None = None
    note: str = ""
    details: Any = None
    at: datetime | None = None

    @property
    def said(self) -> str:
        """`40 %: row 400 of 1000`."""
        share = "" if self.fraction is None else f"{self.fraction:.0%}".replace("%", " %")
        return ": ".join(x for x in (share, self.note) if x)


def read_progress(fraction: object, note: object, details: object, step: str) -> Progress:
    """A report as it may be kept.

    Raises:
        ValueError: a sentence that names the step and says what is wrong with the report.
    """
    what = f"The progress of step '{step}'"
    if fraction is not None:
        number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
        if not number or not 0 <= float(str(fraction)) <= 1:
            raise ValueError(f"{what} must be a number from 0 to 1.")
        fraction = float(str(fraction))
    if not isinstance(note, str) or not is_text(note) or len(note) > MAX_NOTE_CHARS:
        raise ValueError(f"{what} must be said in a text of at most {MAX_NOTE_CHARS} characters.")
    try:
        details = plain_json(details)
    except ValueError as error:
        raise ValueError(f"{what} has details that cannot be kept. {error}") from None
    if len(json.dumps(details)) > MAX_DETAILS_CHARS:
        raise ValueError(f"{what} has details of more than {MAX_DETAILS_CHARS} characters; keep a reference instead.")
    return Progress(fraction, note.strip(), details)
