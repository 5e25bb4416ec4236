"""Watches over the connection to the database server, so that an engine that was replaced learns it while idle."""

from __future__ import annotations

import logging
from collections.abc import Callable

from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all

log = logging.getLogger("signoff.store")
PAUSE_S = 1.0
_ACTOR = Actor("system", "serverwatch", channel="engine")


class ServerWatch(Service):
    """Asks the writer for nothing once a second: it looks after its connection before each transaction.

    `keep_clock` is called as often.
    """

    name = "serverwatch"

    def __init__(
        self, writer: Writer, on_replaced: Callable[[], object], keep_clock: Callable[[], object] = bool
    ) -> None:
        super().__init__()
        self._writer = writer
        self._on_replaced = on_replaced
        self._keep_clock = keep_clock

    def work(self) -> float | None:
        """One look."""
        submit_all(self._writer, _ACTOR, [("lease", "", {})])
        engine = self._writer.engine
        if engine is not None and engine.journal.is_replaced:
            log.critical("another engine has taken over the database; this one ends")
            self._writer.refuse("Another engine has taken over the database.")
            self._on_replaced()
            return None
        self._keep_clock()
        return PAUSE_S
