"""Live pages: one listener on the engine's feed, one pending callback per page, no timers that ask.

A page follows a topic; events that come while its callback is still waiting are handed over together.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import Any

from signoff.engine.client import Feed
from signoff.engine.views import FeedEvent, resync

log = logging.getLogger(__name__)

Topic = tuple[Hashable, ...]
Apply = Callable[[list[FeedEvent]], None]


def run_topic(tenant: str, run_id: str) -> Topic:
    """Changes of one run."""
    return ("run", tenant, run_id)


def tenant_topic(tenant: str) -> Topic:
    """Changes of any run of a tenant."""
    return ("tenant", tenant)


class _Follower:
    """One page's queue: filled from any thread, emptied on the page's event loop with its document locked."""

    def __init__(self, document: Any, apply: Apply, pause_ms: int) -> None:
        self._document, self._apply, self._pause_ms = document, apply, pause_ms
        self._lock = threading.Lock()
        self._events: list[FeedEvent] = []
        self._pending = False

    def push(self, event: FeedEvent) -> None:
        with self._lock:
            self._events.append(event)
            if self._pending:
                return
            self._pending = True
        self._document.add_next_tick_callback(self._begin)

    def _begin(self) -> None:
        if self._pause_ms:
            self._document.add_timeout_callback(self._flush, self._pause_ms)
        else:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            events, self._events, self._pending = self._events, [], False
        if events:
            self._apply(events)


class Live:
    """Hands the engine's changes to the pages that follow them."""

    def __init__(self, feed: Feed) -> None:
        self._lock = threading.Lock()
        self._followers: dict[Topic, dict[object, _Follower]] = defaultdict(dict)
        self._stop = feed.subscribe(self._on_event)

    def follow(self, topic: Topic, document: Any, apply: Apply, *, pause_ms: int = 0) -> Callable[[], None]:
        """Call `apply` with what happened, on the page's loop; ends with the page, or by the returned function.

        It is called once at the beginning: something may have happened between reading and following.

        Args:
            topic: from `run_topic` or `tenant_topic`.
            document: the page's Bokeh document.
            apply: called with all events since the last call, oldest first.
            pause_ms: wait this long after the first event, so that a burst is one redraw.
        """
        key, follower = object(), _Follower(document, apply, pause_ms)
        with self._lock:
            self._followers[topic][key] = follower
        follower.push(resync(datetime.now(UTC)))  # whatever happened since the page was read

        def leave() -> None:
            self._drop(topic, key)

        document.on_session_destroyed(lambda _: leave())
        return leave

    def follower_count(self) -> int:
        """How many pages follow something."""
        with self._lock:
            return sum(len(found) for found in self._followers.values())

    def close(self) -> None:
        """Stop listening."""
        self._stop()

    def _on_event(self, event: FeedEvent) -> None:
        with self._lock:
            topics: tuple[Topic, ...] = (run_topic(event.tenant, event.run_id), tenant_topic(event.tenant))
            if event.is_resync:
                topics = tuple(self._followers)
            found = [(t, k, f) for t in topics for k, f in self._followers.get(t, {}).items()]
        for topic, key, follower in found:
            try:
                follower.push(event)
            except Exception:
                log.debug("a page that is gone was still followed", exc_info=True)
                self._drop(topic, key)

    def _drop(self, topic: Topic, key: object) -> None:
        with self._lock:
            self._followers.get(topic, {}).pop(key, None)
            if not self._followers.get(topic):
                self._followers.pop(topic, None)
