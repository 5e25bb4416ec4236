"""The clock that times in a database go by: this machine's for a file, the server's for a server.

Engines on several machines take turns on one server. What one of them wrote (when a lease ends, when a timer is due,
until when somebody stays signed in) is compared with now by another, so all of them read the same clock.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, event

from signoff.store.dialects import dialect_of
from signoff.store.times import from_micros, to_micros

log = logging.getLogger("signoff.store")
CHECK_S = 10.0
AGAIN_S = 1.0
LATE_S = 30.0
"""After which a reading asks by itself, because nobody keeps the clock (`keep`)."""
MATTERS_US = 1_000_000
"""From which difference to this machine's clock on the log tells of it, microseconds."""


def utc_now() -> datetime:
    """This machine's clock, aware UTC."""
    return datetime.now(UTC)


def steady_us() -> int:
    """Microseconds that nobody sets; they go on while the machine sleeps, where the system counts them so."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


class ServerClock:
    """Now by the clock of a database server, aware UTC, without asking it each time. Thread-safe.

    The server is asked every `CHECK_S` seconds by whoever calls `keep`, else by a reading every `LATE_S` seconds, and
    after a new connection of the engine, which may lead to another server. Between, time goes on by a counter of this
    machine that nobody sets, so that setting this machine's clock changes nothing. An answer says where the server's
    clock stood between question and answer: while that agrees with what was taken to be so, nothing changes (so an
    answer that came slowly shifts nothing); else the estimate moves to the nearest time that agrees. While the server
    does not answer, the last estimate goes on; before it has answered once, this machine's clock.

    Args:
        ask: the server's clock, microseconds since 1970 UTC.
        steady: microseconds of a counter that nobody sets.
        own: this machine's clock.
    """

    def __init__(
        self,
        ask: Callable[[], int],
        *,
        steady: Callable[[], int] = steady_us,
        own: Callable[[], datetime] = utc_now,
    ) -> None:
        self._ask, self._steady, self._own = ask, steady, own
        self._asking = threading.Lock()
        self._told_us = self._asked_us = 0
        self._ahead_us = to_micros(own()) - steady()
        self._known = False
        self._doubted = True

    def __call__(self) -> datetime:
        """Now."""
        self._ask_after(LATE_S)
        return from_micros(self._ahead_us + self._steady())

    def doubt(self) -> None:
        """It may be another server from here on: ask at the next reading."""
        self._doubted = True

    def keep(self) -> None:
        """Ask the server where it is time to; for a background service, so that no reading has to wait."""
        self._ask_after(CHECK_S)

    def check(self) -> None:
        """Ask the server now; raises what the driver does where it does not answer."""
        self._doubted = False
        before = self._asked_us = self._steady()
        answer = self._ask()
        earliest, latest = answer - self._steady(), answer - before
        if self._known:
            self._ahead_us = min(max(self._ahead_us, earliest), latest)
        else:
            self._ahead_us = (earliest + latest) // 2
        self._known = True
        self._tell()

    def _ask_after(self, seconds: float) -> None:
        pause_s = seconds if self._known else AGAIN_S
        if not self._doubted and self._steady() < self._asked_us + pause_s * 1e6:
            return
        if not self._asking.acquire(blocking=False):  # whoever comes meanwhile goes on with what is known
            return
        try:
            self.check()
        except Exception as error:
            log.info("the server's clock could not be read (%s); it is taken to go on", error)
        finally:
            self._asking.release()

    def _tell(self) -> None:
        differs = self._ahead_us + self._steady() - to_micros(self._own())
        if abs(differs - self._told_us) >= MATTERS_US:
            self._told_us = differs
            log.warning(
                "the clock of the database server differs from this machine's by %.1f s; times go by the server's",
                differs / 1e6,
            )


def clock_of(reader: Engine, writer: Engine | None = None) -> Callable[[], datetime]:
    """The clock of an open database.

    Args:
        reader: connections with which a server is asked.
        writer: connections of a writer. It must know the time before it begins, and each new connection raises the
            doubt whether it is still the same server.

    Raises:
        DBAPIError: a writer is given, and the server does not answer.
    """
    dialect = dialect_of(reader)
    if not dialect.HAS_CLOCK:
        return utc_now
    clock = ServerClock(lambda: dialect.read_clock(reader))
    if writer is not None:
        clock.check()

        @event.listens_for(writer, "connect")
        def _connected(connection: Any, record: Any) -> None:
            clock.doubt()

    return clock
