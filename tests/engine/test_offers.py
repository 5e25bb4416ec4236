"""A worker whose offer of slots could not be taken offers them again, for whatever reason it offered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.writer import Writer
from signoff.errors import Unavailable
from signoff.runtime.local import LocalLink
from signoff.runtime.worker import Worker, _Pulse
from tests.engine.office import Clock, Office, call, chain, open_office


class Away(LocalLink):
    """The engine, whose database answers no offer for a while; `unheard`: nor any heartbeat."""

    left = 0
    unheard = False

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.asking = threading.Lock()

    def offer(self, worker: str, args: dict[str, Any], on_task: Callable[[dict[str, Any]], None]) -> None:
        if self.left:
            self.left -= 1
            raise Unavailable("The database server does not answer.", remedy="Send it again.")
        super().offer(worker, args, on_task)

    def request(self, worker: str, do: str, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
        with self.asking:
            if self.unheard:
                raise Unavailable("The database server does not answer.", remedy="Send it again.")
            return super().request(worker, do, tenant, args)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr(_Pulse, "error_pause_s", 0.01)
    with open_office(tmp_path, now=clock, slots=0) as office:
        step = call("a", "slow", timeouts={"heartbeat_s": 1.0, "run_s": 600.0}, retry={"initial_s": 0.0, "jitter": 0.0})
        office.publish(chain("slow", step))
        office.publish(chain("quick", call("b")))
        yield office


def worker_of(office: Office, link: LocalLink) -> Worker:
    worker = Worker("one", link, office.connectors, slots=1)
    office.running.workers.append(worker)
    worker.start_pulse()
    worker.offer_soon()
    return worker


def test_where_it_comes_while_the_database_is_away(office: Office) -> None:
    link = Away(office.running.writer)
    link.left = 3
    worker_of(office, link)
    office.until_status(office.start("quick"), "succeeded")
    assert link.left == 0


def test_where_its_lease_was_lost_meanwhile(office: Office, clock: Clock) -> None:
    link = Away(office.running.writer)
    worker_of(office, link)
    slow = office.start("slow")
    assert office.connectors.begun.acquire(timeout=10)
    with link.asking:  # no heartbeat is on its way
        link.left, link.unheard = 3, True
        clock.move(seconds=2)
    office.until(slow, lambda v: v.state.steps["a"].attempt == 2)
    link.unheard = False  # the next heartbeat learns that the lease ran out, and its slot is free
    assert office.connectors.begun.acquire(timeout=20), "it gets the second attempt"
    assert link.left == 0
    office.connectors.let_go.set()
    office.until_status(slow, "succeeded")
