"""Back after an outage: what came due meanwhile is done a part at a time, and nobody stands behind all of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.request import Request
from signoff.runtime import timers
from signoff.runtime.timers import TimerPump
from tests import stores
from tests.engine.counter import request
from tests.engine.office import TENANT, Clock, Office, chain, open_office, person

COUNT = 3 * timers.BATCH + 5


@pytest.fixture(autouse=True)
def _on_both_stores(store: stores.Stores) -> None:
    """The pump reads the database by itself."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock, slots=0, services=False) as opened:
        opened.publish(chain("rest", {"id": "w", "kind": "wait", "duration": "PT1H"}))
        yield opened


class Watched:
    """Counts what the pump sends and what is answered; somebody asks for a run after the first of it."""

    def __init__(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writer = office.running.writer
        self.order: list[str] = []
        self.open = self.most_open = 0
        self._lock = threading.Lock()
        self._submit = self.writer.submit
        monkeypatch.setattr(self.writer, "submit", self)

    def __call__(self, sent: Request) -> None:
        if sent.do != "fire_timer":
            self._submit(sent)
            return
        is_first = not self.order
        with self._lock:
            self.order.append(str(sent.args["run_id"]))
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        reply = sent.reply

        def answered(answer: dict[str, Any]) -> None:
            with self._lock:
                self.open -= 1
            reply(answer)

        sent.reply = answered
        self._submit(sent)
        if is_first:
            self._ask()

    def _ask(self) -> None:
        made = request("start_run", TENANT, {"definition": "rest", "input": {}}, person("ada"), "client")
        made.reply = lambda answer: self.order.append("asked" if "ok" in answer else str(answer))
        self._submit(made)


def test_a_backlog_of_timers_drains_in_parts_and_lets_others_in(
    office: Office, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for _ in range(COUNT):
        runs.append(office.start("rest"))
        clock.move(seconds=1)
    clock.move(days=1)
    watched = Watched(office, monkeypatch)
    pump = TimerPump(office.running.reader, office.running.writer, clock)
    pump.work()
    assert [run for run in watched.order if run != "asked"] == runs, "each once, what was due first comes first"
    assert watched.most_open <= timers.BATCH
    assert watched.order.index("asked") <= timers.BATCH, "it was answered before the second part was begun"
    assert office.signoff.queries.list_runs(TENANT, status="running", limit=2).items[1:] == (), "but what was asked for"
    assert office.view(runs[-1]).row.status == "succeeded"
