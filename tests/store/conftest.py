"""The tests of the store run on SQLite and on PostgreSQL, but for those that say they are about files."""

from __future__ import annotations

import pytest

from tests.stores import Stores


@pytest.fixture(autouse=True)
def _on_both_stores(store: Stores) -> None:
    """Every test of this room runs on both."""
