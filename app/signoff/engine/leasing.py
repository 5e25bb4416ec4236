"""Which claimable attempts go to free workers in this commit: what waited first, tenant by tenant, then what is new."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from signoff.core.commands import ClaimActivity
from signoff.core.probes import connector_of
from signoff.core.rejection import Rejection
from signoff.core.states import Actor
from signoff.engine.dispatch import Dispatcher, Lane, ReadyTask, WorkerSlot
from signoff.engine.usage import Usage
from signoff.store.leases import ReadyAttempt, last_report, list_ready, next_lane, scheduled_body

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

PAGE = 64


class Leasing:
    """The leases of one transaction."""

    def __init__(self, tx: Transaction, dispatcher: Dispatcher, usage: Usage) -> None:
        self._tx = tx
        self._dispatcher = dispatcher
        self._usage = usage
        self._new: list[ReadyTask] = []
        self.look_again = False

    def add(self, task: ReadyTask) -> None:
        """An attempt became claimable in this transaction."""
        self._new.append(task)

    def lease(self) -> None:
        """Lease while workers have free slots and tenants are within their limits.

        What waited goes first: otherwise the next steps of running work would take every slot that it frees.
        """
        served = self._dispatcher.pools
        for pool in sorted(self._dispatcher.unseen):
            self._dispatcher.unseen.discard(pool)
            if pool in served:
                self._look(pool)
        for pool in sorted(served):
            if self._dispatcher.waiting[pool]:
                self._serve(pool)
        for task in self._new:
            lane = (task.tenant, task.connector)
            slot = None if self._is_blocked(task.pool, lane) else self._take(task.pool)
            if slot is not None:
                self._lease(task, slot)
            elif task.pool in served:
                self._dispatcher.waiting[task.pool].add(lane)
        self._new.clear()
        if self.look_again:
            self._dispatcher.look_again()
            self._tx.out.lease_again = True

    def _look(self, pool: str) -> None:
        """Find the lanes of a pool in which something waits, one index seek each."""
        lanes, lane = set(), next_lane(self._tx.journal, pool, ("", ""))
        while lane is not None:
            lanes.add(lane)
            lane = next_lane(self._tx.journal, pool, lane)
        self._dispatcher.waiting[pool] = lanes

    def _serve(self, pool: str) -> None:
        """Give free slots to tenants by turns; within a tenant to what has waited longest, priority counted in."""
        lanes: dict[str, list[_Queue]] = {}
        for lane in self._dispatcher.waiting[pool]:
            if self._dispatcher.free(pool) and not self._is_blocked(pool, lane):
                lanes.setdefault(lane[0], []).append(_Queue(self._page(pool, lane)))
        turns = [(self._dispatcher.turn_of(tenant), tenant) for tenant in lanes]
        heapq.heapify(turns)
        while turns and self._dispatcher.free(pool):
            tenant = heapq.heappop(turns)[1]
            head = self._head(pool, tenant, lanes[tenant])
            if head is None:
                continue
            self._lease_stored(pool, head)
            heapq.heappush(turns, (self._dispatcher.turn_of(tenant), tenant))

    def _page(self, pool: str, lane: Lane) -> Callable[[tuple[int, int]], list[ReadyAttempt]]:
        def read(after: tuple[int, int]) -> list[ReadyAttempt]:
            found = list_ready(self._tx.journal, pool, *lane, after=after, limit=PAGE)
            if not found and after == _Queue.START:
                self._dispatcher.waiting[pool].discard(lane)
            return found

        return read

    def _head(self, pool: str, tenant: str, queues: list[_Queue]) -> ReadyAttempt | None:
        """Take the first attempt of a tenant that may begin now."""
        best: _Queue | None = None
        for queue in queues:
            head = queue.head()
            if head is None or self._is_blocked(pool, (tenant, head.connector)):
                continue
            if best is None or (head.rank, head.id) < best.place:
                best = queue
        return best.pop() if best else None

    def _is_blocked(self, pool: str, lane: Lane) -> bool:
        tenant, connector = lane
        wait = self._usage.blocked_s(tenant, pool, connector, self._tx.now)
        if wait is not None and wait != math.inf:
            self._tx.out.lease_later = True
        return wait is not None

    def _take(self, pool: str) -> WorkerSlot | None:
        """Reserve a slot until the end of the transaction, whatever fails on the way."""
        slot = self._dispatcher.take(pool)
        if slot is not None:
            self._tx.taken.append(slot)
        return slot

    def _lease_stored(self, pool: str, a: ReadyAttempt) -> None:
        if a.public_id in self._tx.working:
            self._tx.out.lease_again = True  # its rows are not written yet
            return
        slot = self._take(pool)
        if slot is None:
            return
        body = scheduled_body(self._tx.journal, a.run, a.scheduled_seq)
        config: Any = self._tx.plan(self._tx.run(None, a.public_id)[0]).steps[a.step].config
        connector = connector_of(config, body.get("probe", 0), body.get("undo", 0))
        task = ReadyTask(
            a.run, a.public_id, a.tenant, a.step, a.generation, a.attempt, pool, body["key"], connector,
            body.get("input"), a.item,
        )  # fmt: skip
        self._lease(task, slot)

    def _lease(self, task: ReadyTask, slot: WorkerSlot) -> None:
        tx, tenant = self._tx, task.tenant
        claim = ClaimActivity(
            actor=Actor("worker", slot.worker, channel="worker"),
            step=task.step,
            generation=task.generation,
            attempt=task.attempt,
            item=task.item,
        )
        state = tx.command(None, task.run_id, claim)
        if isinstance(state, Rejection):
            slot.free += 1
            tx.taken.remove(slot)
            return
        key, _, _ = tx.run(None, task.run_id)
        plan = tx.plan(key)
        config: Any = plan.steps[task.step].config
        fence = state.steps[task.step].fence
        given = (task.run_id, task.step, task.generation, task.attempt, fence)
        call = (key.pk, task.step, task.generation, task.item, task.attempt)
        mark = self._dispatcher.give(slot, given)
        tx.undo.append(self._dispatcher.served(tenant, self._usage.limits(tenant).weight))
        self._usage.begin(call, tenant, task.pool, task.connector, tx.now)
        tx.undo += [lambda: self._dispatcher.take_back(slot, given), lambda: self._usage.end(call)]
        tx.out.tasks.append(
            (
                slot,
                {
                    "run_id": task.run_id,
                    "tenant": tenant,
                    "step": task.step,
                    "label": plan.label(task.step),
                    "generation": task.generation,
                    "attempt": task.attempt,
                    "item": task.item,
                    "fence": fence,
                    "key": task.key,
                    "connector": task.connector,
                    "input": task.input,
                    "last": self._last_report(key.pk, task),
                    "run_s": config.timeouts.run_s,
                    "mark": mark,
                    "heartbeat_s": config.timeouts.heartbeat_s,
                    "definition": plan.definition.name,
                    "version": plan.version,
                    "digest": plan.digest,
                },
            )
        )

    def _last_report(self, pk: int, task: ReadyTask) -> dict[str, Any] | None:
        """What earlier attempts of this work reported last; the first attempt of all has none."""
        first = task.attempt == 1 and task.generation == 1
        return None if first else last_report(self._tx.journal, pk, task.key)


class _Queue:
    """One lane, read page by page behind what was taken, since what this transaction leases is not written yet."""

    START = (-(2**62), 0)

    def __init__(self, read: Callable[[tuple[int, int]], list[ReadyAttempt]]) -> None:
        self._read = read
        self._rows: deque[ReadyAttempt] = deque()
        self._last = self.START
        self._ended = False

    def head(self) -> ReadyAttempt | None:
        """The first one, or None at the end."""
        if not self._rows and not self._ended:
            self._rows.extend(self._read(self._last))
            self._ended = len(self._rows) < PAGE
        return self._rows[0] if self._rows else None

    @property
    def place(self) -> tuple[int, int]:
        """Where the first one stands."""
        return self._rows[0].rank, self._rows[0].id

    def pop(self) -> ReadyAttempt:
        """Take the first one."""
        self._last = self.place
        return self._rows.popleft()
