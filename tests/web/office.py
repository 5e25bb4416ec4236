"""A small office for the page tests: an embedded engine with people and processes, served by a real uvicorn.

`python -m tests.web.office PORT FOLDER` serves it by hand.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import panel as pn
import uvicorn

from signoff.connectors.call import ActivityError, Call
from signoff.core.states import Actor
from signoff.engine.views import FeedEvent
from signoff.runtime.running import Running
from signoff.web.app import create_app
from signoff.web.settings import WebSettings
from signoff.wiring import open_embedded

TENANT = "default"
PEOPLE = {
    "ada": ("Ada (designer)", ("designer", "publisher", "starter", "operator", "auditor"), ()),
    "max": ("Max (manager)", ("approver", "starter"), ("managers",)),
    "mia": ("Mia (manager)", ("approver",), ("managers", "finance")),
    "dan": ("Dan (starter)", ("starter",), ()),
}

PURCHASE: dict[str, Any] = {
    "format": "signoff/1",
    "name": "purchase",
    "title": "Purchase approval",
    "description": "Somebody wants to buy something; a manager decides, the order is placed.",
    "input": [
        {"name": "item", "label": "What"},
        {"name": "amount", "label": "Amount in euros", "type": "number", "minimum": 0, "maximum": 100000},
        {"name": "urgent", "label": "Urgent", "type": "boolean", "required": False},
    ],
    "steps": [
        {
            "id": "check",
            "kind": "activity",
            "label": "Check the budget",
            "connector": "budget",
            "input": {"amount": "=input.amount"},
        },
        {
            "id": "approve",
            "kind": "approval",
            "label": "Manager approves",
            "groups": ["managers"],
            "instructions": "Is this worth its price?",
            "shows": {"What": "=input.item", "Amount": "=input.amount"},
        },
        {
            "id": "order",
            "kind": "activity",
            "label": "Place the order",
            "connector": "order",
            "input": {"item": "=input.item"},
            "output": [{"name": "number", "label": "Order number"}],
            "retry": {"max_attempts": 1},
        },
        {
            "id": "tell",
            "kind": "activity",
            "label": "Tell the requester",
            "connector": "budget",
            "input": {"amount": 1},
        },
    ],
    "edges": [
        {"from": "check", "to": "approve"},
        {"from": "approve", "to": "order"},
        {"from": "approve", "to": "tell", "on": "rejected"},
        {"from": "order", "to": "tell"},
    ],
}
PURCHASE["steps"][3]["join"] = "any"


@dataclass
class Desk:
    """The outside services; `broken` makes orders fail, `gate` holds them until it is set."""

    broken: bool = False
    gate: threading.Event = field(default_factory=threading.Event)
    orders: list[Any] = field(default_factory=list)

    def budget(self, call: Call) -> Any:
        return {"left": 1000.0}

    def order(self, call: Call) -> Any:
        self.gate.wait(30)
        if self.broken:
            raise ActivityError("The shop is closed.", code="closed", retryable=False)
        self.orders.append(call.input)
        return {"number": f"B-{len(self.orders)}"}


@dataclass
class Office:
    """Everything a test drives."""

    running: Running
    desk: Desk
    address: str = ""
    connectors: dict[str, Any] = field(default_factory=dict)

    @property
    def signoff(self) -> Any:
        return self.running.signoff

    def actor(self, login: str) -> Actor:
        return Actor("person", login, PEOPLE.get(login, (login,))[0], "api")

    def publish(self, document: dict[str, Any], layout: dict[str, Any] | None = None) -> dict[str, Any]:
        """Store and publish a definition."""
        answer = self.signoff.create_draft(self.actor("ada"), TENANT, document, layout)
        return self.signoff.publish(self.actor("ada"), TENANT, answer["name"], answer["revision"])

    def start(self, login: str = "dan", definition: str = "purchase", **values: Any) -> str:
        """Start a run and return its id."""
        usual = {"item": "Desk lamp", "amount": 120.5, "urgent": False} if definition == "purchase" else {}
        given = values or usual
        return self.signoff.start_run(self.actor(login), TENANT, definition, given)["run_id"]

    def status(self, run_id: str) -> dict[str, str]:
        """The steps' states, and the run's under ''."""
        view = self.signoff.queries.get_run(TENANT, run_id)
        return {"": view.row.status} | {i: s.status.value for i, s in view.state.steps.items()}

    def wait_until(self, run_id: str, good: Callable[[dict[str, str]], bool]) -> None:
        """Wait on the feed until the run looks right."""
        changed = threading.Event()

        def heard(event: FeedEvent) -> None:
            if event.run_id == run_id:
                changed.set()

        stop = self.signoff.feed.subscribe(heard)
        try:
            for _ in range(200):
                changed.clear()
                if good(self.status(run_id)):
                    return
                changed.wait(0.5)
        finally:
            stop()
        raise AssertionError(f"the run did not get there: {self.status(run_id)}")

    def waiting_run(self, login: str = "dan", **values: Any) -> str:
        """A run that waits for its approval."""
        run_id = self.start(login, **values)
        self.wait_until(run_id, lambda s: s["approve"] == "waiting")
        return run_id

    def stalled_run(self) -> str:
        """A run whose order failed."""
        self.desk.broken = True
        self.desk.gate.set()
        run_id = self.waiting_run()
        self.approve(run_id, "max")
        self.wait_until(run_id, lambda s: s[""] == "stalled")
        return run_id

    def approve(self, run_id: str, login: str) -> None:
        """Decide by API."""
        item = self.signoff.queries.find_task(TENANT, login, run_id, "approve")
        self.signoff.decide(
            self.actor(login),
            TENANT,
            run_id,
            "approve",
            "approved",
            generation=item.generation,
            shown_digest=item.shown_digest,
        )


def open_office(folder: Path) -> Office:
    """An engine with people and the purchase process."""
    desk = Desk()
    connectors: dict[str, Any] = {"budget": desk.budget, "order": desk.order}
    running = open_embedded(folder, connectors=connectors)
    for login, (name, roles, groups) in PEOPLE.items():
        running.save_person(login, name=name, roles=roles, groups=groups, password="demo")
    office = Office(running, desk, connectors=connectors)
    office.publish(PURCHASE)
    return office


class Server:
    """The web application on a free port, in a thread."""

    def __init__(self, office: Office, *, demo: bool = True, port: int = 0) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        office.address = f"http://localhost:{self._socket.getsockname()[1]}"
        self._office, self._demo = office, demo
        self.use(None)

    def use(self, provider: Any) -> None:
        """Build the application; with a provider at which people may sign in too. Before it is started."""
        self.app = create_app(self._office.signoff, WebSettings(demo=self._demo, provider=provider))
        config = uvicorn.Config(self.app, log_level="warning", timeout_graceful_shutdown=1, ws="websockets-sansio")
        self._server = uvicorn.Server(config)
        self.started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Server:
        self._thread.start()
        for _ in range(200):
            if self._server.started:
                return self
            self.started.wait(0.05)
        raise AssertionError("the web server did not start")

    def __exit__(self, *exc: object) -> None:
        self._server.should_exit = True
        self._thread.join(15)
        self._socket.close()
        for watcher in list(pn.state.param.watchers.get("busy", {}).get("value", [])):
            pn.state.param.unwatch(watcher)  # of pages whose loop has ended: it would fail those of the next server


if __name__ == "__main__":
    office = open_office(Path(sys.argv[2]))
    with office.running, Server(office, port=int(sys.argv[1])):
        office.stalled_run()
        office.desk.gate.clear()
        office.waiting_run(item="Espresso machine", amount=2450.0, urgent=True)
        office.start(item="Chair", amount=80.0)
        print(office.address, flush=True)
        threading.Event().wait()
