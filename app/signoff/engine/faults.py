"""What callers are told where a commit failed, and what the log says of it: an outage is one line, not one per call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from signoff.errors import SignoffError, Unavailable

log = logging.getLogger("signoff.engine")

SAID_AS_IT_IS = frozenset({"store_gone", "engine_replaced", "uncertain"})
"""Faults of the store that a caller is told in their own words."""
QUIET_S = 10.0
"""The same fault is logged at most once in this time."""


class Faults:
    """Belongs to the writer thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def told(self, error: Exception, do: str) -> Unavailable:
        """What the sender of a request gets; what nobody expected is logged each time, with its traceback."""
        known = _known(error)
        if known is None:
            log.error("request %s failed", do, exc_info=error)
            return Unavailable("The request could not be carried out just now.", remedy="Send it again.")
        self._log(known, do, error)
        return known

    def _log(self, fault: Unavailable, do: str, error: Exception) -> None:
        now = self._clock()
        at, more = self._said.get(fault.code, (-QUIET_S, 0))
        if now - at < QUIET_S:
            self._said[fault.code] = at, more + 1
            return
        self._said[fault.code] = now, 0
        since = f" ({more} more requests since the last line)" if more else ""
        cause = f": {error}" if fault.code == "disk_error" else ""
        log.error("request %s failed: %s%s%s", do, fault.message, cause, since)


def _known(error: Exception) -> Unavailable | None:
    if isinstance(error, SignoffError) and error.code in SAID_AS_IT_IS:
        return Unavailable(error.message, code=error.code, remedy=error.remedy)
    said = str(error)
    if "disk is full" in said or "No space left on device" in said:
        return Unavailable("The disk of the database is full.", code="disk_full", remedy="Make room, then repeat.")
    if "readonly database" in said or "read-only transaction" in said:
        return Unavailable("The database is read-only.", code="read_only", remedy="Mend its permissions, then repeat.")
    if "disk I/O error" in said or "unable to open database file" in said:
        message = "The disk of the database reports an error; nothing of this request was kept."
        remedy = "Look after the disk, then repeat; `signoff verify` checks."
        return Unavailable(message, code="disk_error", remedy=remedy)
    return None
