"""An engine without threads: requests go in, answers and tasks come out, on a clock that is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from signoff.core.states import Actor
from signoff.engine.handle import Engine
from signoff.engine.request import Outbound, Request, unwrap
from signoff.store.dialects.sqlite import open_engine
from signoff.store.journal import Journal
from signoff.store.migrate import upgrade

ROLES = ("designer", "publisher", "starter", "operator", "administrator")
ADA = Actor("person", "ada", channel="test")
SETUP = Actor("system", "setup", channel="engine")


class Counter:
    """One engine on one file; every tenant has an `ada` who may do everything."""

    def __init__(self, folder: Path) -> None:
        self.now = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
        self.database = open_engine(folder / "signoff.db")
        with self.database.begin() as connection:
            upgrade(connection)
        self.tasks: list[dict[str, Any]] = []
        self.last = Outbound()
        self._keys = count()
        self.boot()

    def boot(self) -> None:
        """A new process on the same file."""
        if hasattr(self, "engine"):
            self.engine.journal.close()
        self.engine = Engine(Journal(self.database), lambda: self.now, {"ok", "other"})

    def close(self) -> None:
        """The end."""
        self.engine.journal.close()
        self.database.dispose()

    def send(self, *requests: Request) -> list[dict[str, Any]]:
        """All in one commit; what is wanted again is done at once, as the writer does."""
        out = self.last = self.engine.process(requests)
        for slot, task in out.tasks:
            slot.send(task)
        if out.lease_again:
            self.send(request("lease", "", {}, SETUP, "engine"))
            self.last = out
        return [answer for _, answer in out.answers]

    def do(self, what: str, tenant: str = "a", actor: Actor = ADA, origin: str = "client", **args: Any) -> Any:
        """One request; raises what it is refused with."""
        return unwrap(self.send(request(what, tenant, args, actor, origin))[0])

    def tenant(self, name: str, **limits: Any) -> None:
        """A tenant with one person, one definition of one call in each pool and connector that is asked for."""
        self.do("save_person", name, SETUP, "engine", login="ada", name="Ada", roles=list(ROLES), groups=[])
        if limits:
            self.do("set_limits", name, limits=limits, reason="a test")

    def publish(self, tenant: str, name: str, *steps: dict[str, Any], **more: Any) -> None:
        """A chain of steps."""
        edges = [{"from": a["id"], "to": b["id"]} for a, b in pairwise(steps)]
        document = {"name": name, "title": name.title(), "steps": list(steps), "edges": edges, **more}
        self.do("create_draft", tenant, document=document)
        self.do("publish", tenant, name=name, revision=1)

    def start(self, tenant: str, name: str = "work", times: int = 1) -> list[str]:
        """Start runs in one commit."""
        args = {"definition": name, "input": {}}
        answers = self.send(*(request("start_run", tenant, args, ADA, "client") for _ in range(times)))
        return [unwrap(a)["run_id"] for a in answers]

    def offer(self, free: int, *pools: str, worker: str = "w") -> None:
        """A worker connects."""
        made = request("offer", "", {"pools": list(pools or ("default",)), "free": free}, _worker(worker), "worker")
        made.context = self.tasks.append
        self.send(made)

    def finish(self, *tasks: dict[str, Any], worker: str = "w") -> None:
        """The worker answers; all in one commit."""
        names = ("run_id", "step", "generation", "attempt", "item", "fence")
        self.send(
            *(
                request("complete", t["tenant"], {**{n: t[n] for n in names}, "output": {}}, _worker(worker), "worker")
                for t in tasks
            )
        )

    def move(self, **by: float) -> None:
        """Time passes."""
        self.now += timedelta(**by)

    def look(self) -> None:
        """What the writer does a second after something was held back."""
        self.send(request("lease", "", {"everywhere": True}, SETUP, "engine"))

    def drain(self) -> list[str]:
        """Work until nothing is handed out any more; the tenants in the order in which they were served."""
        served = []
        while self.tasks:
            task = self.tasks.pop(0)
            served.append(str(task["tenant"]))
            self.finish(task)
        return served


def step(name: str = "s", **more: Any) -> dict[str, Any]:
    """One call."""
    return {"id": name, "kind": "activity", "label": name.upper(), "connector": "ok", **more}


def request(what: str, tenant: str, args: dict[str, Any], actor: Actor, origin: str) -> Request:
    """A request whose answer comes with the commit."""
    return Request(what, tenant, actor, args, lambda answer: None, "", origin)


def _worker(name: str) -> Actor:
    return Actor("worker", name, channel="worker")
