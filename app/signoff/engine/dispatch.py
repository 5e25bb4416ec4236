"""Free worker slots, and which attempts go to them. Lives in the writer thread only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from signoff.engine import ids

Claim = tuple[str, str, int, int, int]
"""Run, step, generation, attempt, fencing token."""

Lane = tuple[str, str]
"""Tenant and connector: what waits for workers of one pool is served lane by lane."""

REMEMBERED_CLAIMS = 1024


@dataclass(slots=True, eq=False)
class WorkerSlot:
    """One connected worker and how many more tasks it can take.

    `send` is called only after the commit that leased the task; it belongs to one connection. `held` are the
    claims that the worker has, each with the number under which it was sent on that connection (0: the worker
    said itself that it has it). `over` holds the newest claims that were given back since the worker offered, so
    that a repeated outcome does not free a second slot.
    """

    worker: str
    pools: tuple[str, ...]
    free: int
    send: Callable[[dict[str, Any]], None]
    held: dict[Claim, int] = field(default_factory=dict)
    over: dict[Claim, None] = field(default_factory=dict)

    def keep(self, claim: Claim) -> None:
        """The worker was not done with it after all: its outcome was rolled back."""
        self.free -= 1
        self.held[claim] = 0
        self.over.pop(claim, None)

    def is_sent_by(self, send: Callable[[dict[str, Any]], None] | None) -> bool:
        """Whether that is the connection of this offer; None means any."""
        return send is None or self.send == send


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """An attempt that became claimable in this transaction."""

    run: int
    run_id: str
    tenant: str
    step: str
    generation: int
    attempt: int
    pool: str
    key: str
    connector: str
    input: Any
    item: int = -1


class Dispatcher:
    """Hands ready attempts to free slots, round robin among workers of a pool, and fairly among tenants.

    Tenants that wait share by start-time fair queueing (Goyal, Vin and Cheng 1996): each call moves the tenant's
    virtual time on by one over its weight, and the tenant furthest behind is next. Whoever was idle begins at
    the virtual time of now, so that nobody saves up turns.
    """

    def __init__(self) -> None:
        self._workers: dict[str, WorkerSlot] = {}
        self._silent: dict[str, WorkerSlot] = {}
        self._turn: dict[str, int] = defaultdict(int)
        self._virtual: dict[str, float] = {}
        self._virtual_now = 0.0
        self._sent = 0
        self.epoch = ids.new_epoch()
        """Of this engine's process: what a worker has received from an earlier one says nothing."""
        self.unseen: set[str] = set()
        self.waiting: dict[str, set[Lane]] = defaultdict(set)

    def offer(
        self, slot: WorkerSlot, claims: Iterable[Claim] = (), received: tuple[int, int] | None = None
    ) -> WorkerSlot | None:
        """A worker (again) says how many tasks it can take; returns what it said before, which counts no more.

        Args:
            slot: of the worker; its `free` leaves out the tasks that the worker believes to have.
            claims: those tasks. An outcome that came just before the offer has freed its slot already.
            received: mark of the newest task that the worker had got when it counted. What was sent after it on
                the same connection is still on its way: it takes a slot that the worker believes to be free.
                On a connection that broke it got lost.
        """
        before = self._workers.get(slot.worker) or self._silent.get(slot.worker)
        for claim in claims:
            if before is not None and claim in before.over:
                slot.free += 1
                slot.over[claim] = None
            else:
                slot.held[claim] = 0
        if before is not None and before.is_sent_by(slot.send) and received is not None:
            newest = received[1] if received[0] == self.epoch else 0
            for claim, number in before.held.items():
                if number > newest and claim not in slot.held:
                    slot.held[claim] = number
                    slot.free -= 1
        self._workers[slot.worker] = slot
        self._silent.pop(slot.worker, None)
        self.unseen.update(slot.pools)
        return before

    def restore(self, worker: str, before: WorkerSlot | None) -> None:
        """The offer of a worker was rolled back."""
        if before is not None:
            self._workers[worker] = before
        else:
            self._workers.pop(worker, None)

    def look_again(self) -> None:
        """Something may be claimable in any pool that is served."""
        self.unseen.update(self.pools)

    def withdraw(self, worker: str, send: Callable[[dict[str, Any]], None] | None = None) -> None:
        """The worker takes no more: it is draining, or that connection is gone and it has offered on no other."""
        for known in (self._workers, self._silent):
            if worker in known and known[worker].is_sent_by(send):
                del known[worker]

    def suspect(self, worker: str, claim: Claim) -> None:
        """The worker let a lease run out: it takes no more until it is heard of.

        A claim from before its newest offer says nothing: the task may have been lost on its way to a worker
        that is well, for example in a crash between the commit and the sending.
        """
        slot = self._workers.get(worker)
        if slot is not None and claim in slot.held:
            self._silent[worker] = self._workers.pop(worker)

    def heard(self, worker: str) -> None:
        """The worker lives. Whatever it was suspected of, it takes tasks again."""
        slot = self._silent.pop(worker, None)
        if slot is not None:
            self._workers[worker] = slot
            self.unseen.update(slot.pools)

    def give_back(self, worker: str, claim: Claim) -> WorkerSlot | None:
        """A task of that worker is over: one more slot is free, once. Returns the slot that became free."""
        slot = self._workers.get(worker)
        if slot is None or claim not in slot.held:
            return None  # an outcome repeated, or of a task from before the newest offer, which did not count it
        slot.free += 1
        slot.held.pop(claim)
        slot.over[claim] = None
        if len(slot.over) > REMEMBERED_CLAIMS:
            del slot.over[next(iter(slot.over))]
        return slot

    def find(self, worker: str) -> WorkerSlot | None:
        """What is known of a worker that takes tasks."""
        return self._workers.get(worker)

    def take(self, pool: str) -> WorkerSlot | None:
        """Reserve a slot of a pool, or None where all are busy."""
        able = [w for w in self._workers.values() if w.free > 0 and pool in w.pools]
        if not able:
            return None
        self._turn[pool] += 1
        slot = able[self._turn[pool] % len(able)]
        slot.free -= 1
        return slot

    def give(self, slot: WorkerSlot, claim: Claim) -> list[int]:
        """A task goes to the worker; returns its mark, by which the worker says what it has received."""
        self._sent += 1
        slot.held[claim] = self._sent
        return [self.epoch, self._sent]

    def take_back(self, slot: WorkerSlot, claim: Claim) -> None:
        """The newest task was not sent after all."""
        self._sent -= 1
        slot.held.pop(claim, None)

    def free(self, pool: str) -> int:
        """Free slots of a pool."""
        return sum(w.free for w in self._workers.values() if pool in w.pools)

    def turn_of(self, tenant: str) -> float:
        """The virtual time at which the tenant's next call begins: the least is next."""
        return max(self._virtual.get(tenant, 0.0), self._virtual_now)

    def served(self, tenant: str, weight: int) -> Callable[[], None]:
        """A call of the tenant was leased; returns what makes it undone, the newest first."""
        before, now = self._virtual.get(tenant), self._virtual_now
        self._virtual_now = self.turn_of(tenant)
        self._virtual[tenant] = self._virtual_now + 1.0 / weight

        def undo() -> None:
            self._virtual_now = now
            if before is None:
                del self._virtual[tenant]
            else:
                self._virtual[tenant] = before

        return undo

    @property
    def pools(self) -> set[str]:
        """Pools that some connected worker serves."""
        return {p for w in self._workers.values() for p in w.pools}
