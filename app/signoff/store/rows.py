"""Rows of one transaction, collected while commands are decided and written together at its end.

Later changes to the same row replace earlier ones, so that an attempt scheduled, claimed and finished in
one commit is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from signoff.core.codec import StepMemo, encode_event, encode_snapshot
from signoff.core.effects import (
    ApprovalMoved,
    ApprovalPut,
    AttemptMoved,
    AttemptPut,
    AttemptStatus,
    ChildEnded,
    ChildMoved,
    ChildStart,
    DeadLetterGone,
    DeadLetterPut,
    Effect,
    Notice,
    SignalWaitGone,
    SignalWaitPut,
    TimerCleared,
    TimerSet,
)
from signoff.core.events import ActivityScheduled, Event
from signoff.core.quorum import given
from signoff.core.states import RunState
from signoff.errors import InvalidInput
from signoff.store.bodies import MAX_BODY_BYTES, dump
from signoff.store.files import Secret
from signoff.store.ledger import Erasure, RunChain, actor_of
from signoff.store.times import to_micros

PRIORITY_US = 60_000_000
"""One point of priority counts like one minute of waiting."""


@dataclass(slots=True)
class RunKey:
    """How a run is known to the store: its integer key, its version's key, and the sequence it was read at.

    `memo` keeps encoded steps between snapshots, `chain` where the run's hash chain stands (None until it is needed).
    Bodies of `sensitive` runs are encrypted.
    """

    pk: int
    version_id: int
    stored_sequence: int = 0
    memo: StepMemo = field(default_factory=dict)
    sensitive: bool = False
    chain: RunChain | None = None


@dataclass(slots=True)
class Rows:
    """What one transaction will write."""

    next_payload: Callable[[], int]
    next_approval: Callable[[], int]
    runs: dict[int, tuple[RunKey, RunState, datetime]] = field(default_factory=dict)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    payloads: list[tuple[int, bytes]] = field(default_factory=list)
    attempts_new: dict[tuple[int, str, int, int, int], list[Any]] = field(default_factory=dict)
    attempts_moved: dict[tuple[int, str, int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    timers_gone: set[tuple[int, str]] = field(default_factory=set)
    timers_new: dict[tuple[int, str], tuple[Any, ...]] = field(default_factory=dict)
    approvals_new: list[tuple[Any, ...]] = field(default_factory=list)
    approvals_moved: list[tuple[Any, ...]] = field(default_factory=list)
    people_new: list[tuple[Any, ...]] = field(default_factory=list)
    people_moved: dict[tuple[Any, ...], tuple[str, int, int] | None] = field(default_factory=dict)
    people_closed: list[tuple[Any, ...]] = field(default_factory=list)
    links_closed: list[tuple[Any, ...]] = field(default_factory=list)
    links_gone: list[tuple[Any, ...]] = field(default_factory=list)
    dead_gone: set[tuple[int, str]] = field(default_factory=set)
    dead_new: dict[tuple[int, str], tuple[Any, ...]] = field(default_factory=dict)
    outbox: list[tuple[Any, ...]] = field(default_factory=list)
    erased: dict[int, Erasure] = field(default_factory=dict)
    resealed: bool = False
    removed: list[str] = field(default_factory=list)
    file_secrets: list[tuple[int, str, Secret]] = field(default_factory=list)

    def record(
        self, run: RunKey, before: RunState, after: RunState, events: Sequence[Event], effects: Sequence[Effect]
    ) -> None:
        """Add what one decision changed.

        Raises:
            InvalidInput: a body is larger than `MAX_BODY_BYTES`; nothing has been added.
        """
        at = events[-1].at
        bodies = [(event, self._body(event)) for event in events]
        seq_of: dict[tuple[str, str], int] = {}
        for i, (event, body) in enumerate(bodies):
            seq = before.sequence + 1 + i
            step = getattr(event, "step", "")
            seq_of[(event.wire, f"{step} {event.item}" if isinstance(event, ActivityScheduled) else step)] = seq
            at_us = to_micros(event.at)
            self.events.append((run.pk, seq, event.wire, event.version, step, at_us, body, actor_of(event)))
        self.runs[run.pk] = (run, after, at)
        for effect in effects:
            self._effect(run, after, at, effect, seq_of)

    def _body(self, event: Event) -> bytes | None:
        data = encode_event(event)
        if not data:
            return None
        body = dump(data)
        if len(body) > MAX_BODY_BYTES:
            step = getattr(event, "step", "")
            where = f"of step '{step}'" if step else "of the run"
            raise InvalidInput(
                f"A value {where} has {len(body)} bytes; at most {MAX_BODY_BYTES} are allowed.",
                code="too_large",
                remedy="Store large things elsewhere and pass a reference.",
            )
        return body

    def _effect(
        self, run: RunKey, state: RunState, at: datetime, effect: Effect, seq_of: dict[tuple[str, str], int]
    ) -> None:
        micros = to_micros(at)
        match effect:
            case AttemptPut() as a:
                key = (run.pk, a.step, a.generation, a.item, a.attempt)
                self.attempts_new[key] = [
                    run.pk, state.tenant, a.step, a.generation, a.attempt, str(a.status), 0, "", 0, 0, a.key,
                    a.connector, a.pool, a.priority, seq_of[("activity.scheduled", f"{a.step} {a.item}")],
                    micros, micros, a.item, micros - a.priority * PRIORITY_US,
                ]  # fmt: skip
            case AttemptMoved() as m:
                self._move_attempt(run, m, micros)
            case TimerSet() as t:
                self.timers_new[(run.pk, t.step)] = (
                    run.pk,
                    t.step,
                    str(t.kind),
                    t.generation,
                    t.attempt,
                    to_micros(t.due),
                )
            case TimerCleared() as t:
                if self.timers_new.pop((run.pk, t.step), None) is None:
                    self.timers_gone.add((run.pk, t.step))
            case ApprovalPut():
                self._open_approval(run, state, effect, micros, seq_of)
            case ApprovalMoved():
                self._move_approval(run, state, effect, micros)
            case DeadLetterPut() as d:
                since = to_micros(d.since or at)
                self.dead_new[run.pk, d.step] = (
                    state.tenant, run.pk, d.step, d.generation, d.code, d.message, d.attempts, since,
                )  # fmt: skip
            case DeadLetterGone() as d:
                if self.dead_new.pop((run.pk, d.step), None) is None:
                    self.dead_gone.add((run.pk, d.step))
            case SignalWaitPut() | SignalWaitGone() | ChildStart() | ChildMoved() | ChildEnded():
                pass  # done by the transaction, see signoff.store.signals and signoff.engine.children
            case Notice() as n:
                self.outbox.append((state.tenant, run.pk, n.topic, n.step, dump(n.data), micros))

    def _move_attempt(self, run: RunKey, m: AttemptMoved, micros: int) -> None:
        key = (run.pk, m.step, m.generation, m.item, m.attempt)
        leased = m.status is AttemptStatus.LEASED
        heartbeat_ms = int(m.heartbeat_s * 1000) if leased else 0
        lease_until = micros + heartbeat_ms * 1000 if leased else 0
        new = self.attempts_new.get(key)
        if new is not None:
            new[5], new[6], new[7], new[8], new[9], new[16] = (
                str(m.status),
                m.fence,
                m.worker,
                lease_until,
                heartbeat_ms,
                micros,
            )
        else:
            self.attempts_moved[key] = (str(m.status), m.fence, m.worker, lease_until, heartbeat_ms, micros, *key)

    def _open_approval(
        self, run: RunKey, state: RunState, a: ApprovalPut, micros: int, seq_of: dict[tuple[str, str], int]
    ) -> None:
        approval_id = self.next_approval()
        due = to_micros(a.due) if a.due else None
        self.approvals_new.append(
            (
                approval_id,
                run.pk,
                state.tenant,
                a.step,
                a.generation,
                a.round,
                "open",
                a.label,
                a.instructions,
                a.shown_digest,
                a.required,
                0,
                seq_of[(a.opened, a.step)],
                micros,
                due,
                a.opened.partition(".")[0],
            )
        )
        self.people_new.extend((approval_id, login, state.tenant, 1) for login in a.roster)
        self.people_new.extend((approval_id, login, state.tenant, 0) for login in a.later)

    def _move_approval(self, run: RunKey, state: RunState, m: ApprovalMoved, micros: int) -> None:
        key = (run.pk, m.step, m.generation)
        closed = m.status != "open"
        step = state.steps.get(m.step)
        approval = step.approval if step else None
        count = given(approval) if approval else 0
        self.approvals_moved.append((m.status, count, micros if closed else None, *key))
        for login in m.removed:
            self.people_moved[*key, login] = None
            self.links_gone.append((micros, "removed", *key, login))
        for login in m.released:
            self.people_moved[*key, login] = (state.tenant, 0, 0)
            self.links_gone.append((micros, "released", *key, login))
        for login in m.asked:
            self.people_moved[*key, login] = (state.tenant, 1, 0)
        for login in m.voted:
            self.people_moved[*key, login] = (state.tenant, 0, 1)
            self.links_gone.append((micros, "answered", *key, login))
        if closed:
            self.people_closed.append(key)
            self.links_closed.append((micros, m.status, *key))

    def run_rows(self) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Rows to insert (new runs) and to update, the latter conditional on the stored sequence."""
        new, changed = [], []
        for run, state, at in self.runs.values():
            snapshot, reason = dump(encode_snapshot(state, run.memo)), state.reason
            if run.chain is not None and run.chain.sealed:
                reason = ""
                snapshot = run.chain.cipher.seal("snapshot", snapshot)
            micros = to_micros(at)
            if run.stored_sequence == 0:
                started = to_micros(state.started_at or at)
                new.append(
                    (
                        run.pk,
                        state.run_id,
                        state.tenant,
                        run.version_id,
                        str(state.status),
                        state.sequence,
                        snapshot,
                        state.business_key,
                        state.started_by,
                        started,
                        micros,
                        reason,
                        state.parent,
                    )
                )
            else:
                changed.append(
                    (
                        str(state.status),
                        state.sequence,
                        snapshot,
                        micros,
                        reason,
                        run.version_id,
                        run.pk,
                        run.stored_sequence,
                    )
                )
        return new, changed
