"""Looks at the database after every commit, over a connection of its own, and at every answer that comes out.

It trusts no column: what should be there is worked out from the events and from the answers it has seen.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.events import FormSubmitted, SignalReceived
from signoff.core.implied import (
    implied_attempts,
    implied_children,
    implied_dead_letters,
    implied_signal,
    implied_timers,
    implies_open_approval,
)
from signoff.core.plan import Plan, compile_plan
from signoff.core.quorum import given as counted_approvals
from signoff.core.quorum import person_key
from signoff.core.states import RunState, RunStatus
from signoff.store.bodies import load
from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.journal import _EVENTS, event_of
from signoff.store.times import to_micros
from tests.simulation.faults import Violation
from tests.simulation.ledger import RunLedger


class Auditor:
    """Ledgers of all runs, of idempotency keys, of people, of notices."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite_module().connect(str(path), isolation_level=None)
        self.runs: dict[str, RunLedger] = {}
        self.pks: dict[str, int] = {}
        self.inactive: set[str] = set()
        self.answers: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.by_key: dict[str, str] = {}
        self.delivered: dict[int, tuple[str, str, str]] = {}
        self.effects: Counter[str] = Counter()
        self.revisions: dict[tuple[str, int], Any] = {}
        self.versions: dict[tuple[str, int], str] = {}
        self.commits = 0
        self.limits: dict[str, Any] | None = {}
        self.messages: dict[tuple[str, str, str], tuple[str, str, int]] = {}
        self._plans: dict[int, Plan] = {}
        self.known_leases: set[int] = set()

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.db.execute(statement, parameters).fetchall()
        return found

    def state(self, run_id: str) -> RunState:
        """The run as its events tell it."""
        return self.runs[run_id].mirror

    def plan(self, version_id: int) -> Plan:
        """Compiled from the stored document, whose digest must be the stored one."""
        if version_id not in self._plans:
            ((document, digest, version),) = self.rows(
                "SELECT document, digest, version FROM definition_version WHERE id=?", version_id
            )
            definition, problems = read_document(load(document))
            assert definition is not None, problems
            assert definition_digest(definition) == digest, "a published version changed"
            self._plans[version_id] = compile_plan(definition, digest, version)
        return self._plans[version_id]

    def committed(self) -> None:
        """After each commit: what changed, checked through."""
        try:
            self.look(everything=False)
        except AssertionError as error:
            raise Violation(str(error) or repr(error)) from error

    def look(self, *, everything: bool) -> None:
        """Check the runs that changed, or all."""
        self.commits += 1
        known = {r: x.mirror.sequence for r, x in self.runs.items()}
        grants = {(r, i): f[-1] for r, x in self.runs.items() for i, f in x.fences.items()}
        seen = set()
        for pk, run_id, version, sequence, status, key in self.rows(
            "SELECT id, public_id, version_id, sequence, status, business_key FROM run ORDER BY id"
        ):
            seen.add(run_id)
            if not everything and known.get(run_id) == sequence:
                continue
            self._run(pk, run_id, version, sequence, status, key)
        assert set(known) <= seen, "a committed run is gone"
        self._within_limits(grants)
        for run_id, ledger in self.runs.items():
            for child, step in implied_children(ledger.mirror).items():
                assert child in self.runs, f"step {step} of {run_id} waits for a run that does not exist"
                assert not self.state(child).is_terminal, f"step {step} of {run_id} waits for a run that has ended"
                assert (self.state(child).parent, self.state(child).started_by) == (run_id, ledger.mirror.started_by)
            state = ledger.mirror
            if state.parent and not state.is_terminal and state.status is not RunStatus.CANCELLING:
                above = implied_children(self.state(state.parent))
                assert run_id in above, f"nobody waits for the run {run_id} any more, but it goes on"
        for pk, step in self.rows(
            "SELECT w.run, w.step FROM signal_wait w JOIN signal_message m ON m.tenant = w.tenant AND m.name = w.name"
            " AND m.key = w.key WHERE m.status = 'kept'"
        ):
            waits = next(self.state(r).steps[step] for r, known_pk in self.pks.items() if known_pk == pk)
            assert waits.due is not None, f"step {step} waits for a message that was kept"

    def _within_limits(self, grants: dict[tuple[str, str], int]) -> None:
        """Where a call was leased in this commit, no more are under way than the limits that surely hold allow."""
        if not self.limits:
            return
        calls = [
            (ledger.plan.steps[i].config, count)
            for ledger in self.runs.values()
            for i, s in ledger.mirror.steps.items()
            if (count := sum(x.status == "running" for x in s.items.open) if s.items else s.status == "running")
        ]
        leased = [
            ledger.plan.steps[i].config
            for r, ledger in self.runs.items()
            for i, f in ledger.fences.items()
            if f[-1] > grants.get((r, i), 0)
        ]
        most = self.limits.get("activities", {}).get("at_once")
        if leased and most is not None:
            assert sum(n for _, n in calls) <= most, "more calls at once than the tenant may have"
        for pool, share in self.limits.get("pools", {}).items():
            if any(c.pool == pool for c in leased) and "at_once" in share:  # type: ignore[union-attr]
                under_way = sum(n for c, n in calls if c.pool == pool)  # type: ignore[union-attr]
                assert under_way <= share["at_once"], f"more calls at once in '{pool}'"

    def _run(self, pk: int, run_id: str, version: int, sequence: int, status: str, key: str) -> None:
        ledger = self.runs.get(run_id)
        if ledger is None:
            ledger = self.runs[run_id] = RunLedger(self.plan(version))
            self.pks[run_id] = pk
        before = ledger.mirror.sequence
        assert before <= sequence, "the log got shorter"
        found = self.rows(_EVENTS, pk, before)
        numbers = [r[0] for r in self.rows("SELECT seq FROM event WHERE run=? ORDER BY seq", pk)]
        assert numbers == list(range(1, sequence + 1)), "sequences are not contiguous"
        for row in found:
            event = event_of(row)
            who = getattr(getattr(event, "actor", None), "id", "")
            if event.wire == "approval.decision_recorded":
                assert person_key(who) not in self.inactive, f"{who} has no active account, but decided"
            if isinstance(event, FormSubmitted):
                assert person_key(who) not in self.inactive, f"{who} has no active account, but filled in a form"
            if isinstance(event, SignalReceived):
                used = self.messages.setdefault((event.name, event.key, event.message), (run_id, event.step, row[0]))
                assert used == (run_id, event.step, row[0]), f"message {event.message} was used twice: {used}"
            ledger.add(event)
            while ledger.rights:
                number, person, delegate, at = ledger.rights.pop()
                row = self.rows("SELECT person, delegate, begins, ends, revoked_at FROM absence WHERE id=?", number)
                assert row, "decided for somebody by the right of an absence that does not exist"
                assert (row[0][0], row[0][1]) == (person_key(person), person_key(delegate)), "of another's absence"
                begins, ends, revoked = row[0][2:]
                assert begins <= to_micros(at) < ends, "outside of the absence"
                assert revoked is None or to_micros(at) <= revoked, "after the absence was revoked"
        if key and not ledger.mirror.parent:
            assert self.by_key.setdefault(key, run_id) == run_id, f"two runs for the key {key}"
        ((snapshot,),) = self.rows("SELECT snapshot FROM run WHERE id=?", pk)
        ledger.compare(load(snapshot), sequence, status, thorough=self.commits % 8 == 0)
        assert ledger.mirror.digest == ledger.plan.digest
        self._rows_of(pk, ledger)

    def _rows_of(self, pk: int, ledger: RunLedger) -> None:
        state = ledger.mirror
        attempts, approvals = {}, {}
        timers = {(t.step, str(t.kind), t.generation, t.attempt, to_micros(t.due)) for t in implied_timers(state)}
        for i, s in state.steps.items():
            attempts.update({key: str(status) for key, status in implied_attempts(state, i).items()})
            if implies_open_approval(state, i) and s.approval:
                voted = {v.person for v in s.approval.votes}
                given = sum(v.outcome == "approved" for v in s.approval.votes)
                if s.approval.quotas:
                    given = counted_approvals(s.approval)
                open_for = frozenset(p for p in s.approval.roster if p not in voted)
                approvals[i, s.generation] = (given, open_for)
        stored = {}
        for step, generation, item, attempt, status, fence, until in self.rows(
            "SELECT step, generation, item, attempt, status, fence, lease_until FROM attempt WHERE run=?"
            " AND status IN ('ready', 'held', 'leased')",
            pk,
        ):
            stored[step, generation, item, attempt] = status
            leases = {to_micros(x) for x in ledger.leases.get((step, fence), ())} | self.known_leases
            assert status != "leased" or until in leases, f"the lease of {step} lasts until {until}, not {leases}"
        assert stored == attempts, f"attempts {stored} are not those of the state {attempts}"
        dead = self.rows("SELECT step, generation, attempts FROM dead_letter WHERE run=?", pk)
        meant = [(i, x.generation, x.attempts) for i, x in implied_dead_letters(ledger.plan, state).items()]
        assert sorted(dead) == sorted(meant), f"dead letters {dead} are not those of the state {meant}"
        waits = self.rows("SELECT step, generation, name, key FROM signal_wait WHERE run=?", pk)
        implied = [implied_signal(ledger.plan, state, i) for i in state.steps]
        wanted = [(w.step, w.generation, w.name, w.key) for w in implied if w]
        assert sorted(waits) == sorted(wanted), f"waits {waits} are not those of the state {wanted}"
        armed = self.rows("SELECT step, kind, generation, attempt, due FROM timer WHERE run=?", pk)
        assert sorted(armed) == sorted(timers), f"timers {armed} are not those of the state {timers}"
        asked = {}
        for id, step, generation, given in self.rows(
            "SELECT id, step, generation, given FROM approval WHERE run=? AND status='open'", pk
        ):
            people = self.rows("SELECT login FROM approval_person WHERE approval_id=? AND open=1", id)
            asked[step, generation] = (given, frozenset(r[0] for r in people))
        assert asked == approvals, f"approvals {asked} are not those of the state {approvals}"
        stale = self.rows(
            "SELECT p.login FROM approval_person p JOIN approval a ON a.id = p.approval_id"
            " WHERE a.run=? AND a.status<>'open' AND p.open=1",
            pk,
        )
        assert not stale, "a closed approval is still in somebody's inbox"

    def may_renew(self, claim: Any, until: datetime) -> None:
        """A heartbeat is on its way: perhaps the lease will last longer."""
        leases = self._leases(claim)
        if leases is not None:
            leases.add(until)

    def renewed(self, claim: Any, until: datetime) -> None:
        """A heartbeat was answered: the lease lasts longer."""
        leases = self._leases(claim)
        assert leases is not None, "a lease that was never granted was renewed"
        leases.clear()
        leases.add(until)

    def _leases(self, claim: Any) -> set[datetime] | None:
        ledger = self.runs.get(claim[0])
        return ledger.leases.get((claim[1], claim[4])) if ledger else None

    def keyed(self, key: str, asked: Any, answer: dict[str, Any]) -> None:
        """The same key gets the same answer again; with another request it is refused."""
        earlier = self.answers.get(key)
        if "ok" not in answer:
            transient = answer.get("error") == "Unavailable" or answer.get("code") == "key_reused"
            refused = earlier is not None and earlier[0] == asked and not transient
            assert not refused or answer.get("error") == "Forbidden", f"{key} was answered ok before: {answer}"
            return
        told = {k: v for k, v in answer["ok"].items() if k != "created"}
        if earlier is None:
            self.answers[key] = (asked, told)
            return
        assert earlier[0] == asked, f"key {key} was accepted for two requests"
        assert earlier[1] == told, f"key {key} got two answers: {earlier[1]} and {told}"

    def notices(self) -> None:
        """Each event that tells somebody has exactly one notice, delivered or waiting."""
        told: Counter[tuple[str, str, str]] = Counter(self.delivered.values())
        ids = {v: k for k, v in self.pks.items()}
        for id, run, topic, step in self.rows("SELECT id, run, topic, step FROM outbox WHERE tries >= 0"):
            if id not in self.delivered:
                told[ids[run], topic, step] += 1
        wanted = Counter((run_id, *n) for run_id, ledger in self.runs.items() for n in ledger.notices)
        assert told == wanted, f"notices: {told - wanted} too many, {wanted - told} missing"

    def close(self) -> None:
        self.db.close()
