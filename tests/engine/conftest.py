"""An office per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.office import Office, open_office
from tests.stores import Stores


@pytest.fixture(autouse=True)
def _on_both_stores(store: Stores) -> None:
    """Every test of this room runs on SQLite and on PostgreSQL."""


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """A running engine with people; every run's snapshot must equal its replay at the end."""
    with open_office(tmp_path / "data") as opened:
        yield opened
        opened.check_replay()
