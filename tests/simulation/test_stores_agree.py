"""The same requests into an engine on SQLite and one on PostgreSQL: equal answers each time, equal rows in the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stores
from tests.postgres import Server
from tests.simulation.twins import run_twins

REQUESTS = 400


@pytest.fixture
def quiet_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", [3, 11, 12, 1304])
@pytest.mark.usefixtures("quiet_log")
def test_both_stores_say_and_keep_the_same(postgres_server: Server, tmp_path: Path, seed: int) -> None:
    places = stores.Stores("postgresql", postgres_server)
    try:
        compared, counts = run_twins(seed, str(places.place(tmp_path / "world")), REQUESTS)
        assert compared >= REQUESTS
        assert counts["start_run ok"], "nothing happened in this world"
    finally:
        places.drop()
