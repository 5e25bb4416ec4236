"""Real threads on one scheduler; what started and what had ended is counted outside of it."""

import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from signoff.scheduler import TaskScheduler, TaskState

SIZE = 1500


@pytest.fixture(autouse=True)
def many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Crew:
    """Threads that claim and report until every task has ended."""

    def __init__(self, scheduler: TaskScheduler, graph: dict[int, tuple[int, ...]], failing: set[int]) -> None:
        self.scheduler, self.graph, self.failing = scheduler, graph, failing
        self.starts: Counter[tuple[int, int]] = Counter()
        self.done: set[int] = set()
        self.early: list[int] = []
        self.faults: list[BaseException] = []
        self.most_running = self.running = 0
        self.moved = threading.Condition()

    def work(self, seed: int) -> None:
        dice = random.Random(seed)
        try:
            while True:
                with self.moved:
                    # Nothing can become ready unless a callback comes, so waiting for one is safe.
                    self.moved.wait_for(lambda: self.may_work() or self.finished(), timeout=60)
                    if self.finished():
                        return
                self.round(dice)
        except BaseException as fault:
            self.faults.append(fault)
        finally:
            with self.moved:
                self.moved.notify_all()

    def may_work(self) -> bool:
        return bool(self.faults) or self.scheduler.tasks.counts()[TaskState.READY] > 0

    def finished(self) -> bool:
        counts = self.scheduler.tasks.counts()
        return bool(self.faults) or sum(counts[state] for state in TaskState if not state.is_terminal) == 0

    def round(self, dice: random.Random) -> None:
        claims = self.scheduler.ready(dice.choice([None, 1, 3]))
        with self.moved:
            self.running += len(claims)
            self.most_running = max(self.most_running, self.running)
            for task, generation in claims:
                self.starts[task, generation] += 1
                if any(dependency not in self.done for dependency in self.graph[task]):
                    self.early.append(task)
        for task, generation in claims:
            with self.moved:
                self.running -= 1
                if task not in self.failing:
                    self.done.add(task)
            if task in self.failing:
                self.scheduler.fail(task, generation, "broken")
            else:
                assert self.scheduler.complete(task, generation) is TaskState.SUCCEEDED
                if dice.random() < 0.2:
                    self.scheduler.complete(task, generation)
            with self.moved:
                self.moved.notify_all()

    def run(self, threads: int) -> None:
        crew = [threading.Thread(target=self.work, args=(seed,)) for seed in range(threads)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join(100)
        assert not any(thread.is_alive() for thread in crew)
        assert not self.faults, self.faults[0]


def random_graph(seed: int) -> dict[int, tuple[int, ...]]:
    dice = random.Random(seed)
    return {i: tuple({dice.randrange(i) for _ in range(dice.randrange(4))}) if i else () for i in range(SIZE)}


def test_no_version_starts_twice_or_early_and_slots_are_never_exceeded() -> None:
    graph = random_graph(1)
    scheduler = TaskScheduler(max_concurrency=5)
    scheduler.submit_many(graph)
    crew = Crew(scheduler, graph, failing=set())
    crew.run(6)
    assert set(crew.starts.values()) == {1}
    assert len(crew.starts) == SIZE
    assert crew.early == []
    assert 0 < crew.most_running <= 5
    assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == SIZE
    assert scheduler.metrics().duplicate_callbacks > 0


def test_failures_block_exactly_their_descendants_under_threads() -> None:
    graph = random_graph(2)
    failing = set(range(40, SIZE, 97))
    bad: set[int] = set()
    for task, dependencies in graph.items():
        if task in failing or any(dependency in bad for dependency in dependencies):
            bad.add(task)
    scheduler = TaskScheduler()
    scheduler.submit_many(graph)
    crew = Crew(scheduler, graph, failing)
    crew.run(6)
    assert set(crew.starts.values()) == {1}
    assert crew.early == []
    assert {task for task in graph if scheduler.tasks.state(task) is not TaskState.SUCCEEDED} == bad
    for task in bad - failing:
        cause = scheduler.tasks.cause(task)
        if scheduler.tasks.state(task) is TaskState.BLOCKED:
            assert cause is not None
            assert cause.task in failing


def test_close_races_with_claims_and_callbacks() -> None:
    for seed in range(20):
        graph = random_graph(seed)
        scheduler = TaskScheduler(max_concurrency=4)
        scheduler.submit_many({task: dependencies for task, dependencies in graph.items() if task < 100})
        begun = threading.Event()
        ended: Counter[int] = Counter()

        def drive(scheduler: TaskScheduler = scheduler, begun: threading.Event = begun, ended=ended) -> None:
            while claims := scheduler.ready(2):
                begun.set()
                for task, generation in claims:
                    ended[task] += 1
                    scheduler.complete(task, generation)
            begun.set()

        crew = [threading.Thread(target=drive) for _ in range(3)]
        for thread in crew:
            thread.start()
        assert begun.wait(30)
        report = scheduler.close(timeout=30)
        for thread in crew:
            thread.join(30)
        assert report.finished
        assert report.running == ()
        counts = scheduler.tasks.counts()
        assert counts[TaskState.SUCCEEDED] == len(ended)
        assert set(ended.values()) <= {1}
        assert counts[TaskState.SUCCEEDED] + counts[TaskState.CANCELLED] == 100
        assert len(report.cancelled) == counts[TaskState.CANCELLED]
