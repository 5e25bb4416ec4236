"""One engine per data folder: a lock that the operating system gives back when its holder dies."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from signoff.errors import Unavailable


class EngineLock:
    """Held for the life of the engine process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "engine.lock"
        self._handle = -1

    def acquire(self, wait_s: float, stop: threading.Event) -> None:
        """Take the lock, waiting for an engine that is just ending.

        Raises:
            Unavailable: another engine holds it after `wait_s` seconds.
        """
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        step_s, waited = 0.05, 0.0
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waited >= wait_s or stop.wait(step_s):
                    os.close(self._handle)
                    raise Unavailable(
                        f"Another engine is running on '{self._path.parent}'.",
                        code="engine_running",
                        remedy="Stop it, or use another data folder.",
                    ) from None
                waited += step_s
            else:
                return

    def release(self) -> None:
        """Give it back."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
