"""Opens what a power loss left with the real store: nothing acknowledged is gone, nothing is damaged, all goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from signoff.store.dialects.sqlite import open_engine
from signoff.wiring import Settings, open_verifier
from tests.simulation.actors import Cast
from tests.simulation.faults import Violation
from tests.simulation.simulate import _end, _quiet, _verify
from tests.simulation.world import World, determined
from tests.storage.images import Image
from tests.storage.worlds import Recording, content


@dataclass
class Found:
    """What was looked at so far."""

    images: int = 0
    distinct: set[int] = field(default_factory=set)
    kept_in_flight: int = 0
    verified: set[str] = field(default_factory=set)
    resumed: int = 0


class Resumed(World):
    """A new process, with new workers and the same people, on what is left."""

    def __init__(self, recording: Recording, folder: Path) -> None:
        self._at = recording.ended
        super().__init__(recording.seed, folder)
        renewed = self.auditor.rows("SELECT lease_until FROM attempt WHERE lease_until IS NOT NULL")
        self.auditor.known_leases = {row[0] for row in renewed}  # by heartbeats, which are no events
        self.auditor.look(everything=True)

    def boot(self) -> None:
        """Later than anything that was recorded."""
        self.faults.stop()
        self.clock.elapsed, self.clock.offset = self._at[0] + 60.0, self._at[1]
        self._number = max(self._number, 1_000_000)  # keys and comments that nobody has used
        super().boot()

    def find_database(self, folder: Path) -> Path:
        """What is left."""
        return folder / "signoff.db"

    def _settle_people(self) -> None:
        """They are there already."""


def check(recording: Recording, image: Image, folder: Path, found: Found, *, resume: bool = False) -> None:
    """Judge one image.

    Raises:
        Violation: something acknowledged is gone, or there is something that never was.
    """
    found.images += 1
    known = hash(tuple(sorted(image.files.items())))
    path = folder / "signoff.db"
    where = f"seed {recording.seed}, power lost after operation {image.at} ({image.mood}), commit {image.commit}"
    if known not in found.distinct:
        found.distinct.add(known)
        image.write(path)
        state = _open(path, where)
        allowed = recording.states[image.commit : image.commit + 2]
        if state not in allowed:
            what = "is a state of another commit" if state in recording.states else "never was"
            raise Violation(f"{where}: what is left {what}")
        found.kept_in_flight += state != allowed[0]
        if state not in found.verified:
            found.verified.add(state)
            with open_verifier(Settings(folder)) as verifier:
                problem = next(verifier.findings(), None)
            if problem is not None:
                raise Violation(f"{where}: {problem}")
    if resume:
        image.write(path)
        go_on(recording, folder, where)
        found.resumed += 1


def _open(path: Path, where: str) -> str:
    database = open_engine(path)
    try:
        with database.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            cursor = raw.cursor()
            whole = cursor.execute("PRAGMA integrity_check").fetchall()
            loose = cursor.execute("PRAGMA foreign_key_check").fetchall()
            if whole != [("ok",)] or loose:
                raise Violation(f"{where}: {whole} {loose}")
            return content(cursor)
    finally:
        database.dispose()


def go_on(recording: Recording, folder: Path, where: str) -> None:
    """The installation starts again: within ten lease times nothing stands still, and every run ends."""
    with determined(recording.seed + 1_000_003):  # a new process draws otherwise
        world = Resumed(recording, folder)
        try:
            cast = Cast(world)
            _quiet(world, cast)
            _end(world, cast)
            world.auditor.look(everything=True)
            _verify(folder)
        except (AssertionError, Violation) as error:
            raise Violation(f"{where}, going on: {error}") from error
        finally:
            world.close()
