"""The durable scheduler and the reference model side by side, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from signoff.scheduler.durable import DurableTaskScheduler
from signoff.scheduler.stored.version import LeasedClaim
from signoff.store.tasks import TaskGraphStore, open_task_graph
from tests.scheduler.pair import Pair
from tests.scheduler.reference import Reference
from tests.stores import place

LEASE_S = 10.0


class Clock:
    """Aware UTC time that moves when it is told to."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def forward(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@contextmanager
def opened(path: Path, name: str = "default", clock: Clock | None = None, **settings: Any) -> Iterator[Any]:
    """A scheduler on a file, and its store as `.store`."""
    store = open_task_graph(place(path), name)
    try:
        scheduler: Any = DurableTaskScheduler(store, lease_s=LEASE_S, now=clock or Clock(), **settings)
        scheduler.store = store
        yield scheduler
    finally:
        store.close()


def claim_all(scheduler: Any, limit: int | None = None, **asked: Any) -> list[LeasedClaim]:
    claims: list[LeasedClaim] = scheduler.ready(limit, **asked)
    return claims


def names(claims: list[LeasedClaim]) -> list[str]:
    return [claim.task for claim in claims]


class DurableModel(Reference):  # type: ignore[misc]
    """The reference model; a lease that runs out is the one thing it has not."""

    def expire(self) -> None:
        for task, record in self.tasks.items():
            if record["state"] == "running":
                if record["stop"]:
                    record["state"] = "cancelled"
                    self.ended(task)
                else:
                    record["state"] = "ready"

    def close(self, queued: str) -> None:
        super().close(queued)
        self.policy = "cancel" if queued == "cancel" else getattr(self, "policy", "keep")


class Twofold:
    """Drives the durable scheduler by the names of the in-memory one, remembering the fencing tokens."""

    def __init__(self, real: DurableTaskScheduler) -> None:
        self.real = real
        self.fences: dict[tuple[str, int], int] = {}
        self.tasks = real.tasks
        self.submit, self.submit_many, self.add_dependency = real.submit, real.submit_many, real.add_dependency

    def ready(self, limit: int | None, all_or_nothing: bool) -> list[tuple[str, int]]:
        claims = self.real.ready(limit, all_or_nothing)
        self.fences |= {(claim.task, claim.generation): claim.fence for claim in claims}
        return [(claim.task, claim.generation) for claim in claims]

    def complete(self, task: str, generation: int) -> Any:
        return self.real.complete(task, generation, fence=self.fences.get((task, generation), 0))

    def fail(self, task: str, generation: int, error: object) -> Any:
        return self.real.fail(task, generation, error, fence=self.fences.get((task, generation), 0))

    def cancel(self, task: str, *, generation: int | None, confirmed: bool) -> Any:
        current = self.tasks.generation(task) if task in self.tasks else 0
        fence = self.fences.get((task, generation or current))
        return self.real.cancel(task, generation=generation, confirmed=confirmed, fence=fence)


class DurablePair(Pair):
    """`Pair` on a stored graph; after each operation the graph may be opened anew, as after a restart."""

    def __init__(self, path: Path, name: str, *, slots: int | None, open_graph: bool, strict: bool, page: int) -> None:
        self.path, self.name, self.clock = path, name, Clock()
        self.settings = {"max_concurrency": slots, "open_graph": open_graph, "strict": strict, "page": page}
        self.store = open_task_graph(place(path), name)
        self.durable = DurableTaskScheduler(self.store, lease_s=LEASE_S, now=self.clock, **self.settings)  # type: ignore[arg-type]
        self.real: Any = Twofold(self.durable)
        self.model = DurableModel(slots=slots, open_graph=open_graph, strict=strict)
        self.claims, self.states, self.started, self.watched = [], {}, [], False

    def restart(self) -> None:
        self.store.close()
        self.store = open_task_graph(place(self.path), self.name)
        fences = self.real.fences
        self.durable = DurableTaskScheduler(self.store, lease_s=LEASE_S, now=self.clock, **self.settings)  # type: ignore[arg-type]
        self.real = Twofold(self.durable)
        self.real.fences = fences
        self.compare()

    def expire(self) -> None:
        self.clock.forward(LEASE_S + 1)
        while self.durable.advance():
            pass
        self.model.expire()
        if self.model.closed and self.model.policy == "cancel":
            self.model.close("cancel")
        self.compare()

    def close(self, queued: Any) -> None:
        policy = "cancel" if "cancel" in (queued, getattr(self.model, "policy", "")) else "keep"
        report = self.durable.close(0, queued)
        self.model.close(policy)
        self.compare()
        assert report.finished == (self.model.running() == 0)
        assert report.running_count == self.model.running()
        queue = self.in_state("waiting") | self.in_state("pending") | self.in_state("ready")
        assert sum(report.kept.values()) == len(queue)

    def compare(self) -> None:
        super().compare()
        tallies = dict.fromkeys(("ready", "running"), 0)
        with self.store.read() as tables:
            for state in tallies:
                assert tables.ledger.count(state) == len(self.in_state(state))
            assert not tables.ledger.frontier(1)


def frontier(store: TaskGraphStore) -> list[tuple[int, int, int, int, int]]:
    with store.read() as tables:
        return tables.ledger.frontier(1000)
