"""What a connector is told about the call it makes, and how it says no."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of one activity.

    Attributes:
        key: idempotency key, the same over all attempts and retries of a round; hand it to the outside.
        deadline_s: seconds the attempt may take.
        stop: set when the run is being stopped or the lease was lost; long work should look at it.
    """

    run_id: str
    step: str
    attempt: int
    key: str
    input: Any
    deadline_s: float
    stop: threading.Event = field(default_factory=threading.Event)


class ActivityError(Exception):
    """An activity's failure with a code, a sentence, and whether trying again makes sense."""

    def __init__(self, message: str, *, code: str = "error", retryable: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable


class Connector(Protocol):
    """Does the work of one attempt and returns JSON-ready output."""

    def __call__(self, call: Call) -> Any:
        """Make the call; raises ActivityError (or anything else, which counts as retryable)."""
        ...
