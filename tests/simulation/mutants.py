"""Guards of the engine, removed one by one (and with the partner that hides it): the simulation must notice each.

A mutant replaces text in one function; the function object stays, its code is exchanged, so that tables of
handlers that already hold it run the mutant too.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

from signoff.core import answering, flow, implied, quorum, react, retry, standing_in
from signoff.core.decide import (
    activities,
    advance,
    asking,
    by_hand,
    forms,
    item_answers,
    items,
    ladder,
    limiting,
    operators,
    outcomes,
    policy,
    returning,
    signals,
    timers,
    undoing,
)
from signoff.core.decide import approvals as approvals_decide
from signoff.core.evolve import approvals, runs, steps
from signoff.engine import (
    children,
    handle,
    people_requests,
    signal_requests,
    transaction,
    worker_requests,
)
from signoff.engine.dispatch import Dispatcher, WorkerSlot
from signoff.engine.usage import Usage
from signoff.runtime.worker import Worker, _Pulse
from signoff.store import journal, leases, people
from tests.simulation.faults import Violation
from tests.simulation.simulate import run_seed

MOST_SEEDS = 200
FIRST = 900_001

_stand_in = answering.barred_from_standing_in
Change = tuple[Any, str, str]


@dataclass(frozen=True)
class Mutant:
    """A name and what is replaced: (function, old text, new text), or (module, name, (old, new)) for a statement."""

    name: str
    changes: tuple[Change, ...]


def _code(function: FunctionType, edits: list[tuple[str, str]]) -> CodeType:
    source = Path(inspect.getsourcefile(function) or "").read_text()
    own = mutated = inspect.getsource(function)
    for old, new in edits:
        assert old in mutated, f"{function.__qualname__} does not contain {old!r}"
        mutated = mutated.replace(old, new, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.py"
        path.write_text(source.replace(own, mutated))
        spec = importlib.util.spec_from_file_location("mutated", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with mock.patch.dict(sys.modules, mutated=module):  # dataclasses look for their module there
            spec.loader.exec_module(module)
    found: Any = module
    for part in function.__qualname__.split("."):
        found = getattr(found, part)
    code: CodeType = found.__code__
    return code


@contextmanager
def removed(mutant: Mutant) -> Iterator[None]:
    """The engine without the guard."""
    edits: dict[FunctionType, list[tuple[str, str]]] = {}
    with ExitStack() as stack:
        for target, old, new in mutant.changes:
            if isinstance(target, FunctionType):
                edits.setdefault(target, []).append((old, new))
            else:
                before, after = new.split("|")
                text = getattr(target, old)
                assert before in text, f"{old} does not contain {before!r}"
                stack.enter_context(mock.patch.object(target, old, text.replace(before, after)))
        for function, found in edits.items():
            stack.callback(setattr, function, "__code__", function.__code__)
            function.__code__ = _code(function, found)
        yield


def seeds_needed(mutant: Mutant, most: int = MOST_SEEDS) -> tuple[int, str] | None:
    """How many seeds until it is caught and by what; None where it survives."""
    with removed(mutant):
        for number in range(most):
            try:
                run_seed(FIRST + number)
            except Violation as error:
                return number + 1, str(error).splitlines()[0]
            except Exception as error:  # a mutant may also break the engine outright
                return number + 1, f"{type(error).__name__}: {error}"
    return None


def m(name: str, *changes: Change) -> Mutant:
    return Mutant(name, changes)


_TRIPLE = "given != (step.generation, step.attempt, step.fence)"
_STATUS = (activities._stale, "step.status is not StepStatus.RUNNING", "False")
_OVER = (activities._stale, "if state.is_terminal", "if False")

MUTANTS: tuple[Mutant, ...] = (
    # Claims
    m("claim: generation, attempt and fence are not compared", (activities._stale, _TRIPLE, "False")),
    m("claim: only the attempt is compared", (activities._stale, _TRIPLE, "given[1] != step.attempt")),
    m("claim: only the generation is compared", (activities._stale, _TRIPLE, "given[0] != step.generation")),
    m("claim: the digest is not compared", (activities._stale, 'not in ("", state.digest)', "is None")),
    m("claim: results are taken after the claim is over", _STATUS),
    m("claim: results are taken after the run and the claim are over", _OVER, _STATUS),
    m(
        "claim: paused runs hand out work",
        (activities.claim, "in CLAIMABLE_RUNS", "is not None"),
    ),
    m(
        "claim: attempts of paused runs stay claimable",
        (activities.claim, "in CLAIMABLE_RUNS", "is not None"),
        (implied.implied_attempt, "if run.status in CLAIMABLE_RUNS", "if True"),
    ),
    m("slots: repeated outcomes give back again", (Dispatcher.give_back, "claim not in slot.held", "False")),
    m("claim: the fence does not grow", (activities.claim, "step.fence + 1", "max(step.fence, 1)")),
    m("lease: expiry is not looked at again", (worker_requests.expire_lease, "if not still", "if False")),
    m("lease: its end is not compared", (worker_requests.expire_lease, '" AND lease_until < ?"', '" AND ? > 0"')),
    m("lease: renewed for whoever asks", (leases.renew, " AND fence=? AND status='leased'", " AND fence<>?")),
    m("lease: not renewed", (leases.renew, "? + heartbeat_ms * 1000", "? + 0 * heartbeat_ms")),
    m("retry: at most once is retried", (retry.may_retry, "if effect is Eff", "if False and effect is Eff")),
    m("retry: one attempt too many", (retry.next_attempt_at, "attempt >= policy", "attempt > policy")),
    # Timers
    m("timer: not due is fired", (timers.fire, "if step.due > build.now", "if False")),
    m(
        "timer: of another generation, and not due",
        (timers.fire, "step.generation != command.generation", "False"),
        (timers.fire, "if step.due > build.now", "if False"),
    ),
    m("timer: the generation is not compared", (timers.fire, "step.generation != command.generation", "False")),
    m("timer: fires during a pause", (timers.fire, "state.status is RunStatus.PAUSED", "False")),
    m("timer: clocks are not shifted by a pause", (runs._clocks_go_on, "s.due + stood if s.due", "s.due if s.due")),
    m("timer: rows of ended timers stay", (journal, "_DELETE_TIMER", "WHERE|WHERE 0 AND")),
    # People
    # Forms, messages, children
    m("forms: wrong values are taken", (forms.submit, "if problems:", "if False:")),
    m("messages: kept ones are forgotten", (signal_requests.deliver_kept, "if message is None", "if True")),
    m(
        "messages: taken during a pause",
        (implied.implied_signal, "run.status is not RunStatus.PAUSED", "True"),
        (signals.receive, "state.status is RunStatus.PAUSED", "False"),
    ),
    m("children: their end is not told", (children.end_in_parent, "if parent is None or not step", "if True")),
    m("children: go on without a parent", (react._children, "(was.keys() | begun.keys()) - now.keys() - ended", "()")),
    m("people: own request", (answering.barred, "not approval.requester_may_decide", "False")),
    m("people: votes twice", (answering.answered, "if mine is not None", "if False")),
    m("people: not on the roster", (answering.barred, "not find_person(who, approval.roster) or", "False or")),
    m(
        "people: without an account",
        (handle.Engine._authorise, "not account.active", "False"),
        (answering.barred, "active is not None and", "False and"),
    ),
    m("people: without the role", (handle.Engine._authorise, "r.do not in permitted(account.roles)", "False")),
    m(
        "people: the directory is not read again",
        (transaction.Transaction.people_changed, "self._directories.pop", "str"),
    ),
    m(
        "people: whoever leaves is not missed",
        (people_requests._look_at_open_approvals, "p.list_open_approvals(tx.journal, tenant, login)", "()"),
    ),
    m(
        "people: decided an earlier step",
        (answering.barred, "if earlier or deciders_elsewhere(", "if False and (earlier, "),
    ),
    m(
        "people: decided a step that was open together",
        (answering.must_differ, "isinstance(other.config", "False and isinstance(i"),
    ),
    m(
        "people: one approval too few",
        (quorum.settled_outcome, "given(approval) >= approval.required", "given(approval) + 1 >= approval.required"),
    ),
    m("people: the quorum is clamped", (policy._of_one, "required > len(usable)", "False")),
    m("quotas: whoever approves fills any place", (quorum.seated, "person_key(person) not in members[quota]", "False")),
    m("quotas: one person fills two places", (quorum.given, "approval.quotas:", "False:")),
    m("quotas: the next are not asked", (approvals_decide._ask_next, "if not asked.in_sequence", "if True")),
    m(
        "quotas: all of a sequence are asked at once",
        (policy._of_quotas, "if config.in_sequence and quotas", "if False"),
    ),
    m(
        "quotas: nobody is left for the rest",
        (quorum.lacking, "- sum(map(len, seated(approval", "- 99 * sum(map(len, seated(approval"),
    ),
    m("people: what was shown is not compared", (asking.changed_meanwhile, "if stale or (", "if False and (")),
    m("people: after the deadline", (answering.closed, "step.expires <= now", "False")),
    m("absence: its dates are not compared", (standing_in.absent_for, "a.begins <= now < a.ends", "True")),
    m("absence: of anybody", (standing_in.delegation_of, "if same_person(a.person, person)", "if True")),
    m(
        "absence: who is asked decides for others too",
        (_stand_in, "if find_person(by, (*", "if False and find_person(by, (*"),
    ),
    m("ladder: a rung stays after it fired", (approvals.reminded, "r.number <= event.number", "False")),
    m("ladder: escalates after the expiry", (timers.fire, "step.expires is not None and", "False and")),
    m("ladder: asks who started the run", (ladder._who_can, "asked.requester_may_decide or", "True or")),
    m("ladder: votes are handed over too", (ladder._escalate, "if not find_person(p, voted)", "if True")),
    m("ladder: clocks are not shifted by a pause", (runs._ladder_later, "r.due + stood", "r.due")),
    m("ladder: the expiry is not shifted by a pause", (runs._ladder_later, "asked.expires + stood", "asked.expires")),
    m("people: while paused", (answering.closed, "state.status is RunStatus.PAUSED", "False")),
    m("people: returned too often", (returning.may_not_return, "step.round >= config.max_rounds", "False")),
    m("people: returned while at work", (returning.may_not_return, "is StepStatus.RUNNING", "is None")),
    # Operators
    m("operator: an ended run changes", (operators.may_operate, "if state.is_terminal", "if False")),
    m("operator: no reason", (operators.may_operate, "if not command.reason.strip()", "if False")),
    m("operator: what was seen is not compared", (operators.not_changed, "changed > command.seen_sequence", "False")),
    m(
        "operator: skips work under way",
        (operators._unskippable, "step.status is StepStatus.RUNNING", "False"),
        (operators._unskippable, "step.status not in SKIPPABLE", "False"),
    ),
    m("operator: open approvals are not asked again", (operators.edit_input, "_ask_again(build, before)", "before")),
    # Idempotency, transaction, store
    m("key: not looked up", (handle.Engine._once, "earlier is not None", "False")),
    m(
        "key: not looked up, stored over",
        (handle.Engine._once, "earlier is not None", "False"),
        (people.add_request, "INSERT INTO", "INSERT OR REPLACE INTO"),
    ),
    m("key: another request is not noticed", (handle.Engine._once, "earlier[0] != digest", "False")),
    m("key: the answer is not kept", (handle.Engine._once, 'if "ok" in answer', "if False")),
    m(
        "commit: events are not written",
        (journal.Journal._flush, "(_INSERT_EVENT, rows.events)", "(_INSERT_EVENT, [])"),
    ),
    m("commit: the snapshot is not written", (journal, "_UPDATE_RUN", "snapshot=?|snapshot=coalesce(snapshot, ?)")),
    m(
        "commit: the failed state stays in memory",
        (transaction.Transaction.abandon, "self._warm.forget(run_id)", "pass"),
        (
            transaction.Transaction._keep,
            "self.working[after.run_id] =",
            "self._warm.put(after.run_id, key, tenant, after); self.working[after.run_id] =",
        ),
    ),
    m(
        "commit: a failed write is kept",
        (transaction.Transaction.abandon, "self.journal.rollback()", "self.journal.commit(self.rows)"),
    ),
    m("slots: not given back by a rollback", (transaction.Transaction.abandon, "slot.free += 1", "pass")),
    m("slots: outcomes give nothing back", (Dispatcher.give_back, "slot.free += 1", "pass")),
    m("slots: a call on its way takes none", (Dispatcher.offer, "number > newest and", "False and")),
    m("slots: the end of an old connection withdraws", (WorkerSlot.is_sent_by, "self.send == send", "True")),
    m("slots: turns of a failed commit count", (transaction.Transaction.abandon, "reversed(self.undo)", "()")),
    m("worker: an offer that failed is not repeated", (_Pulse.work, "self._offer_again = True", "pass")),
    m("worker: does not offer what it let go", (Worker._let_go, "self._pulse.offer_again()", "pass")),
    m("worker: does not offer what was lost", (Worker.renew, "self.offer_soon()", "pass")),
    m("worker: an outcome that was not heard is not repeated", (Worker._report, "self._later(", "str(")),
    m("slots: the suspected stay so", (Dispatcher.heard, "if slot is not None", "if False")),
    m("lease again: not asked for", (transaction.Transaction._moved, "self._leasing.look_again = True", "pass")),
    m("limits: calls at once are not counted", (Usage.blocked_s, ">= share.at_once", "< 0")),
    m("limits: the definition's deadline is lost", (limiting.pause_long_run, "then=then", "then=None")),
    m("limits: a run that was paused for its time says nothing", (react._notices, "event.actor == BY_LIMITS", "False")),
    m(
        "by hand: while a worker is at it",
        (by_hand._not_now, "step.status is StepStatus.RUNNING", "False"),
        (by_hand._not_now, "step.status not in COMPLETABLE", "False"),
    ),
    m("backlog: forgotten", (Dispatcher.look_again, "self.unseen.update(self.pools)", "pass")),
    m("notices: ids are given again", (leases.remove_outbox, "if i == newest", "if False")),
    m("notices: not written", (journal.Journal._flush, "(_INSERT_OUTBOX, rows.outbox)", "(_INSERT_OUTBOX, [])")),
    m("approvals: stay in the inbox", (journal, "_CLOSED", "open=0|open=open")),
    m("lost: tried again without a probe or a person", (activities._attempt_over, "lost = unknown", "lost = False")),
    m(
        "outcome: answered where nothing is in doubt",
        (outcomes.resolve, "is not StepStatus.OUT", "is None and StepStatus.OUT"),
    ),
    m("dead letters: stay when they are replayed", (journal.Journal._flush, "list(rows.dead_gone)", "[]")),
    m("dead letters: not written", (react._dead_letters, "out += [x for", "[x for")),
    m("items: more at once than allowed", (items.go_on, "len(items.open) >= each.parallel", "False")),
    m("items: an older claim counts", (item_answers._find, "one.fence, one.attempt", "command.fence, one.attempt")),
    # The end of a run
    m("undo: in the order of completion", (undoing.still_to_undo, "reverse=True", "reverse=False")),
    m("undo: some of it is left", (advance.settle_run, "state.undo and compensate_next(build)", "False")),
    m("undo: under the key of the work", (undoing.undo_key, "/undo", "")),
    m("undo: tried for ever", (undoing.undo_failed, "attempt=step.undo", "attempt=0")),
    m("undo: without being asked for", (operators.cancel, "compensate=command.compensate", "compensate=True")),
    m("undo: what failed is forgotten", (undoing.undo_failures, "and s.undo", "and not s.undo")),
    m("deadline: met too early", (timers._deadline, "due > now", "False")),
    m("deadline: its clock runs in a pause", (runs._clocks_go_on, "state.deadline + (at - began)", "state.deadline")),
    m("deadline: fires again", (runs.deadline_passed, "deadline=event.then", "deadline=state.deadline")),
    # Flow
    m("flow: a join of all begins early", (flow.readiness, "if None in found", "if False")),
    m("flow: a cancelled run is never ended", (advance.settle_run, "if state.stopping", "if False")),
    m("flow: nobody is told of a stall", (advance.settle_run, "if state.status is not RunStatus.STALLED", "if False")),
    m(
        "evolve: a retry keeps the generation",
        (steps.retried, "old, event.generation", "old, event.generation - 1"),
    ),
)

CANARIES = ("claim: results are taken after the claim is over", "key: not looked up, stored over")


def find(name: str) -> Mutant:
    return next(x for x in MUTANTS if x.name == name)


def report(wanted: str = "") -> int:
    """Run all mutants whose name contains `wanted`; returns the exit code."""
    survivors = []
    for mutant in MUTANTS:
        if not any(part in mutant.name for part in wanted.split(",")):
            continue
        began = time.monotonic()
        caught = seeds_needed(mutant)
        if caught is None:
            survivors.append(mutant.name)
        needed, how = caught or (0, "SURVIVED")
        print(f"{needed:4d}  {mutant.name}  [{how[:110]}]  {time.monotonic() - began:.1f} s", flush=True)
    print(f"{len(survivors)} survived: {survivors}")
    return 1 if survivors else 0
