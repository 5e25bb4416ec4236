"""The cooperative stop signal: how a running task function learns that it was asked to stop."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from signoff.scheduler.errors import TaskStopped


class StopSignal(Protocol):
    """What a function that has a parameter named ``stop`` receives."""

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        ...

    def raise_if_set(self) -> None:
        """Raise ``TaskStopped`` if a stop was asked for; letting it pass confirms the stop."""
        ...


class EventStop:
    """Stop signal within one process; also offers ``wait`` for functions that pause."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask for the stop."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until a stop is asked for, at most ``timeout_s`` seconds; returns whether it was."""
        return self._event.wait(timeout_s)

    def raise_if_set(self) -> None:
        """Raise ``TaskStopped`` if a stop was asked for."""
        if self.is_set():
            raise TaskStopped


class FileStop:
    """Stop signal for functions in other processes that see the same file system: set while the file exists.

    It holds nothing but a path, so it can be pickled and sent to any executor.
    """

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)

    def set(self) -> None:
        """Ask for the stop."""
        Path(self._path).touch()

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return os.path.exists(self._path)

    def raise_if_set(self) -> None:
        """Raise ``TaskStopped`` if a stop was asked for."""
        if self.is_set():
            raise TaskStopped


class StopDesk:
    """The signals of the running tasks, by slot; used under the scheduler's lock."""

    def __init__(self) -> None:
        self._signals: dict[int, list[Callable[[], None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._signals)

    def attach(self, slot: int, signal: Callable[[], None], already_asked: bool) -> None:
        """Call ``signal`` when a stop of this slot is asked for, at once if it was already."""
        if already_asked:
            signal()
        else:
            self._signals.setdefault(slot, []).append(signal)

    def ask(self, slot: int) -> None:
        """Set every signal attached to this slot."""
        for signal in self._signals.pop(slot, ()):
            signal()

    def forget(self, slot: int) -> None:
        """Drop the signals of a task that ended."""
        self._signals.pop(slot, None)
