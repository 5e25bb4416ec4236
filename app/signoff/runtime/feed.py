"""The feed inside one process: news from the writer to any number of listeners, off the writer's thread."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from signoff.engine.views import FeedEvent

log = logging.getLogger("signoff.feed")


class LocalFeed:
    """Delivers in order on a thread of its own; a failing listener does not disturb the others."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[FeedEvent | None] = queue.SimpleQueue()
        self._listeners: list[Callable[[FeedEvent], None]] = []
        self._thread = threading.Thread(target=self._run, name="signoff-feed", daemon=True)

    def start(self) -> None:
        """Begin delivering."""
        self._thread.start()

    def publish(self, event: FeedEvent) -> None:
        """Queue news; called by the writer after each commit."""
        if self._listeners:
            self._queue.put(event)

    def subscribe(self, listener: Callable[[FeedEvent], None]) -> Callable[[], None]:
        """Add a listener; returns the function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Deliver what is queued, then stop."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(5)

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            for listener in list(self._listeners):
                try:
                    listener(event)
                except Exception:
                    log.exception("a listener of the feed failed")
