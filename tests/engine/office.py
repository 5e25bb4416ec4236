"""A small office on a real embedded engine: people, definitions, and ways to wait without sleeping."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from signoff.connectors.call import ActivityError, Call
from signoff.core.history import replay_history
from signoff.core.plan import compile_plan
from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.views import RunView
from signoff.runtime.running import Running
from signoff.store.journal import event_of
from signoff.store.reads.reader import Reader
from signoff.wiring import Settings, open_embedded, open_vault
from tests import stores

TENANT = "default"
ALL_ROLES = ("designer", "publisher", "starter", "approver", "operator")
PEOPLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ada": (("designer", "publisher", "starter"), ()),
    "grace": (("approver",), ("managers",)),
    "alan": (("approver",), ("managers",)),
    "edith": (("approver",), ("managers",)),
    "katherine": (("operator",), ()),
    "dan": (("starter",), ()),
}


def person(login: str, channel: str = "test") -> Actor:
    """Somebody of the office."""
    return Actor("person", login, channel=channel)


class Clock:
    """A clock that tests move; starts on a fixed day."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """Move forward (or back)."""
        self.now += timedelta(**by)


class Connectors(dict[str, Callable[[Call], Any]]):
    """Scripted activities that count their calls."""

    def __init__(self) -> None:
        super().__init__(ok=self.ok, flaky=self.flaky, slow=self.slow)
        self.calls: list[Call] = []
        self.broken: set[str] = set()
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()

    def ok(self, call: Call) -> Any:
        """Succeeds."""
        self.calls.append(call)
        return {"step": call.step, "given": call.input}

    def flaky(self, call: Call) -> Any:
        """Fails while its step is in `broken`."""
        self.calls.append(call)
        if call.step in self.broken:
            raise ActivityError(f"{call.step} is broken.", code="broken", retryable=False)
        return {}

    def slow(self, call: Call) -> Any:
        """Waits until `let_go` is set."""
        self.calls.append(call)
        self.begun.release()
        if not self.let_go.wait(60):
            raise ActivityError("nobody let go")
        return {"step": call.step}

    def count(self, step: str) -> int:
        """How often a step was called."""
        return sum(c.step == step for c in self.calls)


class Office:
    """A running engine with helpers for tests."""

    def __init__(self, running: Running, connectors: Connectors, folder: Path) -> None:
        self.running = running
        self.connectors = connectors
        self.folder = folder
        self._changed = threading.Condition()
        self._stop = running.signoff.feed.subscribe(self._news)

    @property
    def signoff(self) -> Signoff:
        """The face of the engine."""
        return self.running.signoff

    def _news(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def publish(self, document: dict[str, Any]) -> dict[str, Any]:
        """Create and publish a definition."""
        name = document["name"]
        known = self.signoff.queries.find_draft(TENANT, name)
        if known is None:
            self.signoff.create_draft(person("ada"), TENANT, document)
            return self.signoff.publish(person("ada"), TENANT, name, 1)
        saved = self.signoff.save_draft(person("ada"), TENANT, name, document, {}, known.revision)
        return self.signoff.publish(person("ada"), TENANT, name, saved["revision"])

    def start(self, name: str, by: str = "ada", key: str = "", **values: Any) -> str:
        """Start a run."""
        return str(self.signoff.start_run(person(by), TENANT, name, values, idempotency_key=key)["run_id"])

    def view(self, run_id: str) -> RunView:
        """The run as it is."""
        return self.signoff.queries.get_run(TENANT, run_id)

    def until(self, run_id: str, good: Callable[[RunView], bool], timeout_s: float = 20.0) -> RunView:
        """Wait for the feed until the run is where it should be."""
        with self._changed:
            found = self._changed.wait_for(lambda: good(self.view(run_id)), timeout_s)
        view = self.view(run_id)
        assert found, f"the run is {view.row.status}: {view.explanation.sentence}"
        return view

    def until_status(self, run_id: str, status: str) -> RunView:
        """Wait for a status of the run."""
        return self.until(run_id, lambda v: v.row.status == status)

    def until_step(self, run_id: str, step: str, status: str) -> RunView:
        """Wait for a status of a step."""
        return self.until(run_id, lambda v: v.state.steps[step].status == status)

    def decide(self, run_id: str, step: str, by: str, outcome: str = "approved", **more: Any) -> dict[str, Any]:
        """Decide what the person sees now."""
        task = self.signoff.queries.find_task(TENANT, by, run_id, step)
        args = {"generation": task.generation, "shown_digest": task.shown_digest} if task else {"generation": 1}
        return self.signoff.decide(person(by), TENANT, run_id, step, outcome, **{"comment": "ok", **args, **more})

    def types(self, run_id: str) -> list[str]:
        """Wire names of the run's history."""
        return [e.type for e in self.signoff.queries.list_events(TENANT, run_id)]

    def evidence(self, run_id: str) -> list[str]:
        """Kinds of evidence in the run's history."""
        events = self.signoff.queries.list_events(TENANT, run_id)
        return [e.data["kind"] for e in events if e.type == "evidence.recorded"]

    def check_replay(self) -> int:
        """Every run's snapshot equals the replay of its events, and sequences have no gap; returns how many runs."""
        vault = open_vault(Settings(self.folder))
        reader = Reader(stores.reader_of(self.folder), vault)
        try:
            runs = reader.rows("SELECT id, public_id FROM run")
            for pk, run_id in runs:
                state = self.view(run_id).state  # first, so that all its events are there
                rows = reader.rows(
                    "SELECT e.type, e.version, e.at, e.step, coalesce(e.data, p.data), e.seq FROM event e"
                    " LEFT JOIN payload p ON p.id = e.payload_id WHERE e.run=? AND e.seq <= ? ORDER BY e.seq",
                    (pk, state.sequence),
                )
                assert [r[5] for r in rows] == list(range(1, state.sequence + 1))
                plans = {
                    v.digest: compile_plan(v.definition, v.digest, v.version)
                    for v in self.signoff.queries.list_versions(TENANT, self.view(run_id).row.definition)
                }
                assert replay_history(plans.__getitem__, [event_of(r, reader.bodies, pk) for r in rows]).state == state
            return len(runs)
        finally:
            reader.close()


@contextmanager
def open_office(folder: Path, **options: Any) -> Iterator[Office]:
    """An engine with the people of the office; `options` go to `open_embedded`."""
    connectors = options.pop("connectors", None) or Connectors()
    stores.current.prepare(folder)
    with open_embedded(folder, connectors=connectors, **options) as running:
        for login, (roles, groups) in PEOPLE.items():
            running.save_person(login, name=login.title(), roles=roles, groups=groups)
        yield Office(running, connectors, folder)
        connectors.let_go.set()


def chain(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A definition whose steps follow one another; each step is given its label from its id."""
    made = [{"label": s["id"].title(), **s} for s in steps]
    edges = [{"from": a["id"], "to": b["id"]} for a, b in pairwise(made)]
    return {"name": name, "title": name.title(), "steps": made, "edges": edges, **more}


def call(step: str, connector: str = "ok", **more: Any) -> dict[str, Any]:
    """An activity."""
    return {"id": step, "kind": "activity", "connector": connector, **more}


def ask(step: str, **more: Any) -> dict[str, Any]:
    """An approval by the managers."""
    return {"id": step, "kind": "approval", "groups": ["managers"], **more}
