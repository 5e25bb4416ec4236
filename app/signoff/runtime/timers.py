"""The timer pump: sends a command for every due timer. Due times live in the database, never in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all
from signoff.store.database import Database
from signoff.store.leases import list_due, next_due
from signoff.store.times import to_micros

log = logging.getLogger("signoff.runtime")
BATCH = 32
"""So many in one commit, so that whoever asks while a backlog drains waits for few others: see `tests.bench.drain`."""
LONGEST_PAUSE_S = 1.0
_ACTOR = Actor("system", "timers", "Timers", "timer")


class TimerPump(Service):
    """Fires due timers late rather than never; the core refuses one that became obsolete meanwhile."""

    name = "timers"

    def __init__(self, reader: Database, writer: Writer, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._now = now
        self._awaited = 0
        writer.on_timer = self.heed

    def heed(self, due: int) -> None:
        """A timer was set (microseconds); wake where it comes before the one that is awaited."""
        if due < self._awaited:
            self.wake()

    def work(self) -> float | None:
        """Fire what is due; returns the time to the next one."""
        self._awaited = 0
        while True:
            due = list_due(self._reader, to_micros(self._now()), BATCH)
            if not due:
                break
            answers = submit_all(
                self._writer,
                _ACTOR,
                [
                    (
                        "fire_timer",
                        t.tenant,
                        {
                            "run_id": t.public_id,
                            "step": t.step,
                            "kind": t.kind,
                            "generation": t.generation,
                            "attempt": t.attempt,
                        },
                    )
                    for t in due
                ],
            )
            if not any("ok" in answer for answer in answers):
                log.warning("none of %d due timers could be fired; trying again in a second", len(due))
                return LONGEST_PAUSE_S
        self._awaited = to_micros(self._now()) + int(LONGEST_PAUSE_S * 1e6)
        upcoming = next_due(self._reader)
        if upcoming is None:
            return LONGEST_PAUSE_S
        self._awaited = min(self._awaited, upcoming)
        return max(0.0, min((upcoming - to_micros(self._now())) / 1e6, LONGEST_PAUSE_S))
