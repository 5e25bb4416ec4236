"""The one shape of background services: a thread that works, then waits for a signal or a time."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from time import monotonic

log = logging.getLogger("signoff.runtime")
STILL_S = 60.0
"""A service that goes on failing says so at most this often."""


class Service(ABC):
    """A loop that can be woken and stopped at any moment; a failing round is logged and tried again."""

    name = "service"
    error_pause_s = 1.0

    def __init__(self) -> None:
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._failed_rounds = 0
        self._said_at = 0.0
        self._thread = threading.Thread(target=self._loop, name=f"signoff-{self.name}", daemon=True)

    @abstractmethod
    def work(self) -> float | None:
        """Do what is due; returns seconds until the next round, or None to wait for a signal."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Do a round now; may be called from any thread."""
        self._wake.set()

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop after the current round."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                pause = self.work()
            except Exception as error:
                self._tell(error)
                pause = self.error_pause_s
            else:
                self._worked()
            if not self._stopping.is_set():
                self._wake.wait(pause)

    def _tell(self, error: Exception) -> None:
        """The first failure of an outage with its traceback, then a line a minute."""
        self._failed_rounds += 1
        now = monotonic()
        if self._failed_rounds == 1:
            log.exception("%s failed; it tries again", self.name)
        elif now - self._said_at < STILL_S:
            return
        else:
            log.error("%s has failed %d times, now: %s", self.name, self._failed_rounds, str(error).partition("\n")[0])
        self._said_at = now

    def _worked(self) -> None:
        if self._failed_rounds:
            log.warning("%s works again, after %d failures", self.name, self._failed_rounds)
            self._failed_rounds = 0
