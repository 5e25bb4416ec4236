"""The one connection that writes to PostgreSQL: it holds the lock of the writer, and comes back when it was lost.

The lock belongs to the session that writes. When the session ends, however it ends, the server gives the lock to the
engine that waits for it, and nothing of the old session can be committed any more: there are never two writers.
Whoever waits stands in the server's own queue for the lock and is woken by it at once; nothing that the last owner
would have to say (NOTIFY) could be said by one that was killed.

Each commit leaves a number under the connection's own name. Where the connection breaks while it commits, the number
says afterwards, under the lock again, whether it was committed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from signoff.errors import StoreFault, Unavailable
from signoff.store.dialects import Batch
from signoff.store.dialects.postgresql_copy import copy_rows, split

try:
    from psycopg import Error as DriverError
except ImportError:  # said by `open_engine`
    DriverError = DBAPIError  # type: ignore[assignment, misc]

FAULTS = (DBAPIError, DriverError)
"""What SQLAlchemy raises, and what the driver raises where it is called directly."""

log = logging.getLogger("signoff.store")
_LOCK = "SELECT pg_try_advisory_lock(hashtext('signoff engine'), hashtext(current_schema()))"
_STAND_IN_LINE = (
    # Ends without an error where the time is over (an error would be a line in the server's log each time).
    "DO $$ BEGIN PERFORM pg_advisory_lock(hashtext('signoff engine'), hashtext(current_schema()));"
    " EXCEPTION WHEN lock_not_available THEN NULL; END $$"
)
_UNLOCK = "SELECT pg_advisory_unlock_all()"
_MARK = "UPDATE setting SET value=? WHERE tenant='' AND name=?"
_MARKED = "SELECT value FROM setting WHERE tenant='' AND name=?"
_FORGET = "DELETE FROM setting WHERE tenant='' AND name LIKE 'commit of %'"
_BEGIN_TO_MARK = "INSERT INTO setting(tenant, name, value) VALUES ('', ?, '0')"
POLL_S = 0.2
LINE_S = 10.0
"""How long one statement stands in line for the lock: meanwhile the server keeps dead rows, as for any statement."""
AGAIN_S = 1.0
OUTCOME_S = 20.0
RETAKE_S = 5.0
QUIET_S = 1.0


class WriteConnection:
    """See `signoff.store.dialects.Writing`."""

    def __init__(
        self,
        engine: Engine,
        check: Callable[[Any], None],
        wait_s: float,
        is_stopped: Callable[[], bool] = bool,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._engine = engine
        self._check = check
        self._clock, self._sleep = clock, sleep
        self._name = f"commit of {uuid4().hex}"
        self._number = 0
        self._marks = self._lost = False
        self._failed_at: float | None = None
        self.is_replaced = False
        self.cursor: Any = None
        self._connect(wait_s, is_stopped)

    @property
    def is_lost(self) -> bool:
        """Whether the connection was lost since the last `begin`."""
        return self._lost or bool(self._raw.closed)

    def begin(self) -> Connection:
        """Begin, on a new connection where the old one is gone.

        Raises:
            Unavailable: the server does not answer, or another engine has taken over.
        """
        if self.is_replaced:
            raise _replaced()
        if not self._is_alive():
            self._reconnect()
            self._nobody_was_here()
        self._used_at = self._clock()
        self._lost = False
        if not self._marks and self._has_settings():
            self._start_marking()
        self._connection.begin()
        return self._connection

    def write(self, cursor: Any, batch: Batch) -> list[int]:
        """Run a batch: many new rows by COPY, then the rest in one round trip, with the number of the commit."""
        counts = [0] * len(batch)
        copied, others = split(batch)
        for number in copied:
            counts[number] = copy_rows(self.cursor, *batch[number])
        with self._raw.pipeline():
            run = [(number, self._raw.cursor().executemany(*batch[number])) for number in others]
            if self._marks:
                self._number += 1
                self._raw.cursor().execute(_MARK, (str(self._number), self._name))
        for number, own in run:
            counts[number] = own.rowcount
        return counts

    def commit(self) -> None:
        """Commit, and find out where the connection broke whether that went through."""
        try:
            self._connection.commit()
        except FAULTS:
            self._lost = bool(self._raw.closed)
            if not self._lost or not self._marks or not self._came_through():
                raise

    def rollback(self) -> None:
        """Roll back, where there is still somebody to say it to."""
        if self._raw.closed:
            self._drop()
        else:
            self._connection.rollback()

    def erase(self) -> None:
        """Old row versions go with the next VACUUM; the secret of the run is destroyed by this commit."""

    def erased(self) -> None:
        """See `erase`."""

    def close(self) -> None:
        """Give the lock back at once, then the connection."""
        if not self._raw.closed:
            try:
                self.cursor.execute("DELETE FROM setting WHERE tenant='' AND name=?", (self._name,))
                self._raw.commit()
                self.cursor.execute(_UNLOCK, ())
                self._raw.commit()
            except FAULTS:  # the server is gone: so is the lock
                log.info("the lock of the writer went with its connection")
        self._drop()
        self._engine.dispose()

    def _connect(self, wait_s: float, is_stopped: Callable[[], bool]) -> None:
        self._connection = self._engine.connect()
        raw: Any = self._connection.connection.dbapi_connection
        self._raw = raw
        try:
            self._check(raw)
            self.cursor = raw.cursor()
            until = self._clock() + wait_s
            while not self.cursor.execute(_LOCK, ()).fetchone()[0]:
                raw.rollback()
                left_s = until - self._clock()
                if left_s <= 0 or is_stopped():
                    raise Unavailable(
                        "Another engine is running on this database.",
                        code="engine_running",
                        remedy="Stop it, or let this one wait: `signoff up` takes over when the other ends.",
                    )
                self._stand_in_line(raw, min(left_s, LINE_S), is_stopped)
            raw.commit()
        except BaseException:
            self._drop()
            raise
        self._used_at = self._clock()
        self._failed_at = None

    def _stand_in_line(self, raw: Any, seconds: float, is_stopped: Callable[[], bool]) -> None:
        """Wait for the lock in the server's queue, until the time is over or `is_stopped` came true."""
        faults: list[BaseException] = []

        def wait() -> None:
            try:
                self.cursor.execute("SELECT set_config('lock_timeout', ?, true)", (f"{max(1, int(seconds * 1000))}ms",))
                self.cursor.execute(_STAND_IN_LINE)
            except BaseException as error:
                faults.append(error)

        waiting = threading.Thread(target=wait, name="signoff-in-line", daemon=True)
        waiting.start()
        while waiting.is_alive():
            waiting.join(POLL_S)
            if waiting.is_alive() and is_stopped():
                raw.cancel()
        if faults and not is_stopped():
            raise faults[0]
        raw.rollback()  # which gives no lock of a session back

    def _is_alive(self) -> bool:
        if self._raw.closed:
            return False
        if self._clock() - self._used_at < QUIET_S:
            return True
        try:
            self.cursor.execute("SELECT 1", ())
            self._raw.rollback()
        except Exception:
            self._drop()
            return False
        return True

    def _reconnect(self, within_s: float = 0.0) -> None:
        now = self._clock()
        if self._failed_at is not None and now - self._failed_at < AGAIN_S and not within_s:
            raise _gone()
        until = now + within_s
        while True:
            self._drop()
            try:
                self._connect(RETAKE_S, bool)
            except Unavailable:
                self.is_replaced = True
                raise _replaced() from None
            except (*FAULTS, StoreFault) as error:
                self._failed_at = self._clock()
                if self._failed_at >= until:
                    raise _gone() from error
                self._sleep(POLL_S)
            else:
                return

    def _came_through(self) -> bool:
        """Whether the commit that was under way was done; asked under the lock, so that nothing is under way."""
        until = self._clock() + OUTCOME_S
        while True:
            try:
                self._reconnect(max(POLL_S, until - self._clock()))
                return self._nobody_was_here() == str(self._number)
            except FAULTS as error:  # the new connection was lost as well, before it could be asked
                if self._clock() >= until:
                    raise _uncertain() from error
                self._sleep(POLL_S)
            except Exception as error:
                raise _uncertain() from error

    def _nobody_was_here(self) -> str:
        """Our number, under the lock again. Another engine forgets it when it begins, and made what we know stale."""
        if not self._marks:
            return ""
        found = self.cursor.execute(_MARKED, (self._name,)).fetchone()
        self._raw.rollback()
        if found is None:
            self.is_replaced = True
            self._drop()
            raise _replaced()
        return str(found[0])

    def _has_settings(self) -> bool:
        found = self.cursor.execute("SELECT to_regclass('setting')", ()).fetchone()[0]
        return found is not None

    def _start_marking(self) -> None:
        self.cursor.execute(_FORGET, ())
        self.cursor.execute(_BEGIN_TO_MARK, (self._name,))
        self._raw.commit()
        self._marks = True

    def _drop(self) -> None:
        if self._connection.closed:
            return
        try:
            self._connection.invalidate()
            self._connection.close()
        except FAULTS:
            log.info("a connection was closed that was broken already")


def _gone() -> Unavailable:
    return Unavailable(
        "The database server does not answer.", code="store_gone", remedy="Send it again when the server is back."
    )


def _replaced() -> Unavailable:
    return Unavailable("Another engine has taken over.", code="engine_replaced", remedy="Send it again, to that one.")


def _uncertain() -> StoreFault:
    return StoreFault(
        "The connection to the database broke while it committed, and the server cannot be asked.",
        code="uncertain",
        remedy="Look whether it was done, then repeat.",
    )
