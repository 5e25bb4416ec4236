"""Requests of workers and of the engine's own services: offers, outcomes, heartbeats, expiries, timers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from signoff.core import commands as c
from signoff.core.progress import read_progress
from signoff.core.rejection import Rejection
from signoff.core.states import ErrorInfo, RunStatus, TimerKind
from signoff.engine.dispatch import Claim, Dispatcher, WorkerSlot
from signoff.engine.request import Request, ok, refused
from signoff.engine.run_requests import answer_of
from signoff.engine.transaction import Transaction, required
from signoff.engine.views import FeedEvent
from signoff.errors import NotFound
from signoff.store.leases import renew, report
from signoff.store.times import to_micros

Answer = dict[str, Any]
Handler = Callable[[Transaction, Request], Answer]


def handlers(dispatcher: Dispatcher) -> dict[str, Handler]:
    """Handlers by request name."""

    def offer(tx: Transaction, r: Request) -> Answer:
        pools = tuple(str(p) for p in required(r.args, "pools", list))
        slot = WorkerSlot(r.actor.id, pools, required(r.args, "free", int), r.context)
        tx.offer(slot, [(c[0], c[1], c[2], c[3], c[4]) for c in r.args.get("claims") or ()], _mark(r))
        return ok()

    def withdraw(tx: Transaction, r: Request) -> Answer:
        dispatcher.withdraw(r.actor.id, r.context)
        return ok()

    def complete(tx: Transaction, r: Request) -> Answer:
        _give_back(tx, r)
        return _outcome(tx, r, c.CompleteActivity(**_claim(r), output=r.args.get("output"), digest=_digest(r)))

    def fail(tx: Transaction, r: Request) -> Answer:
        _give_back(tx, r)
        reported(tx, _whole_claim(r), r.args.get("progress"))
        return _outcome(tx, r, c.FailActivity(**_claim(r), error=_error(r), digest=_digest(r)))

    def pulse(tx: Transaction, r: Request) -> Answer:
        dispatcher.heard(r.actor.id)
        return heartbeat(tx, r)

    def lease(tx: Transaction, r: Request) -> Answer:
        """Look for claimable attempts once more: everywhere after a failure, else in what is known to wait."""
        if r.args.get("everywhere"):
            dispatcher.look_again()
        return ok()

    def expire(tx: Transaction, r: Request) -> Answer:
        """A worker that let a lease run out gets nothing more until it is heard of again."""
        answer = expire_lease(tx, r)
        if "ok" in answer and not answer["ok"].get("obsolete"):
            dispatcher.suspect(str(r.args.get("worker") or ""), _whole_claim(r))
        return answer

    return {
        "lease": lease,
        "offer": offer,
        "withdraw": withdraw,
        "complete": complete,
        "fail": fail,
        "heartbeat": pulse,
        "expire_lease": expire,
        "fire_timer": fire_timer,
    }


def _mark(r: Request) -> tuple[int, int] | None:
    """Of the newest task that the worker has received."""
    received = r.args.get("received")
    return (int(received[0]), int(received[1])) if received else None


def _claim(r: Request) -> dict[str, Any]:
    return {
        "actor": r.actor,
        "step": required(r.args, "step"),
        "generation": required(r.args, "generation", int),
        "attempt": required(r.args, "attempt", int),
        "fence": required(r.args, "fence", int),
        "item": r.args["item"] if isinstance(r.args.get("item"), int) else -1,
    }


def _error(r: Request) -> ErrorInfo:
    return ErrorInfo(
        str(r.args.get("code") or "error")[:100],
        str(r.args.get("message") or "It gave no reason.")[:4000],
        r.args.get("retryable") is not False,
    )


def _whole_claim(r: Request) -> Claim:
    claim = _claim(r)
    return required(r.args, "run_id"), claim["step"], claim["generation"], claim["attempt"], claim["fence"]


def _give_back(tx: Transaction, r: Request) -> None:
    tx.give_back(r.actor.id, _whole_claim(r))


def _digest(r: Request) -> str:
    return str(r.args.get("digest") or "")


def _outcome(tx: Transaction, r: Request, command: c.Command) -> Answer:
    result = tx.command(r.tenant, required(r.args, "run_id"), command)
    return refused(result) if isinstance(result, Rejection) else answer_of(result, getattr(command, "step", ""))


def heartbeat(tx: Transaction, r: Request) -> Answer:
    """Renew leases; tells which are lost and which should stop because the run is being stopped."""
    claims, lost, stop = [], [], []
    for i, claim in enumerate(required(r.args, "claims", list)):
        run_id, step, generation, attempt, fence = claim
        try:
            key, _, state = tx.run(None, run_id)
        except NotFound:
            lost.append(i)
            continue
        if state.status is RunStatus.CANCELLING or state.is_terminal:
            stop.append(i)
        claims.append((i, (key.pk, step, generation, attempt, fence)))
    held = tx.direct(lambda journal: renew(journal, [cl for _, cl in claims], to_micros(tx.now)))
    lost += [i for (i, _), good in zip(claims, held, strict=True) if not good]
    reports = r.args.get("progress")
    bad = [
        [i, wrong]
        for i, claim in enumerate(r.args["claims"])
        if isinstance(reports, list)
        and i < len(reports)
        and i not in lost
        and (wrong := reported(tx, claim, reports[i]))
    ]
    return ok(lost=lost, stop=stop, bad=bad)


def reported(tx: Transaction, claim: Sequence[Any], given: Any) -> str:
    """Keep what a claim (run, step, generation, attempt, fence) reported; returns what is wrong with it, or ""."""
    if not isinstance(given, dict):
        return ""
    run_id, step = str(claim[0]), str(claim[1])
    try:
        progress = read_progress(given.get("fraction"), given.get("note", ""), given.get("details"), step)
        key, tenant, state = tx.run(None, run_id)
    except (ValueError, NotFound) as error:
        return str(error)
    if tx.direct(
        lambda journal: report(journal, (key.pk, *claim[1:]), progress, to_micros(tx.now), sealed=key.sensitive)
    ):
        tx.out.news.append(FeedEvent(tenant, run_id, state.sequence, str(state.status), {}, tx.now))
    return ""


def expire_lease(tx: Transaction, r: Request) -> Answer:
    """The rescuer found a lease that ran out; a heartbeat may have renewed it since."""
    run_id = required(r.args, "run_id")
    key, _, _ = tx.run(r.tenant, run_id)
    claim = _claim(r)
    still = tx.journal.rows(
        "SELECT 1 FROM attempt WHERE run=? AND step=? AND generation=? AND attempt=? AND fence=? AND status='leased'"
        " AND lease_until < ?",
        (key.pk, claim["step"], claim["generation"], claim["attempt"], claim["fence"], to_micros(tx.now)),
    )
    if not still:
        return ok(obsolete=True)
    return _outcome(tx, r, c.ExpireLease(**claim))


def fire_timer(tx: Transaction, r: Request) -> Answer:
    """The timer pump found a due timer."""
    command = c.FireTimer(
        actor=r.actor,
        step=required(r.args, "step"),
        timer=TimerKind(required(r.args, "kind")),
        generation=required(r.args, "generation", int),
        attempt=required(r.args, "attempt", int),
    )
    return _outcome(tx, r, command)
