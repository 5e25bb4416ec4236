"""Power lost in the middle of everything: a slice; `python -m tests.storage` makes tens of thousands of images."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from signoff.store.dialects.sqlite import SAFE_VERSION, open_engine
from tests.simulation.faults import Violation
from tests.storage import worlds
from tests.storage.__main__ import look_at
from tests.storage.checking import Found, check
from tests.storage.disk import Op
from tests.storage.driver import Driver
from tests.storage.images import MOODS, File, Image, Plate
from tests.storage.worlds import Recording, folder_in_memory, record


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def images(recording: Recording, every: int = 1) -> Iterator[Image]:
    dice = Random(recording.seed)
    plate = Plate(recording.before, recording.ops)
    for at in plate.moments():
        if at % every == 0:
            yield plate.image(at, dice.choice(MOODS), dice)


def test_nothing_acknowledged_is_lost_whenever_the_power_goes() -> None:
    found = Found()
    for seed in (1, 2):
        look_at(seed, found, every=5)
    assert found.images > 400
    assert len(found.distinct) > 250
    assert found.kept_in_flight > 10, "no image kept a commit that was under way: the images are too kind"
    assert found.resumed


def caught(recording: Recording, every: int) -> int:
    """How many images the check refuses."""
    count = 0
    with folder_in_memory() as folder:
        for image in images(recording, every):
            try:
                check(recording, image, folder, Found())
            except Violation:
                count += 1
    return count


def test_a_disk_that_lies_about_its_syncs_is_caught(tmp_path: Path) -> None:
    """The harness must fail where the ground is rotten, or it proves nothing."""
    honest = record(3, commits=12)
    lying = tuple(op for op in honest.ops if (op.kind, op.file) != ("sync", "-wal"))
    assert caught(dataclasses.replace(honest, ops=lying), every=12) > 3
    early = [op for op in honest.ops if op.kind != "commit"]
    marks = iter([op for op in honest.ops if op.kind == "commit"])
    told_early: list[Op] = []
    for op in early:
        if (op.kind, op.file) == ("sync", "-wal"):
            told_early += [m for m in [next(marks, None)] if m]
        told_early.append(op)
    assert caught(dataclasses.replace(honest, ops=tuple(told_early)), every=9) > 3


def test_a_store_that_does_not_sync_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = worlds.RecordedWorld.boot

    def boot(world: worlds.RecordedWorld) -> None:
        real(world)
        world.faults.restart = 0.0  # a new process would notice it
        world.journal._real_cursor.execute("PRAGMA synchronous=NORMAL")

    monkeypatch.setattr(worlds.RecordedWorld, "boot", boot)
    assert caught(record(3, commits=12), every=12) > 3


def test_the_watched_disk_runs_a_safe_sqlite_with_the_stores_own_settings(tmp_path: Path) -> None:
    assert Driver.sqlite_version_info >= SAFE_VERSION
    path = tmp_path / "x.db"
    with worlds.on_the_disk(1000):
        database = open_engine(path)
        with database.begin() as connection:
            found = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "mmap_size")
            ]
        database.dispose()
    assert found == ["wal", 2, 1, 0]


def test_what_is_left_is_what_was_synced_and_some_of_the_rest() -> None:
    ops = [Op("write", "", 0, b"a" * 1024), Op("sync", ""), Op("write", "", 512, b"b" * 1024), Op("truncate", "", 100)]
    plate = Plate(b"", ops)
    assert [len(plate.files[""].pending) for _ in plate.moments()] == [0, 1, 0, 1, 2]
    dice = Random(1)
    assert plate.image(4, "none", dice).files[""] == b"a" * 1024
    assert plate.image(4, "all", dice).files[""] == b"a" * 100
    torn = {plate.image(4, "torn", dice).files[""][:1536] for _ in range(60)}
    assert b"a" * 1024 + b"b" * 512 not in torn or len(torn) > 3
    assert b"a" * 512 + b"b" * 512 in torn
    assert plate.files[""] == File(bytearray(b"a" * 1024), ops[2:])
