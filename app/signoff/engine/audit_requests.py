"""Sealing, exporting and erasing: what is done to the audit trail, itself recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from signoff.core.commands import Command
from signoff.core.rejection import Rejection
from signoff.core.states import RunState
from signoff.engine.auditing import audit_alone
from signoff.engine.request import Request, ok, refused
from signoff.engine.signing import unconfirmed
from signoff.errors import InvalidInput, NotFound
from signoff.store.ledger import ERASED_KIND, Erasure
from signoff.store.times import to_micros
from signoff.store.tree import UNCHAINED, remember, seal

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

Answer = dict[str, Any]


def seal_ledger(tx: Transaction, r: Request) -> Answer:
    """The sealer's request: chain runs of an older release, then append what changed to the trees."""
    old = r.args.get("old")
    adopted = tx.direct(lambda journal: journal.ledger.adopt(old)) if old else []
    if old is not None and not old:
        tx.direct(lambda journal: remember(journal, UNCHAINED, 0))
    at = to_micros(tx.now)
    changed = tx.direct(lambda journal: seal(journal, str(r.args["origin"]), at, int(r.args["limit"]), adopted))
    return ok(changed=changed)


def export_audit(tx: Transaction, r: Request) -> Answer:
    """Somebody takes evidence out: recorded before it is read."""
    run_id = str(r.args.get("run_id") or "")
    known = (
        "SELECT 1 FROM run WHERE tenant=? AND public_id=?"
        " UNION SELECT 1 FROM ledger_leaf WHERE tenant=? AND run_id=? AND kind='pruned'"
    )
    if run_id and not tx.journal.rows(known, (r.tenant, run_id, r.tenant, run_id)):
        raise NotFound(f"There is no run '{run_id[:60]}'.", remedy="Check the id.")
    audit_alone(tx, r, run_id or "all runs", str(r.args.get("format") or "bundle"))
    return ok(run_id=run_id, by=r.actor.id, at=tx.now.isoformat())


def hold_run(tx: Transaction, r: Request) -> Answer:
    """Put a legal hold on a run, or end it (an empty `hold`); a run on hold is neither erased nor removed."""
    run_id, reason = str(r.args.get("run_id") or ""), _reason(r, "change the legal hold of a run")
    key, _, _ = tx.run(r.tenant, run_id)
    hold = reason if r.args.get("hold") is not False else None
    tx.direct(lambda journal: journal.write("UPDATE run_key SET hold=? WHERE run=?", (hold, key.pk)))
    audit_alone(tx, r, run_id, ("on hold: " if hold else "hold ended: ") + reason)
    return ok(run_id=run_id, hold=bool(hold))


def erase_run(tx: Transaction, r: Request) -> Answer:
    """Destroy the secret and the content of an ended run and of the runs it started; the chain stays."""
    run_id, reason = str(r.args.get("run_id") or ""), _reason(r, "erase a run")
    if wrong := unconfirmed(tx, r, "erase a run"):
        return refused(wrong)
    whole = _family(tx, r.tenant, run_id)
    for each in whole:
        key, _, state = tx.run(r.tenant, each)
        if not state.is_terminal:
            return refused(
                Rejection(
                    "run_open",
                    f"Expected to erase run '{run_id}', but {'it' if each == run_id else each} is still"
                    f" {state.status.value}.",
                    "Cancel it first, or wait until it has ended.",
                )
            )
        held = tx.journal.rows("SELECT hold FROM run_key WHERE run=?", (key.pk,))
        if held and held[0][0]:
            return refused(
                Rejection(
                    "on_hold",
                    f"Expected to erase run '{run_id}', but there is a legal hold on {each}: {held[0][0]}",
                    "Whoever put it there has to end it first.",
                )
            )
    for each in whole:
        _erase(tx, r, each, reason)
    audit_alone(tx, r, run_id, reason)
    return ok(run_id=run_id, erased=whole)


def _erase(tx: Transaction, r: Request, run_id: str, reason: str) -> None:
    tx.keep_evidence(run_id, Command(actor=r.actor), Rejection(ERASED_KIND, reason, evidence=True))
    key = tx.run(r.tenant, run_id)[0]
    tx.rows.erased[key.pk] = Erasure(to_micros(tx.now), r.actor.id, reason)


def _family(tx: Transaction, tenant: str, run_id: str) -> list[str]:
    """A run and all runs that it and its descendants started."""
    found, left = [], [run_id]
    while left:
        key, _, _ = tx.run(tenant, each := left.pop())
        found.append(each)
        children = {str(getattr(e, "child", "")) for e in tx.journal.events(key.pk)}
        left += sorted(c for c in children - {""} - set(found) if _find(tx, tenant, c) is not None)
    return found


def _find(tx: Transaction, tenant: str, run_id: str) -> RunState | None:
    found = tx.journal.rows("SELECT 1 FROM run r JOIN run_key k ON k.run = r.id WHERE r.tenant=? AND r.public_id=?"
                            " AND k.secret IS NOT NULL", (tenant, run_id))  # fmt: skip
    return tx.run(tenant, run_id)[2] if found else None


def _reason(r: Request, what: str) -> str:
    reason = str(r.args.get("reason") or "").strip()
    if not reason:
        raise InvalidInput(f"Expected a reason to {what}.", code="no_reason", remedy="Say why.")
    return reason[:1000]


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "seal": seal_ledger,
    "export_audit": export_audit,
    "hold_run": hold_run,
    "erase_run": erase_run,
}
