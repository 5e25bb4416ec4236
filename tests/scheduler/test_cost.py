"""Cost by counting, not by the clock: what each operation touches."""

from typing import Any

import pytest

from signoff.scheduler import TaskScheduler, TaskState


class CountingList(list[Any]):
    """A list that counts the reads and writes of single items."""

    touched = 0

    def __getitem__(self, index: Any) -> Any:
        self.touched += 1
        return super().__getitem__(index)

    def __iter__(self) -> Any:
        raise AssertionError("something looked at every task")


def counted(graph: dict[int, list[int]]) -> tuple[TaskScheduler, CountingList]:
    """A scheduler whose counts of missing dependencies are watched from here on."""
    scheduler = TaskScheduler()
    scheduler.submit_many(graph)
    table = scheduler._core.table
    watched = CountingList(table.missing)
    table.missing = watched
    return scheduler, watched


def test_each_completion_touches_its_out_edges_and_nothing_else() -> None:
    size = 400
    graph = {i: [j for j in (i // 2, i // 3, i - 1) if 0 <= j < i] for i in range(size)}
    graph = {i: sorted(set(dependencies)) for i, dependencies in graph.items()}
    out = {i: sum(i in dependencies for dependencies in graph.values()) for i in range(size)}
    scheduler, watched = counted(graph)
    before = 0
    ended = 0
    while claims := scheduler.ready():
        for task, generation in claims:
            scheduler.complete(task, generation)
            assert watched.touched - before == out[task]
            before = watched.touched
            ended += 1
    assert ended == size
    assert watched.touched == sum(out.values()) == scheduler.metrics().edges_touched


@pytest.mark.parametrize("size", [10, 1000])
def test_a_completion_costs_the_same_in_a_large_graph(size: int) -> None:
    scheduler, watched = counted({i: [] if i < 2 else [0] if i == 2 else [1] for i in range(size)})
    scheduler.ready()
    scheduler.complete(0, 1)
    assert watched.touched == 1


def test_a_failure_touches_the_edges_of_what_it_blocks() -> None:
    scheduler, _ = counted({0: [], 1: [0], 2: [1], 3: [0, 2], 4: [], 5: [4], 6: [5]})
    scheduler.ready()
    scheduler.fail(0, 1)
    assert scheduler.metrics().edges_touched == 4
    assert scheduler.tasks.state(6) is TaskState.PENDING


def test_one_claim_does_not_look_at_the_whole_queue() -> None:
    class CountingKey(int):
        compared = 0

        def __lt__(self, other: int) -> bool:
            CountingKey.compared += 1
            return int(self) < int(other)

    scheduler = TaskScheduler()
    scheduler.submit_many({i: [] for i in range(4096)})
    core = scheduler._core
    core.fresh = [CountingKey(slot) for slot in core.fresh]
    scheduler.ready(1)
    first = CountingKey.compared
    scheduler.ready(1)
    assert CountingKey.compared - first <= 2 * 12 + 2, "a heap of 2**12: two comparisons a level"
