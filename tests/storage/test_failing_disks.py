"""Disks that are full or broken at any operation: said clearly, nothing half done, everything goes on afterwards."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

import apsw
import pytest

from tests.storage.__main__ import FAILURES
from tests.storage.worlds import fail_at, run_on_failing_disk


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_worlds_on_disks_that_fail_now_and_then_end_well() -> None:
    """As many worlds as it takes to meet every kind of failure.

    One of them found that the end of a savepoint hid why the disk had failed.
    """
    counts: Counter[str] = Counter()
    wanted = Counter({"told disk_full": 10, "told disk_error": 10, "write -wal": 20, "sync -wal": 2})
    for seed in range(1, 61):
        counts += run_on_failing_disk(seed, steps=60)
        if counts >= wanted:
            return
    raise AssertionError(f"not met in 60 worlds: {wanted - counts}")


@pytest.mark.parametrize(("error", "sticky"), FAILURES)
def test_each_operation_fails_once(error: type[apsw.Error], sticky: bool) -> None:
    """Some of them; `python -m tests.storage --every-operation 1` fails all."""
    assert all(fail_at(1, at, error, sticky=sticky, steps=25).total() for at in (1, 2, 40))
