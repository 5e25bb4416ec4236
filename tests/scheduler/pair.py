"""The scheduler and the reference model side by side: every operation on both, everything visible compared."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import Any

from signoff.scheduler import SchedulerError, StateChange, TaskScheduler
from signoff.scheduler.states import ALLOWED, TaskState
from tests.scheduler.reference import BAD, Reference, Refused


class Pair:
    def __init__(
        self,
        *,
        slots: int | None = None,
        open_graph: bool = False,
        strict: bool = False,
        watched: bool = True,
    ) -> None:
        self.real = TaskScheduler(max_concurrency=slots, open_graph=open_graph, strict=strict, timings=watched)
        self.model = Reference(slots=slots, open_graph=open_graph, strict=strict)
        self.claims: list[tuple[Any, int]] = []
        self.states: dict[tuple[Any, int], TaskState] = {}
        self.started: list[tuple[Any, int]] = []
        self.watched = watched
        if watched:
            self.real.subscribe(self.watch)

    def watch(self, change: StateChange) -> None:
        """Follow every version through the transition table, from the outside."""
        version = (change.task, change.generation)
        assert (change.source, change.target) in ALLOWED, change
        assert self.states.get(version) == change.source, change
        self.states[version] = change.target
        if change.target is TaskState.RUNNING:
            self.started.append(version)

    def both(self, real: Callable[[], Any], model: Callable[[], Any]) -> Any:
        expected = answer(model)
        actual = answer(real)
        assert actual == expected
        self.compare()
        return actual

    def submit(self, task: Any, required: Any = (), optional: Any = (), generation: int | None = None) -> Any:
        return self.both(
            lambda: self.real.submit(task, required, optional=optional, generation=generation),
            lambda: self.model.submit(task, required, optional, generation),
        )

    def submit_many(self, graph: dict[Any, Any]) -> None:
        """A batch is all or nothing: either it is refused and nothing changed, or it is as if all came at once."""
        trial = copy.deepcopy(self.model)
        trial.open_graph = True
        cyclic_before = any(trial.reaches(task, [task]) for task in trial.tasks)
        try:
            with unchecked(trial):
                for task in entering_order(graph, bool(graph.keys() & trial.tasks.keys())):
                    trial.submit(task, graph[task])
            unknown = {dep for required in graph.values() for dep in required} - set(trial.tasks)
            good = not declares_cycle(self.model, graph)
            good = good and (self.model.open_graph or not unknown) and not self.model.closed
        except Refused:
            good = False
        refused = isinstance(answer(lambda: self.real.submit_many(list(graph.items()))), str)
        if not cyclic_before:
            assert refused != good
        if not refused:
            trial.open_graph = self.model.open_graph
            self.model = trial
        self.compare()

    def ready(self, limit: int | None = None, all_or_nothing: bool = False) -> Any:
        claims = self.both(
            lambda: self.real.ready(limit, all_or_nothing), lambda: self.model.ready(limit, all_or_nothing)
        )
        if isinstance(claims, list):
            self.claims += claims
        return claims

    def complete(self, task: Any, generation: int) -> Any:
        return self.both(
            lambda: self.real.complete(task, generation), lambda: self.model.end(task, generation, "succeeded")
        )

    def fail(self, task: Any, generation: int) -> Any:
        return self.both(
            lambda: self.real.fail(task, generation, "broken"), lambda: self.model.end(task, generation, "failed")
        )

    def cancel(self, task: Any, generation: int | None = None, confirmed: bool = False) -> Any:
        return self.both(
            lambda: self.real.cancel(task, generation=generation, confirmed=confirmed),
            lambda: self.model.cancel(task, generation, confirmed),
        )

    def add_dependency(self, task: Any, dependency: Any, optional: bool = False) -> Any:
        return self.both(
            lambda: self.real.add_dependency(task, dependency, optional=optional),
            lambda: self.model.add_dependency(task, dependency, optional),
        )

    def close(self, queued: Any) -> None:
        report = self.real.close(0, queued)
        self.model.close(queued)
        self.compare()
        assert report.finished == (self.model.running() == 0)
        assert {task for task, _ in report.running} == self.in_state("running")
        assert set(report.kept) == self.in_state("waiting") | self.in_state("pending") | self.in_state("ready")
        assert all(report.cancelled.values())
        assert all(report.kept.values())

    def in_state(self, state: str) -> set[Any]:
        return {task for task in self.model.tasks if self.model.state(task) == state}

    def compare(self) -> None:
        """Compare all that can be seen from outside."""
        tasks = self.real.tasks
        assert set(tasks.ids()) == set(self.model.tasks)
        assert len(tasks) == len(self.model.tasks)
        counts = dict.fromkeys(TaskState, 0)
        for task, record in self.model.tasks.items():
            info = tasks.info(task)
            assert info.state == self.model.state(task), task
            assert info.generation == record["generation"]
            assert set(info.dependencies) == set(record["required"])
            assert set(info.optional) == set(record["optional"])
            assert not self.watched or self.states[task, info.generation] == info.state
            counts[info.state] += 1
            if info.state in BAD:
                assert info.cause is not None
                assert info.cause.task == (record["root"] or task)
                assert info.cause.path[0] == info.cause.task
                assert info.cause.path[-1] == task
        assert tasks.counts() == counts
        assert len(self.started) == len(set(self.started)), "a version ran twice"


def entering_order(graph: dict[Any, Any], again: bool) -> list[Any]:
    """The order given; if ids are submitted again, each time the first whose dependencies in the batch are placed."""
    placed: list[Any] = [] if again else list(graph)
    while len(placed) < len(graph):
        free = [t for t in graph if t not in placed and all(d in placed or d not in graph for d in graph[t])]
        if not free:
            raise Refused("DependencyCycle")
        placed.append(free[0])
    return placed


def declares_cycle(model: Reference, graph: dict[Any, Any]) -> bool:
    """Whether the edges of a batch and those that are waited for now form a cycle, whoever is blocked already."""
    waiting = {task: record["left"] for task, record in model.tasks.items() if record["state"] == "pending"}
    try:
        TopologicalSorter(waiting | graph).prepare()
    except CycleError:
        return True
    return False


@contextmanager
def unchecked(model: Reference) -> Iterator[None]:
    """Let the model take edges in any order; the caller looks for cycles at the end."""
    model.reaches = lambda *_: False  # type: ignore[method-assign]
    yield
    del model.reaches


def answer(operation: Callable[[], Any]) -> Any:
    """What an operation returns, or the name of the error it refuses with."""
    try:
        return operation()
    except Refused as refusal:
        return str(refusal)
    except SchedulerError as error:
        return type(error).__name__ if error.message and error.remedy else "an error that does not help"
