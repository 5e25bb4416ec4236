"""Delivery of state changes to listeners: in order, outside the lock, one thread at a time."""

import logging
import threading
from collections import deque
from collections.abc import Callable

from signoff.scheduler.records import StateChange

_log = logging.getLogger(__name__)

type Listener = Callable[[StateChange], None]


class ChangeFeed:
    """Changes noted under the scheduler's lock and delivered after it was released.

    A listener may therefore call the scheduler. What it raises is logged and counted and reaches nobody else.

    Attributes:
        listeners: who receives changes; while empty, nothing is noted.
        pending: changes not delivered yet.
        errors: number of exceptions listeners raised.
    """

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self.pending: deque[StateChange] = deque()
        self.errors = 0
        self._delivering = threading.Lock()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the answer removes it again (harmless when repeated)."""
        self.listeners = (*self.listeners, listener)

        def unsubscribe() -> None:
            # Bound methods are equal but not identical from one access to the next.
            left = list(self.listeners)
            if listener in left:
                left.remove(listener)
            self.listeners = tuple(left)

        return unsubscribe

    def deliver(self) -> None:
        """Deliver what is pending, unless another call is doing so: that call will take it along."""
        while self.pending and self._delivering.acquire(blocking=False):
            try:
                while self.pending:
                    self._send(self.pending.popleft())
            finally:
                self._delivering.release()

    def _send(self, change: StateChange) -> None:
        for listener in self.listeners:
            try:
                listener(change)
            except Exception:
                self.errors += 1
                _log.exception("A scheduler listener failed on %s; the scheduler goes on.", change)
