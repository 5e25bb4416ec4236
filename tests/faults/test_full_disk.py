"""A disk that is really full: a small file system of its own, filled to the last byte under a running engine."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.errors import Unavailable
from signoff.wiring import Settings, open_verifier
from tests.engine.office import Office, call, chain, open_office

pytestmark = pytest.mark.sqlite
SIZE_MB = 16
TEXT = "x" * 20_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An empty file system of `SIZE_MB`."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not sys.platform.startswith("linux"):
        pytest.skip("a file system in memory is mounted on Linux only")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=700", "signoff-test", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    if done.returncode:
        pytest.skip(f"this user may not mount a file system here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all the room that is left; a file that is there already grows."""
    with path.open("ab", buffering=0) as file:
        for size in (65_536, 4096, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def start_until_full(office: Office, filler: Path) -> tuple[list[str], Unavailable]:
    """Start runs while the disk gets full; those that were acknowledged before one was refused, and the refusal."""
    acknowledged = []
    for number in range(300):
        fill(filler)
        try:
            acknowledged.append(office.start("big", key=f"k{number}", text=TEXT))
        except Unavailable as error:
            return acknowledged, error
    raise AssertionError("the disk is full, and nobody noticed")


def test_nothing_is_lost_on_a_full_disk_and_all_goes_on_when_there_is_room(disk: Path) -> None:
    filler = disk / "filler"
    with open_office(disk, slots=2) as office:
        office.publish(chain("big", call("a"), input=[{"name": "text", "type": "text"}]))
        first = office.start("big", text=TEXT)
        office.until_status(first, "succeeded")
        started, refusal = start_until_full(office, filler)
        assert refusal.code == "disk_full", refusal
        assert ("full" in refusal.message, "room" in refusal.remedy) == (True, True)
        acknowledged = [first, *started]
        fill(filler)
        with pytest.raises(Unavailable) as refused:
            office.start("big", key="refused", text=TEXT)
        assert refused.value.code == "disk_full"
        assert {office.view(run_id).state.run_id for run_id in acknowledged} == set(acknowledged), "pages can be read"
        os.unlink(filler)
        again = office.start("big", key="refused", text=TEXT)
        for run_id in (*acknowledged, again):
            office.until_status(run_id, "succeeded")
    with open_verifier(Settings(disk)) as verifier:
        assert list(verifier.findings()) == []
