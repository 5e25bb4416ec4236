"""How often one caller may ask for what costs much, and how often an address may come with a bad bearer.

In memory and per process: a brake against loops, no accounting. What guesses is counted in the store besides
(`engine.braking`); this one keeps a flood from becoming as many writes. It looks the same for things that exist and
things that do not.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from signoff.errors import Unavailable

MOST_KEYS = 10_000


@dataclass
class Rate:
    """At most `most` in `window_s` seconds per key, refilled evenly."""

    most: float
    window_s: float = 60.0
    now: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str, what: str) -> None:
        """One more.

        Raises:
            Unavailable: `too_many`, with the seconds to wait.
        """
        with self._lock:
            now = self.now()
            left, at = self._left.pop(key, (self.most, now))
            left = min(self.most, left + (now - at) * self.most / self.window_s)
            self._left[key] = (max(left - 1, 0.0) if left >= 1 else left, now)
            if len(self._left) > MOST_KEYS:
                self._left.popitem(last=False)
        if left < 1:
            wait = int((1 - left) * self.window_s / self.most) + 1
            raise Unavailable(
                f"There were too many {what} just now.", code="too_many", remedy=f"Try again in {wait} seconds."
            )


@dataclass
class Limits:
    """The brakes of one process."""

    starts: Rate = field(default_factory=lambda: Rate(1_200))
    searches: Rate = field(default_factory=lambda: Rate(240))
    bearers: Rate = field(default_factory=lambda: Rate(120))

    def bad_bearer(self, address: str) -> None:
        """A request came without a valid bearer."""
        self.bearers.take(address, "requests without a valid bearer token")


def limits_of(request: Request) -> Limits:
    """The brakes of this application."""
    found: Limits = request.app.state.limits
    return found


Braked = Annotated[Limits, Depends(limits_of)]
