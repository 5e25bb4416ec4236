"""`signoff verify` and `signoff run replay`: a real database against its own events. Reads only.

Every run is read in one short transaction, event by event, so that memory does not grow with the database and an
engine may go on writing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from signoff.core.codec import encode_snapshot
from signoff.core.digest import canonical_json, definition_digest
from signoff.core.document import read_document
from signoff.core.events import RunMigrated
from signoff.core.history import PlanOf
from signoff.core.implied import (
    implied_attempts,
    implied_dead_letters,
    implied_signal,
    implied_timers,
    implies_open_approval,
    standing,
)
from signoff.core.invariants import Finding, RunCheck, state_findings
from signoff.core.plan import Plan
from signoff.core.quorum import find_person
from signoff.core.quorum import given as counted_approvals
from signoff.core.states import RunState
from signoff.engine.caches import plan_of
from signoff.errors import NotFound, SignoffError
from signoff.store.reads.audit import RunRows, WholeDatabase, attached_problems
from signoff.store.times import to_micros

_PLANS = 64


@dataclass(frozen=True, slots=True)
class Replayed:
    """What replaying one run gave: both snapshots in canonical JSON, and everything that is wrong with the run."""

    run_id: str
    events: int
    stored: bytes
    replayed: bytes
    findings: tuple[Finding, ...]

    @property
    def is_equal(self) -> bool:
        """Whether the stored snapshot is byte for byte what the events say."""
        return self.stored == self.replayed


class Verifier:
    """Checks the invariants that a database can show (reliability §1.3)."""

    def __init__(self, database: WholeDatabase) -> None:
        self._database = database
        self._plans: OrderedDict[tuple[str, str], Plan] = OrderedDict()
        self.runs = 0
        self.events = 0
        self.erased = 0

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong, as it is found."""
        for problem in self._database.file_problems():
            yield Finding("file_damaged", problem)
        for table, count in self._database.loose_rows():
            yield Finding("loose_rows", f"{count} rows of '{table}' belong to nothing that exists.")
        yield from self._versions()
        for code, problem in self._database.ledger_problems():
            yield Finding(code, problem)
        for pk in self._database.run_keys():
            with self._database.run(pk) as rows:
                if rows is not None:
                    yield from self._run(rows).findings

    def replay(self, run_id: str) -> Replayed:
        """Replay one run.

        Raises:
            NotFound: there is none with that id.
        """
        for pk in self._database.run_keys(run_id):
            with self._database.run(pk) as rows:
                if rows is not None:
                    return self._run(rows)
        raise NotFound(f"There is no run '{run_id[:60]}'.", remedy="Check the id.")

    def _versions(self) -> Iterator[Finding]:
        for name, version, digest, document in self._database.versions():
            try:
                definition, problems = read_document(orjson.loads(document))
            except ValueError:
                definition, problems = None, ()
            if definition is None or problems:
                yield Finding("unreadable_version", f"Version {version} of '{name}' cannot be read.")
            elif definition_digest(definition) != digest:
                message = f"Version {version} of '{name}' has the digest {definition_digest(definition)}, not {digest}."
                yield Finding("version_changed", message)

    def _plan_of(self, tenant: str) -> PlanOf:
        def find(digest: str) -> Plan:
            known = self._plans.get((tenant, digest))
            if known is None:
                found = self._database.find_version(tenant, digest)
                if found is None:
                    raise KeyError(f"No published version has the digest {digest}.")
                known = self._plans[tenant, digest] = plan_of(found[0], digest, found[1])
                if len(self._plans) > _PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end((tenant, digest))
            return known

        return find

    def _run(self, rows: RunRows) -> Replayed:
        run = rows.run
        self.runs += 1
        check = RunCheck(run.run_id, self._plan_of(run.tenant))
        found = [Finding(code, message, run.run_id) for code, message in _tenancy(rows)]
        found += [Finding(code, message, run.run_id, seq) for code, message, seq in rows.chain_problems()]
        found += [Finding(code, message, run.run_id) for code, message in attached_problems(rows)]
        if rows.is_erased():
            self.erased += 1
            return Replayed(run.run_id, run.sequence, b"", b"", tuple(found))
        complete = True
        expected = 1
        for sequence, event in rows.events():
            self.events += 1
            if sequence != expected:
                message = (
                    f"Event {expected} is missing." if sequence > expected else f"Event {sequence} is there twice."
                )
                found.append(Finding("sequence_gap", message, run.run_id, sequence))
                complete = False
                break
            expected += 1
            if isinstance(event, str):
                found.append(Finding("unreadable_event", f"It cannot be read: {event}.", run.run_id, sequence))
                complete = False
                break
            if isinstance(event, RunMigrated) and (wrong := _approval_of_plan(rows, event)):
                found.append(Finding("plan_not_approved", wrong, run.run_id, sequence))
            try:
                found += check.add(event)
            except (SignoffError, KeyError, ValueError, AssertionError, TypeError) as error:
                message = f"'{event.wire}' cannot be applied: {error.args[0] if error.args else type(error).__name__}"
                found.append(Finding("not_replayable", message, run.run_id, sequence))
                complete = False
                break
        stored, replayed = (
            _canonical(rows.snapshot()),
            canonical_json(encode_snapshot(check.state)) if check.plan else b"",
        )
        if complete:
            found += [Finding(code, message, run.run_id) for code, message in _compare(rows, check, stored, replayed)]
        return Replayed(run.run_id, expected - 1, stored, replayed, tuple(found))


def _canonical(snapshot: bytes) -> bytes:
    try:
        return canonical_json(orjson.loads(snapshot))
    except (SignoffError, ValueError):
        return bytes(snapshot)


def _compare(rows: RunRows, check: RunCheck, stored: bytes, replayed: bytes) -> Iterator[tuple[str, str]]:
    run, state, plan = rows.run, check.state, check.plan
    if plan is None:
        yield "no_events", "It has no events."
        return
    if state.sequence != run.sequence:
        yield "sequence_differs", f"The run says it has {run.sequence} events, but {state.sequence} are there."
    if stored != replayed:
        yield (
            "snapshot_differs",
            f"The stored snapshot is not what the events say: {_first_difference(stored, replayed)}.",
        )
    said = (run.status, run.business_key, run.started_by, run.reason)
    reason = "" if rows.is_sealed() else state.reason
    meant = (str(state.status), state.business_key, state.started_by, reason)
    for name, a, b in zip(("status", "business key", "requester", "reason"), said, meant, strict=True):
        if a != b:
            yield "row_differs", f"The {name} of its row is '{a}', but its events say '{b}'."
    if run.digest != state.digest:
        yield "wrong_version", f"Its row refers to the version {run.digest}, but its events to {state.digest}."
    if run.tenant != state.tenant:
        yield "foreign_tenant", f"It belongs to '{run.tenant}', its events to '{state.tenant}'."
    yield from state_findings(plan, state)
    yield from _attempts(rows, state)
    yield from _timers(rows, state)
    yield from _signals(rows, plan, state)
    yield from _approvals(rows, state)
    yield from _links(rows, state, set(check.links))
    yield from _dead_letters(rows, plan, state)


def _tenancy(rows: RunRows) -> Iterator[tuple[str, str]]:
    run = rows.run
    if run.version_tenant not in (None, run.tenant):
        yield "foreign_tenant", f"It belongs to '{run.tenant}', its version to '{run.version_tenant}'."
    for table, tenant in rows.foreign():
        yield "foreign_tenant", f"Rows of '{table}' belong to the tenant '{tenant}'."


def _attempts(rows: RunRows, state: RunState) -> Iterator[tuple[str, str]]:
    implied = {key: str(status) for i in state.steps for key, status in implied_attempts(state, i).items()}
    for step, generation, item, attempt, status, fence, until in rows.attempts():
        meant = implied.pop((step, generation, item, attempt), "over")
        newest = state.steps[step]
        one = newest.items.find(item) if newest.items else None
        granted = one.fence if one else newest.fence
        if status != meant:
            yield "attempt_differs", f"Attempt {attempt} of '{step}' is {status}, but should be {meant}."
        elif status == "leased" and fence != granted:
            yield "fence_differs", f"The lease of '{step}' has fencing token {fence}, not {granted}."
        elif status == "leased" and until <= 0:
            yield "lease_without_end", f"The lease of '{step}' never runs out."
    for (step, _, _, attempt), status in implied.items():
        yield "attempt_missing", f"Attempt {attempt} of '{step}' should be {status}, but has no open row."


def _whose(step: str) -> str:
    return f"'{step}'" if step else "the run"


def _timers(rows: RunRows, state: RunState) -> Iterator[tuple[str, str]]:
    implied = {(t.step, str(t.kind), t.generation, t.attempt, to_micros(t.due)) for t in implied_timers(state)}
    armed = set(rows.timers())
    for step, kind, *_ in sorted(implied - armed):
        yield "timer_missing", f"The {kind} timer of {_whose(step)} should be armed, but is not."
    for step, kind, *_ in sorted(armed - implied):
        yield "timer_unexpected", f"A {kind} timer of {_whose(step)} is armed that nothing asks for."


def _signals(rows: RunRows, plan: Plan, state: RunState) -> Iterator[tuple[str, str]]:
    implied = {(w.step, w.generation, w.name, w.key) for i in state.steps if (w := implied_signal(plan, state, i))}
    waiting = set(rows.signals())
    for step, _, name, _ in sorted(implied - waiting):
        yield "wait_missing", f"'{step}' should wait for the signal '{name}', but no message would reach it."
    for step, _, name, _ in sorted(waiting - implied):
        yield "wait_unexpected", f"'{step}' would get messages of the signal '{name}', but does not wait."


def _approvals(rows: RunRows, state: RunState) -> Iterator[tuple[str, str]]:
    implied = {(i, s.generation) for i, s in state.steps.items() if implies_open_approval(state, i)}
    people: dict[int, dict[str, tuple[int, int]]] = {}
    for key, step, status, login, is_open, voted in rows.people():
        people.setdefault(key, {})[login] = (is_open, voted)
        if status != "open" and is_open:
            yield "inbox_stale", f"'{step}' is {status}, but still stands in the inbox of '{login}'."
    for key, step, generation, given, shown in rows.approvals():
        if (step, generation) not in implied:
            yield "approval_unexpected", f"People are asked about '{step}', although nothing waits for them."
            continue
        implied.discard((step, generation))
        approval = state.steps[step].approval
        assert approval is not None
        approvals = counted_approvals(approval)
        if people.get(key, {}) != standing(approval):
            yield (
                "roster_differs",
                f"The people asked about '{step}' are not those of its roster, or not in that state.",
            )
        if given != approvals or shown != approval.shown_digest:
            yield "approval_differs", f"The row of '{step}' counts {given} approvals or shows something else."
    for step, _ in sorted(implied):
        yield "approval_missing", f"'{step}' waits for people, but nobody is asked."


def _approval_of_plan(rows: RunRows, event: RunMigrated) -> str:
    """A run that was moved by an approved plan names one that exists, says the same and was approved; else what not."""
    if not event.plan_id:
        return "A plan without an id is said to be approved." if event.approved_by else ""
    stored = rows.migration_plan(event.plan_id)
    if stored is None:
        return f"The run was moved by the plan '{event.plan_id}', which does not exist."
    digest, status = stored
    if digest != event.plan_digest:
        return f"The run was moved by something else than the plan '{event.plan_id}' says."
    return "" if status in ("approved", "withdrawn") else f"The run was moved by the plan '{event.plan_id}', {status}."


def _links(rows: RunRows, state: RunState, used: set[str]) -> Iterator[tuple[str, str]]:
    """An open link leads to somebody who may still answer exactly that; a used one to the answer that used it."""
    for step, generation, voter, shown, token_hash, used_at, outcome in rows.links():
        if len(token_hash) != 64:
            yield "link_not_hashed", f"A link of '{step}' is not stored as a SHA-256."
        found = state.steps.get(step)
        approval = found.approval if found else None
        if used_at is not None:
            if token_hash[:16] not in used or not outcome:
                yield "link_use_differs", f"A link of '{step}' was used, but no answer says so."
            used.discard(token_hash[:16])
        elif not (implies_open_approval(state, step) and found and found.generation == generation and approval):
            yield "link_unexpected", f"A link is good for '{step}', which does not wait in that round."
        elif not find_person(voter, approval.roster) or find_person(voter, [v.person for v in approval.votes]):
            yield "link_unexpected", f"A link of '{step}' is good for '{voter}', who is not asked (any more)."
        elif shown != approval.shown_digest:
            yield "link_differs", f"A link of '{step}' was sent for something else than is shown."
    for name in sorted(used):
        yield "link_missing", f"An answer says that the link {name} was used, but that link is not marked so."


def _dead_letters(rows: RunRows, plan: Plan, state: RunState) -> Iterator[tuple[str, str]]:
    implied = {(i, x.generation, x.attempts) for i, x in implied_dead_letters(plan, state).items()}
    stored = set(rows.dead_letters())
    for step, *_ in sorted(implied ^ stored):
        yield "dead_letter_differs", f"The dead letter of '{step}' is not what the state says."


def _first_difference(stored: bytes, replayed: bytes) -> str:
    try:
        a, b = orjson.loads(stored), orjson.loads(replayed)
    except ValueError:
        return "it cannot be read"
    path = _path(a, b, "")
    return f"they differ at '{path}'" if path else "they are written differently"


def _path(a: Any, b: Any, path: str) -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            if a.get(key) != b.get(key):
                return _path(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
        return ""
    return "" if a == b else path
