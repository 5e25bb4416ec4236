"""Which faults a seed has, and the hooks in the journal that make them happen.

Every rate is drawn from the seed ("swarm"): half of the kinds are off in any one seed, so that rare
combinations get seeds of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.journal import Journal
from signoff.store.rows import Rows


class Crash(BaseException):
    """The engine's process dies here."""


class Violation(BaseException):
    """An invariant does not hold. No `Exception`, so that nothing in the engine can swallow it."""


@dataclass
class Faults:
    """Chances of each fault per occasion."""

    crash_before: float = 0.03
    crash_after: float = 0.03
    answer_lost: float = 0.2
    drop: float = 0.3
    duplicate: float = 0.3
    reorder: float = 0.7
    zombie: float = 0.1
    clock_jump: float = 0.03
    statement_error: float = 0.03
    commit_error: float = 0.03
    busy: float = 0.03
    restart: float = 0.02
    mischief: float = 0.5
    batch: float = 0.5
    failing_activity: float = 0.5
    crossing: float = 0.5
    worker_killed: float = 0.01
    lost_call: float = 0.1
    hangs: float = 0.05

    @classmethod
    def draw(cls, dice: Random) -> Faults:
        """Half of the kinds off, the others up to their default; one seed in ten has none at all."""
        if dice.random() < 0.1:
            return cls(**{f.name: 0.0 for f in fields(cls)})
        return cls(**{f.name: dice.uniform(0.05, 1) * f.default * (dice.random() < 0.5) for f in fields(cls)})

    def stop(self) -> None:
        """From now on nothing goes wrong."""
        for f in fields(self):
            setattr(self, f.name, 0.0)


class FaultyCursor:
    """The journal's cursor; now and then a statement fails as it does on a full or broken disk."""

    def __init__(self, cursor: Any, dice: Random, faults: Faults) -> None:
        self._cursor, self._dice, self._faults = cursor, dice, faults

    def execute(self, *args: Any) -> Any:
        """One statement."""
        self._fail()
        return self._cursor.execute(*args)

    def executemany(self, *args: Any) -> Any:
        """One statement, many rows."""
        self._fail()
        return self._cursor.executemany(*args)

    def _fail(self) -> None:
        rate = self._faults.statement_error
        if rate and self._dice.random() < rate / 4:
            what = self._dice.choice(("database or disk is full", "disk I/O error", "database is locked"))
            raise sqlite_module().OperationalError(what)


class FaultyJournal(Journal):
    """The real journal on a real file, with a crash or an error at the moments that matter."""

    def __init__(self, database: Any, dice: Random, faults: Faults, committed: Callable[[], None]) -> None:
        super().__init__(database)
        self._dice, self._faults, self._committed = dice, faults, committed
        self._real_cursor = self._cursor
        self._cursor = FaultyCursor(self._cursor, dice, faults)
        self.before_commit = self._before
        self.lies = False

    def begin(self) -> Rows:
        """Now and then somebody else holds the write lock for too long."""
        if self._dice.random() < self._faults.busy:
            raise sqlite_module().OperationalError("database is locked")
        return super().begin()

    def _before(self) -> None:
        if self._dice.random() < self._faults.crash_before:
            raise Crash("before the commit")
        self.lies = self._dice.random() < self._faults.commit_error

    def raise_on_commit(self) -> None:
        """Called by the database's `commit` event: COMMIT itself fails, the transaction stays open."""
        if self.lies:
            self.lies = False
            raise sqlite_module().OperationalError("disk I/O error")

    def commit(self, rows: Rows) -> None:
        """Commit, let the auditor look, and perhaps die before anybody hears of it."""
        super().commit(rows)
        self._committed()
        if self._dice.random() < self._faults.crash_after:
            raise Crash("after the commit")
