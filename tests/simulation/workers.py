"""A simulated worker: the real `runtime.worker.Worker` without threads of its own, on a link with accidents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from signoff.connectors.call import ActivityError, Call, Lost
from signoff.core.states import Actor
from signoff.engine.request import failed, unwrap
from signoff.errors import SignoffError, Unavailable
from signoff.runtime.worker import Worker
from tests.simulation.ask import Ask
from tests.simulation.documents import CONNECTOR, LOOK, UNDO

if TYPE_CHECKING:
    from tests.simulation.world import World

Claim = tuple[str, str, int, int, int]
IMPOSTOR = Actor("worker", "impostor", channel="worker")
CLAIM = ("run_id", "step", "generation", "attempt", "fence")


def claim_of(task: dict[str, Any]) -> Claim:
    return tuple(task[name] for name in CLAIM)  # type: ignore[return-value]


def gone() -> Unavailable:
    """What a link raises where the connection broke or nobody answered in time."""
    return Unavailable("The connection to the engine broke before it answered.", remedy="Send it again.")


class Unthreaded(Worker):
    """The worker, whose pauses pass on the world's clock."""

    life: Life

    def _later(self, pause_s: float, call: Callable[[], None]) -> None:
        self.life.later.append((self.life.world.clock.elapsed + pause_s, call))


class Life:
    """One process of a worker: its calls at work, its connection, what it has not sent yet."""

    def __init__(self, sim: SimWorker) -> None:
        self.sim, self.world = sim, sim.world
        self.pending: list[tuple[Claim, Callable[[], None]]] = []
        self.outbox: list[Ask] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.next_beat = float("inf")
        self.beating = False
        self.on_task: Callable[[dict[str, Any]], None] | None = None
        connectors = dict.fromkeys((CONNECTOR, UNDO), self._work) | {LOOK: self._look}
        self.worker = Unthreaded(
            sim.actor.id, self, connectors, pools=sim.pools, slots=sim.slots, executor=cast("Any", self)
        )
        self.worker.life = self
        self.worker.offer_soon()

    @property
    def dice(self) -> Random:
        return self.world.dice

    # What the worker has in place of threads

    def submit(self, call: Callable[..., None], task: dict[str, Any], stop: Any) -> None:
        """The executor: the call begins when its turn comes."""
        self.pending.append((claim_of(task), partial(call, task, stop)))

    def is_due(self) -> bool:
        """Whether the heartbeat's thread would do a round."""
        return not self.beating and (self.worker._pulse._wake.is_set() or self.world.clock.elapsed >= self.next_beat)

    def beat(self) -> None:
        """One round of the heartbeat's thread."""
        pulse = self.worker._pulse
        pulse._wake.clear()
        self.beating = True
        try:
            pause = pulse.work()
        except SignoffError:
            pause = pulse.error_pause_s
        finally:
            self.beating = False
        self.next_beat = self.world.clock.elapsed + pause if pause is not None else float("inf")

    def wait_over(self) -> None:
        """What was put off and is due now."""
        due = [call for at, call in self.later if at <= self.world.clock.elapsed]
        self.later = [(at, call) for at, call in self.later if at > self.world.clock.elapsed]
        for call in due:
            call()

    # Its link

    def take(self, task: dict[str, Any]) -> None:
        """Called by the engine after the commit that leased the task."""
        if self is not self.sim.life:
            return  # the process it was for is gone
        assert claim_of(task) not in self.worker._active, "a task was handed out twice"
        assert self.on_task is not None
        self.on_task(task)
        begun = {claim for claim, _ in self.pending} & self.worker._active.keys()
        assert len(begun) <= self.sim.slots, f"{self.sim.actor.id} got more tasks than it has slots"

    def offer(self, worker: str, args: dict[str, Any], on_task: Callable[[dict[str, Any]], None]) -> None:
        self.on_task = on_task
        self._wait_for(Ask("offer", self.sim.actor, args, origin="worker", context=self.take))

    def request(self, worker: str, do: str, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
        claims = [tuple(c) for c in args["claims"]]
        waits = [timedelta(seconds=self.worker._active[c][0]["heartbeat_s"]) for c in claims]  # type: ignore[index]
        renews = list(zip(claims, waits, strict=True))
        return self._wait_for(Ask(do, self.sim.actor, args, origin="worker", renews=renews))

    def _wait_for(self, ask: Ask) -> dict[str, Any]:
        """Send it, perhaps a while after it was made, perhaps among others, and wait for the answer."""
        engine = self.world.engine
        before, beside = self.world.meanwhile()
        if self.world.engine is not engine or self.dice.random() < self.world.faults.drop:
            raise gone()
        answers: list[dict[str, Any]] = []
        ask.heard = answers.append
        self.world.send([*before, ask, *beside])
        if not answers:
            raise gone()
        return unwrap(answers[0])

    def post(
        self, worker: str, do: str, tenant: str, args: dict[str, Any], done: Callable[[dict[str, Any]], None]
    ) -> None:
        told: list[bool] = []

        def once(answer: dict[str, Any]) -> None:
            if not told:
                told.append(True)
                done(answer)

        ask = Ask(do, self.sim.actor, args, origin="worker", heard=once, lost=lambda: once(failed(gone())))
        self.outbox.append(ask)

    def send(self) -> list[Ask]:
        faults = self.world.faults
        at = self.dice.randrange(len(self.outbox)) if self.dice.random() < faults.reorder else 0
        ask = self.outbox[at]
        if self.dice.random() < faults.drop:
            return []
        if not self.dice.random() < faults.duplicate:
            self.outbox.pop(at)
        return [ask]

    # The calls

    def perform(self, at: int) -> None:
        """One call from beginning to end; its outcome is put into the outbox."""
        claim, call = self.pending.pop(at)
        if self.dice.random() < self.world.faults.hangs:
            return  # it never comes back; its run time and its lease do what they should
        task = self.worker._active[claim][0] if claim in self.worker._active else None
        if task is not None and self.dice.random() < 0.1 * self.world.faults.mischief:
            wrong = {name: task[name] for name in CLAIM} | {"digest": "sha256:" + "0" * 64, "output": {"n": 1}}
            self.outbox.append(Ask("complete", IMPOSTOR, wrong, origin="worker"))
        call()

    def _fail(self, call: Call) -> None:
        if self.dice.random() < 0.5:
            call.report(self.dice.random(), f"n{self.world.number()}")
        if self.dice.random() < self.world.faults.failing_activity:
            code, retryable = self.dice.choice((("boom", True), ("boom", True), ("fatal", False)))
            raise ActivityError(f"It went {code}.", code=code, retryable=retryable)

    def _look(self, call: Call) -> Any:
        self._fail(call)
        found = self.world.auditor.effects[call.input["key"]] > 0
        return {"found": found, "given": {"n": self.world.number()}}

    def _work(self, call: Call) -> Any:
        """The effect happens in the outside world."""
        self._fail(call)
        self.world.auditor.effects[call.key] += 1
        if self.dice.random() < self.world.faults.lost_call:
            raise Lost("the machine it ran on is gone")
        return "text" if self.dice.random() < 0.1 * self.world.faults.mischief else {"n": self.world.number()}


class SimWorker:
    """Takes tasks, performs effects in the outside world, reports until it is answered; stops, and is killed."""

    def __init__(self, name: str, pools: tuple[str, ...], slots: int, world: World) -> None:
        self.actor = Actor("worker", name, channel="worker")
        self.pools, self.slots, self.world = pools, slots, world
        self.asleep_until: float = -1.0
        self.life = Life(self)

    @property
    def active(self) -> set[Claim]:
        """What it believes to have."""
        return set(self.life.worker._active)

    @property
    def is_asleep(self) -> bool:
        return self.world.clock.elapsed < self.asleep_until

    def reconnect(self) -> None:
        """The link stands again."""
        self.life.worker.offer_soon()

    def acts(self) -> list[Ask]:
        """What it does when its turn comes."""
        if self.is_asleep or self.life.beating:
            return []
        dice, faults = self.world.dice, self.world.faults
        if dice.random() < faults.zombie:
            self.asleep_until = self.world.clock.elapsed + dice.choice((15, 40, 90))
            return []
        if dice.random() < faults.worker_killed:
            return self._die()
        life = self.life
        life.wait_over()
        if life.is_due():
            life.beat()
        if life.pending and dice.random() < 0.7:
            life.perform(dice.randrange(len(life.pending)))
        return life.send() if life.outbox else []

    def duties(self) -> list[Ask]:
        """The same without accidents: everything that is due."""
        life = self.life
        if self.is_asleep:
            return []
        life.wait_over()
        if life.is_due():
            life.beat()
        while life.pending:
            life.perform(0)
        found, life.outbox = life.outbox, []
        return found

    def _die(self) -> list[Ask]:
        """The process is gone and started again; the engine may hear of the end of its connection late."""
        self.world.counts["worker killed"] += 1
        old, self.life = self.life, Life(self)
        return [Ask("withdraw", self.actor, {}, origin="worker", context=old.take)]
