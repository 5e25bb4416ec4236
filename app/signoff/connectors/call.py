"""What a connector is told about the call it makes, and how it says no."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from signoff.core.progress import Progress, read_progress


def _nobody(progress: Progress) -> None:
    """Where nothing is made of reports."""


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of one activity.

    Attributes:
        key: idempotency key, the same over all attempts and retries of a round; hand it to the outside.
        deadline_s: seconds the attempt may take.
        stop: set when the run is being stopped or the lease was lost; long work should look at it.
        last: what an earlier attempt of the same work reported last, to go on from; None where none did.
        tell: where reports go; call `report` instead.
    """

    run_id: str
    step: str
    attempt: int
    key: str
    input: Any
    deadline_s: float
    stop: threading.Event = field(default_factory=threading.Event)
    last: Progress | None = None
    tell: Callable[[Progress], None] = field(default=_nobody)

    def report(self, fraction: float | None = None, note: str = "", details: Any = None) -> None:
        """Say how far the work is; it travels with the next heartbeat and costs no event.

        Args:
            fraction: how much is done, 0 to 1.
            note: where it is, in at most 300 characters.
            details: JSON of at most 4,000 characters that the next attempt gets as `last.details`.

        Raises:
            ValueError: the report cannot be kept; the sentence names the step.
        """
        self.tell(read_progress(fraction, note, details, self.step))


class ActivityError(Exception):
    """An activity's failure with a code, a sentence, and whether trying again makes sense."""

    def __init__(self, message: str, *, code: str = "error", retryable: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable


class Lost(Exception):
    """Nobody knows what became of the call: its lease runs out, and the step's effect contract says what follows."""


class Connector(Protocol):
    """Does the work of one attempt and returns JSON-ready output."""

    def __call__(self, call: Call) -> Any:
        """Make the call; raises ActivityError (or anything else, which counts as retryable)."""
        ...
