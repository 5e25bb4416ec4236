"""The working set of one transaction: runs as they will be, rows to write, what leaves after the commit."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from signoff.core.commands import Command, MigrateRun, StartRun
from signoff.core.decide import decide
from signoff.core.digest import digest_of
from signoff.core.effects import (
    AttemptMoved,
    AttemptPut,
    AttemptStatus,
    ChildEnded,
    ChildMoved,
    ChildStart,
    Effect,
    SignalWaitGone,
    SignalWaitPut,
)
from signoff.core.events import Event, EvidenceRecorded
from signoff.core.evolve import evolve
from signoff.core.facts import Directory, Facts
from signoff.core.plan import Plan
from signoff.core.react import react
from signoff.core.rejection import Rejection
from signoff.core.sensitive import is_sensitive
from signoff.core.states import RunState
from signoff.engine.caches import PlanCache, RunCache
from signoff.engine.children import end_in_parent, move_child, start_child
from signoff.engine.dispatch import Claim, Dispatcher, ReadyTask, WorkerSlot
from signoff.engine.leasing import Leasing
from signoff.engine.request import Outbound
from signoff.engine.retention_queries import no_such_run, not_there
from signoff.engine.signal_requests import deliver_kept
from signoff.engine.usage import Usage
from signoff.engine.views import FeedEvent
from signoff.errors import InvalidInput, SignoffError
from signoff.store.journal import Journal
from signoff.store.people import Account, load_directory
from signoff.store.rows import Rows, RunKey
from signoff.store.signals import put_wait, remove_wait
from signoff.store.times import to_micros


class Transaction:
    """Local to one commit. Thrown away with everything planned in it when the commit fails."""

    def __init__(
        self,
        journal: Journal,
        plans: PlanCache,
        warm: RunCache,
        dispatcher: Dispatcher,
        directories: dict[str, tuple[Directory, dict[str, Account]]],
        usage: Usage,
        now: datetime,
    ) -> None:
        self.journal = journal
        self.now = now
        self.out = Outbound()
        self.rows: Rows = journal.begin()
        self.wrote_directly = False
        self._directory_changed: set[str] = set()
        self._plans = plans
        self._warm = warm
        self._dispatcher = dispatcher
        self._directories = directories
        self.working: dict[str, tuple[RunKey, str, RunState]] = {}
        self._changed: dict[str, set[str]] = {}
        self.usage = usage
        self._leasing = Leasing(self, dispatcher, usage)
        self.taken: list[WorkerSlot] = []
        self._follow_ups: deque[Callable[[], None]] = deque()
        self._following = False
        self.undo: list[Callable[[], object]] = []

    # Reading

    def directory(self, tenant: str) -> tuple[Directory, dict[str, Account]]:
        """People and groups of a tenant, and its accounts."""
        if tenant not in self._directories:
            self._directories[tenant] = load_directory(self.journal, tenant, to_micros(self.now))
        return self._directories[tenant]

    def people_changed(self, tenant: str) -> None:
        """Read the directory again, now and once more if this transaction is rolled back."""
        self._directories.pop(tenant, None)
        self._directory_changed.add(tenant)

    def plan(self, key: RunKey) -> Plan:
        """The plan a run is pinned to."""
        return self._plans.get(key.version_id)

    def plan_of_version(self, version_id: int) -> Plan:
        """The plan of a version by its key."""
        return self._plans.get(version_id)

    def run(self, tenant: str | None, run_id: str) -> tuple[RunKey, str, RunState]:
        """A run as this transaction sees it.

        Raises:
            NotFound: there is none with that id in the tenant.
        """
        found = self.working.get(run_id) or self._warm.get(run_id)
        if found is None or (tenant is not None and found[1] != tenant):  # foreign: the same path as missing
            found = self.journal.find_run(tenant, run_id)
        if found is None:
            raise no_such_run(run_id) if tenant is None else not_there(self.journal, tenant, run_id)
        return found

    def facts(self, tenant: str) -> Facts:
        """Outside facts for one decision."""
        return Facts(self.now, random.random(), self.directory(tenant)[0], self.usage.limits(tenant))

    # Deciding

    def begin_run(self, key: RunKey, plan: Plan, command: StartRun) -> RunState | Rejection:
        """Decide a start; the run is known to the rest of the transaction afterwards."""
        key.sensitive = key.sensitive or is_sensitive(plan.definition)
        return self._decide(key, command.tenant, RunState(), plan, command)

    def command(self, tenant: str | None, run_id: str, command: Command) -> RunState | Rejection:
        """Decide a command on a run and plan what it writes. A refusal that must be kept becomes evidence."""
        key, owner, state = self.run(tenant, run_id)
        plan = self.plan(key)
        result = self._decide(key, owner, state, plan, command)
        if isinstance(result, Rejection) and result.evidence:
            self.keep_evidence(run_id, command, result)
        return result

    def _decide(self, key: RunKey, tenant: str, state: RunState, plan: Plan, command: Command) -> RunState | Rejection:
        result = decide(plan, state, command, self.facts(tenant))
        if isinstance(result, Rejection):
            return result
        after, events = result
        earlier = plan
        if isinstance(command, MigrateRun):
            sensitive = key.sensitive or is_sensitive(command.target.definition)
            plan, key = command.target, replace(key, version_id=command.version_id, memo={}, sensitive=sensitive)
        self._keep(key, tenant, state, after, events, react(plan, state, after, events, earlier))
        self._follow()
        return self.working[after.run_id][2]

    def _follow(self) -> None:
        """What one decision brings about in other runs or from kept messages, in the same commit."""
        if self._following:
            return
        self._following = True
        try:
            while self._follow_ups:
                self._follow_ups.popleft()()
        finally:
            self._following = False
            self._follow_ups.clear()

    def keep_evidence(self, run_id: str, command: Command, rejection: Rejection) -> None:
        """Append evidence of something that changed no state."""
        key, tenant, state = self.run(None, run_id)
        values = getattr(command, "values", None)
        digests = {"payload_digest": digest_of(values)} if values else {}
        event = EvidenceRecorded(
            at=self.now,
            kind=rejection.code,
            actor=command.actor,
            command=type(command).__name__,
            message=rejection.message,
            step=getattr(command, "step", ""),
            data={
                name: value
                for name in ("generation", "attempt", "fence", "outcome", "comment", "reason", "link", "on_behalf_of")
                if (value := getattr(command, name, None)) not in (None, "")
            }
            | digests,
        )
        self._keep(key, tenant, state, evolve(self.plan(key), state, event), (event,), [])

    def _keep(
        self,
        key: RunKey,
        tenant: str,
        before: RunState,
        after: RunState,
        events: tuple[Event, ...],
        effects: list[Effect],
    ) -> None:
        self.rows.record(key, before, after, events, effects)
        self.usage.moved(tenant, before, after)
        self.working[after.run_id] = (key, tenant, after)
        changed = self._changed.setdefault(after.run_id, set())
        changed.update(i for i, s in after.steps.items() if before.steps.get(i) is not s)
        for effect in effects:
            if isinstance(effect, AttemptPut) and effect.status is AttemptStatus.READY:
                self._leasing.add(
                    ReadyTask(
                        key.pk,
                        after.run_id,
                        tenant,
                        effect.step,
                        effect.generation,
                        effect.attempt,
                        effect.pool,
                        effect.key,
                        effect.connector,
                        effect.input,
                        effect.item,
                    )
                )
            elif isinstance(effect, AttemptMoved):
                self._moved(key.pk, effect)
            elif isinstance(effect, SignalWaitPut):
                put_wait(self.journal, key.pk, effect.step, effect.generation, tenant, effect.name, effect.key)
                self._follow_ups.append(partial(deliver_kept, self, tenant, after.run_id, effect))
            elif isinstance(effect, ChildStart):
                self._follow_ups.append(partial(start_child, self, after, effect))
            elif isinstance(effect, ChildMoved):
                self._follow_ups.append(partial(move_child, self, tenant, effect))
            elif isinstance(effect, ChildEnded):
                self._follow_ups.append(partial(end_in_parent, self, tenant, effect))
            elif isinstance(effect, SignalWaitGone):
                remove_wait(self.journal, key.pk, effect.step)

    def _moved(self, pk: int, effect: AttemptMoved) -> None:
        call = (pk, effect.step, effect.generation, effect.item, effect.attempt)
        if effect.status is AttemptStatus.READY:
            self._leasing.look_again = True
        elif effect.status is not AttemptStatus.LEASED and (of := self.usage.end(call)):
            self.undo.append(lambda: self.usage.resume(call, of))

    # Leasing

    def offer(self, slot: WorkerSlot, claims: list[Claim], received: tuple[int, int] | None) -> None:
        """A worker says what it can take; what it said before counts again if this is rolled back."""
        before = self._dispatcher.offer(slot, claims, received)
        self.undo.append(lambda: self._dispatcher.restore(slot.worker, before))

    def give_back(self, worker: str, claim: Claim) -> None:
        """A worker is done with a task; its slot is free from this transaction on."""
        self._dispatcher.heard(worker)
        slot = self._dispatcher.give_back(worker, claim)
        if slot is not None:
            self.undo.append(lambda: slot.keep(claim))

    def lease_ready(self) -> None:
        """Lease what is claimable while workers have free slots."""
        self._leasing.lease()

    # Ending

    def commit(self) -> None:
        """Make everything durable, then remember the new states and prepare the news."""
        if self.rows.runs or self.wrote_directly:
            self.out.heed_timer(min((t[5] for t in self.rows.timers_new.values()), default=None))
            self.journal.commit(self.rows)
        else:
            self.journal.rollback()
        self.usage.committed()
        for run_id in self.rows.removed:
            self._warm.forget(run_id)
        for run_id, (key, tenant, state) in self.working.items():
            if key.pk in self.rows.erased:
                self._warm.forget(run_id)
            else:
                self._warm.put(run_id, key, tenant, state)
            steps = {i: str(state.steps[i].status) for i in self._changed[run_id]}
            self.out.news.append(FeedEvent(tenant, run_id, state.sequence, str(state.status), steps, self.now))

    def abandon(self) -> None:
        """Roll back and forget everything that was planned."""
        self.journal.rollback()
        for slot in self.taken:
            slot.free += 1
        for undo in reversed(self.undo):
            undo()
        self._dispatcher.look_again()
        for run_id in self.working:
            self._warm.forget(run_id)
        self.usage.forget()
        for tenant in self._directory_changed:
            self._directories.pop(tenant, None)

    def direct(self, write: Callable[[Journal], Any]) -> Any:
        """Run an administrative write inside the transaction, undone by itself where it is refused.

        Where the database fails, all is given back: SQLite may have ended the transaction and its savepoint already.
        """
        self.journal.write("SAVEPOINT direct")
        try:
            result = write(self.journal)
        except (SignoffError, TypeError, KeyError, ValueError, OverflowError):  # what the others of the batch survive
            self.journal.write("ROLLBACK TO direct")
            self.journal.write("RELEASE direct")
            raise
        self.journal.write("RELEASE direct")
        self.wrote_directly = True
        return result


def required(args: dict[str, Any], name: str, kind: type | tuple[type, ...] = str) -> Any:
    """An argument that must be there and of a type.

    Raises:
        InvalidInput: it is missing or of another type.
    """
    value = args.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise InvalidInput(f"'{name}' is missing or has the wrong type.", remedy="Correct the request.")
    return value
