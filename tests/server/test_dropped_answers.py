"""The way to the server is cut around the commit: the engine finds out whether it happened, on its own."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stores
from tests.postgres import Server
from tests.server.worlds import run_cut


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow  # until it has passed often enough on a busy machine
def test_nothing_is_lost_and_nothing_is_applied_twice(postgres_server: Server, tmp_path: Path) -> None:
    """Answers dropped, cut before, at and after the commit: always as on the other store."""
    places = stores.Stores("postgresql", postgres_server)
    counts: Counter[str] = Counter()
    try:
        for seed in (11,):
            database = str(places.place(tmp_path / str(seed))).rpartition("/")[2]
            compared, found = run_cut(postgres_server, database, seed, 100)
            assert compared >= 100
            counts += found
    finally:
        places.drop()
    assert counts["answer dropped"] > 5
    assert counts["cut before"] + counts["cut at once"] > 3
