"""A graph larger than what is loaded at once: counted, not timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.scheduler import TaskState
from signoff.scheduler.stored.version import StoredTask
from tests.scheduler.durable_pair import claim_all, opened

WIDTH = 1000


def drained(path: Path, size: int, window: int, page: int) -> int:
    """Drain a layered graph over two tenants and three partitions; returns the most versions loaded at once."""
    with opened(path, window=window, page=page) as scheduler:
        for start in range(0, size, 2000):
            scheduler.submit_many(
                StoredTask(
                    f"t{i}",
                    [f"t{i - WIDTH}", f"t{i - WIDTH + 1}"] if i >= WIDTH else [],
                    tenant="xy"[i % 2],
                    partition=str(i % 3),
                )
                for i in range(start, min(start + 2000, size))
            )
        scheduler.most_loaded = 0
        count = 0
        while claims := claim_all(scheduler):
            assert len(claims) <= window
            scheduler.complete_many(claims)
            count += len(claims)
        assert count == size
        assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == size
        assert scheduler.metrics().edges_touched == 2 * (size - WIDTH)  # each edge once
        most: int = scheduler.most_loaded
        return most


def test_what_is_loaded_does_not_grow_with_the_graph(tmp_path: Path) -> None:
    small, large = (drained(tmp_path / f"{size}.db", size, window=100, page=100) for size in (2_000, 6_000))
    assert max(small, large) <= 100 + 2 * 100


@pytest.mark.timeout(300)
def test_a_hundred_thousand_tasks_pass_through_a_window_of_a_thousand(tmp_path: Path) -> None:
    assert drained(tmp_path / "g.db", 100_000, window=1000, page=1000) <= 1000 + 2 * 1000


def test_a_failure_above_many_dependents_is_spread_in_bounded_transactions(tmp_path: Path) -> None:
    with opened(tmp_path / "g.db", page=200) as scheduler:
        scheduler.submit("root")
        for start in range(0, 10_000, 2000):
            scheduler.submit_many(StoredTask(f"t{i}", ["root"]) for i in range(start, start + 2000))
        (claim,) = claim_all(scheduler)
        scheduler.most_loaded = 0
        commits = []
        scheduler.store.after_commit = lambda: commits.append(1)
        scheduler.fail("root", 1, "broken", fence=claim.fence)
        assert scheduler.tasks.counts()[TaskState.BLOCKED] == 10_000
        assert scheduler.most_loaded <= 2 * 200 + 1
        assert len(commits) >= 50
