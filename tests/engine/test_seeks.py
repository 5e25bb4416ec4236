"""What is asked again and again costs the same however long the queues are: counted in steps of SQLite's machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.store.leases import list_ready, next_lane
from tests.engine.counter import Counter, step

pytestmark = pytest.mark.sqlite


class Counted:
    """A reader of a database that counts the steps of the virtual machine."""

    def __init__(self, database: Any) -> None:
        self.connection = database.raw_connection()
        self.steps = 0
        self.connection.driver_connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def rows(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        return list(self.connection.cursor().execute(statement, parameters).fetchall())

    def cost(self, ask: Any, *args: Any, **more: Any) -> int:
        before = self.steps
        ask(self, *args, **more)
        return self.steps - before


def costs(folder: Path, queued: int) -> list[int]:
    folder.mkdir()
    counter = Counter(folder)
    for tenant in ("a", "b"):
        counter.tenant(tenant)
        counter.publish(tenant, "work", step())
        counter.start(tenant, times=queued)
    reading = Counted(counter.database)
    lane = next_lane(reading, "default", ("", ""))  # type: ignore[arg-type]
    assert lane is not None
    found = [
        reading.cost(next_lane, "default", ("", "")),
        reading.cost(next_lane, "default", lane),
        reading.cost(next_lane, "default", ("b", lane[1])),
        reading.cost(list_ready, "default", *lane, after=(-1, -1), limit=5),
    ]
    reading.connection.close()
    counter.close()
    return found


def test_finding_what_waits_costs_the_same_behind_long_queues(tmp_path: Path) -> None:
    short, long = costs(tmp_path / "short", 10), costs(tmp_path / "long", 200)
    assert all(b <= 1.2 * a + 20 for a, b in zip(short, long, strict=True)), (short, long)
