"""A simulated worker: the behaviour of `runtime.worker.Worker` without its threads, and with accidents."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from signoff.core.states import Actor
from tests.simulation.ask import Ask, is_over
from tests.simulation.documents import LOOK

if TYPE_CHECKING:
    from tests.simulation.world import World

Claim = tuple[str, str, int, int, int]
IMPOSTOR = Actor("worker", "impostor", channel="worker")
CLAIM = ("run_id", "step", "generation", "attempt", "fence")


def claim_of(task: dict[str, Any]) -> Claim:
    return tuple(task[name] for name in CLAIM)  # type: ignore[return-value]


class SimWorker:
    """Takes tasks, performs effects in the outside world, reports until it is answered."""

    def __init__(self, name: str, pools: tuple[str, ...], slots: int, world: World) -> None:
        self.actor = Actor("worker", name, channel="worker")
        self.pools, self.slots, self.world = pools, slots, world
        self.active: dict[Claim, dict[str, Any]] = {}
        self.outbox: list[Ask] = []
        self.asleep_until: float = -1.0
        self.must_offer = True
        self.offering = False
        self.received: list[int] = [0, 0]

    @property
    def dice(self) -> Random:
        return self.world.dice

    @property
    def is_asleep(self) -> bool:
        return self.world.clock.elapsed < self.asleep_until

    def take(self, task: dict[str, Any]) -> None:
        """Called by the engine after the commit that leased the task."""
        assert claim_of(task) not in self.active, "a task was handed out twice"
        self.active[claim_of(task)] = task
        self.received = task["mark"]
        working = sum("done" not in t for t in self.active.values())
        assert working <= self.slots, f"{self.actor.id} got more tasks than it has slots"

    def acts(self) -> list[Ask]:
        """What it does when its turn comes."""
        if self.is_asleep:
            return []
        faults = self.world.faults
        if self.dice.random() < faults.zombie:
            self.asleep_until = self.world.clock.elapsed + self.dice.choice((15, 40, 90))
            return []
        if self.must_offer and not self.offering:
            return [self._offer()]
        working = [t for t in self.active.values() if "done" not in t]
        if working and self.dice.random() < 0.7:
            self._perform(self.dice.choice(working))
        if not self.outbox:
            return [self._heartbeat()] if self.active and self.dice.random() < 0.7 else []
        return self._send()

    def _send(self) -> list[Ask]:
        faults = self.world.faults
        at = self.dice.randrange(len(self.outbox)) if self.dice.random() < faults.reorder else 0
        ask = self.outbox[at]
        if self.dice.random() < faults.drop:
            return []
        if not self.dice.random() < faults.duplicate:
            self.outbox.pop(at)
        return [ask]

    def _offer(self) -> Ask:
        self.offering = True

        def heard(answer: dict[str, Any]) -> None:
            self.offering = False
            self.must_offer = "ok" not in answer

        def lost() -> None:
            self.offering = False
            self.must_offer = True

        claims = [list(c) for c in self.active]
        args: dict[str, Any] = {"pools": list(self.pools), "free": self.slots - len(self.active), "claims": claims}
        args["received"] = self.received
        return Ask("offer", self.actor, args, origin="worker", context=self.take, heard=heard, lost=lost)

    def _heartbeat(self) -> Ask:
        claims = list(self.active)
        waits = [timedelta(seconds=self.active[c]["heartbeat_s"]) for c in claims]

        def heard(answer: dict[str, Any]) -> None:
            if "ok" not in answer:
                return
            if answer["ok"]["lost"]:
                self.must_offer = True

        args: dict[str, Any] = {"claims": [list(c) for c in claims]}
        if self.dice.random() < 0.5:
            args["progress"] = [{"fraction": self.dice.random(), "note": f"n{self.world.number()}"} for _ in claims]
        return Ask(
            "heartbeat", self.actor, args, origin="worker", heard=heard, renews=list(zip(claims, waits, strict=True))
        )

    def _perform(self, task: dict[str, Any]) -> None:
        """The effect happens in the outside world, then the outcome is put into the outbox."""
        task["done"] = True
        faults = self.world.faults
        if self.dice.random() < faults.failing_activity:
            code, retryable = self.dice.choice((("boom", True), ("boom", True), ("fatal", False)))
            more: dict[str, Any] = {"code": code, "message": f"It went {code}.", "retryable": retryable}
            do = "fail"
        elif task["connector"] == LOOK:
            found = self.world.auditor.effects[task["input"]["key"]] > 0
            do, more = "complete", {"output": {"found": found, "given": {"n": self.world.number()}}}
        else:
            self.world.auditor.effects[task["key"]] += 1
            bad = self.dice.random() < 0.1 * faults.mischief
            do, more = "complete", {"output": "text" if bad else {"n": self.world.number()}}
        claim = {name: task[name] for name in CLAIM}
        digest = task["digest"]
        if self.dice.random() < 0.1 * faults.mischief:
            wrong = {"digest": "sha256:" + "0" * 64}
            self.outbox.append(Ask(do, IMPOSTOR, claim | more | wrong, origin="worker"))
        self.outbox.append(self._outcome(claim_of(task), do, claim | more | {"digest": digest}))

    def _outcome(self, claim: Claim, do: str, args: dict[str, Any]) -> Ask:
        def heard(answer: dict[str, Any]) -> None:
            if not is_over(answer):
                lost()
                return
            if answer.get("code") == "stale_result":
                self.must_offer = True
            self.active.pop(claim, None)
            self.outbox[:] = [a for a in self.outbox if a is not ask]

        def lost() -> None:
            if claim in self.active and ask not in self.outbox:
                self.outbox.append(ask)

        ask = Ask(do, self.actor, args, origin="worker", heard=heard, lost=lost)
        return ask
