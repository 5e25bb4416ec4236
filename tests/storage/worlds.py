"""Simulated worlds whose engine runs on the watched disk: recorded for power losses, or on a disk that fails."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import apsw

from signoff.engine.request import Outbound
from signoff.store.dialects import sqlite
from signoff.store.tables import metadata
from tests.simulation import auditor, faults
from tests.simulation.actors import Cast
from tests.simulation.ask import Ask
from tests.simulation.faults import Violation
from tests.simulation.simulate import _end, _quiet, _step, _verify
from tests.simulation.world import World, determined, fresh_database
from tests.storage.disk import NAME, Op, disk
from tests.storage.driver import Driver

STEPS = 90
COMMITS = 40
CHECKPOINTS = (8, 25, 80, 1000)
"""After how many pages of the log SQLite copies them into the database; 1000 is what it does by itself."""


@contextmanager
def on_the_disk(checkpoint: int) -> Iterator[None]:
    """The store's connections go through the watched disk; the auditor's go through the same library."""
    driver = Driver(NAME, checkpoint)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(sqlite, "sqlite_module", return_value=driver))
        stack.enter_context(mock.patch.object(faults, "sqlite_module", return_value=driver))
        stack.enter_context(mock.patch.object(auditor, "sqlite_module", return_value=Driver()))
        yield


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="signoff-disk-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _everything() -> tuple[tuple[str, str], ...]:
    """A statement for each table that reads all of it, always in the same order."""
    found = []
    for name, table in sorted(metadata.tables.items()):
        columns = ", ".join(f'"{c.name}"' for c in table.columns)
        order = ", ".join(f'"{c.name}"' for c in (table.primary_key.columns or table.columns))
        found.append((name, f"SELECT {columns} FROM {name} ORDER BY {order}"))
    return tuple(found)


def content(connection: Any) -> str:
    """A digest of every row of every table, as a connection of the database interface reads them."""
    digest = hashlib.sha256()
    for name, statement in _everything():
        rows = connection.execute(statement).fetchall()
        if rows:
            digest.update(f"{name}: {rows!r}".encode())
    return digest.hexdigest()


class DiskWorld(World):
    """A world whose faults are those of the disk only; what it does is what the others do."""

    def __init__(self, seed: int, folder: Path) -> None:
        disk().watch(str(folder / "signoff.db"))
        super().__init__(seed, folder)
        for name in ("crash_before", "crash_after", "statement_error", "commit_error", "busy"):
            setattr(self.faults, name, 0.0)

    def send(self, asks: list[Ask]) -> None:
        """Where the disk failed, whoever is not served is told so in clear words."""
        before = disk().failed.total()
        for ask in asks:
            self._listen(ask, before)
        super().send(asks)

    def _listen(self, ask: Ask, before: int) -> None:
        heard = ask.heard

        def told(answer: dict[str, Any]) -> None:
            ask.heard = heard
            if disk().failed.total() > before and answer.get("error") == "Unavailable":
                assert answer["code"] in ("disk_full", "disk_error"), f"the disk failed, and the answer is {answer}"
                self.counts[f"told {answer['code']}"] += 1
            heard(answer)

        ask.heard = told

    def boot(self) -> None:
        """The engine's work is what can fail."""
        super().boot()
        process = self.engine.process

        def working(requests: Any, **options: Any) -> Outbound:
            with disk().working():
                return process(requests, **options)

        self.engine.process = working  # type: ignore[method-assign]
        committed = self.journal._committed

        def looked() -> None:
            with disk().resting():
                committed()

        self.journal._committed = looked


@dataclass(frozen=True)
class Recording:
    """What a world told its disk.

    Attributes:
        before: the database when it began.
        states: the content after each commit, by its number; 0 is `before`.
        ended: seconds and the jump of the clock when it ended, for whoever goes on.
    """

    seed: int
    before: bytes
    ops: tuple[Op, ...]
    states: tuple[str, ...]
    ended: tuple[float, float]


class RecordedWorld(DiskWorld):
    """Notes after each commit what the database holds."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.states: list[str] = []
        self.before = fresh_database(folder).read_bytes()
        super().__init__(seed, folder)

    def boot(self) -> None:
        """Look once before anything happens."""
        super().boot()
        if not self.states:
            self.states.append(content(self.auditor.db))
        committed = self.journal._committed

        def noted() -> None:
            committed()
            self.states.append(content(self.auditor.db))
            disk().ops.append(Op("commit", "", len(self.states) - 1))

        self.journal._committed = noted


def record(seed: int, commits: int = COMMITS) -> Recording:
    """Run a world and keep what it told its disk."""
    with folder_in_memory() as folder, determined(seed):
        checkpoint = CHECKPOINTS[seed % len(CHECKPOINTS)]
        fresh_database(folder)
        with on_the_disk(checkpoint):
            world = RecordedWorld(seed, folder)
            try:
                cast = Cast(world)
                while len(world.states) < commits:
                    _step(world, cast)
                ops = tuple(disk().ops)
                ended = (world.clock.elapsed, world.clock.offset)
            finally:
                world.close()
        return Recording(seed, world.before, ops, tuple(world.states), ended)


# Disks that fail


def run_on_failing_disk(seed: int, steps: int = STEPS) -> Counter[str]:
    """A seed on a disk that is full or broken now and then; returns how often which operation failed.

    Raises:
        Violation: an invariant does not hold.
    """
    dice = Random(seed)

    def step() -> None:
        if dice.random() < 0.25:
            error = dice.choice((apsw.FullError, apsw.IOError))
            disk().fail(dice.choice((1, 2, 3, 5, 8, 13, 30)), error, sticky=dice.random() < 0.4)
        elif dice.random() < 0.4:
            disk().mend()

    return _on_failing_disk(seed, steps, step)


def fail_at(seed: int, at: int, error: type[apsw.Error], *, sticky: bool, steps: int = 25) -> Counter[str]:
    """The disk fails at one operation of a seed, counted from 1; where sticky, it stays so for ten steps more."""
    left = [10]

    def step() -> None:
        if not disk().wanted and left[0] == 10:
            disk().fail(at, error, sticky=sticky)
        left[0] -= disk().failed.total() > 0
        if left[0] <= 0:
            disk().mend()

    return _on_failing_disk(seed, steps, step)


def _on_failing_disk(seed: int, steps: int, before: Callable[[], None]) -> Counter[str]:
    with folder_in_memory() as folder, determined(seed):
        fresh_database(folder)
        with on_the_disk(CHECKPOINTS[seed % 3]):
            world = DiskWorld(seed, folder)
            try:
                cast = Cast(world)
                for _ in range(steps):
                    before()
                    _step(world, cast)
                disk().mend()
                _quiet(world, cast)
                _end(world, cast)
                world.auditor.look(everything=True)
                world.auditor.notices()
                _verify(folder)
                told = {what: n for what, n in world.counts.items() if what.startswith("told ")}
                return disk().failed + Counter(told)
            except (AssertionError, Violation) as error:
                raise Violation(f"seed {seed} on a failing disk {dict(disk().failed)}: {error}") from error
            finally:
                disk().mend()
                world.close()
