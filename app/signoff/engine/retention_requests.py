"""How long ended runs are kept: the tenant's rule, and the engine's own request that removes what is due."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from signoff.core.retention import Retention, read_retention, write_retention
from signoff.engine.auditing import audit
from signoff.engine.request import Request, ok, refused
from signoff.engine.signing import unconfirmed
from signoff.errors import InvalidInput
from signoff.store import retention as s
from signoff.store.times import to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

Answer = dict[str, Any]
MAX_EVENTS = 5_000
"""A commit that removes runs ends with the one that reaches as many events."""


def set_retention(tx: Transaction, r: Request) -> Answer:
    """Replace the rule of the tenant; without `days` runs are kept for ever.

    Raises:
        InvalidInput: no reason, or a rule that cannot be read; every problem is listed.
    """
    document, reason = r.args.get("retention"), str(r.args.get("reason") or "").strip()
    if not isinstance(document, dict):
        raise InvalidInput("'retention' is missing or has the wrong type.", remedy="Correct the request.")
    rule, problems = read_retention(document)
    if problems:
        listed = tuple({"field": "retention", "message": p, "remedy": "Correct it."} for p in problems)
        raise InvalidInput(" ".join(problems), code="invalid_retention", remedy="Correct it.", problems=listed)
    if not reason:
        raise InvalidInput("Expected a reason to change how long runs are kept.", code="no_reason", remedy="Say why.")
    if wrong := unconfirmed(tx, r, "change how long runs are kept"):
        return refused(wrong)
    before, after = write_retention(s.load_retention(tx.journal, r.tenant)), write_retention(rule)

    def write(journal: Any) -> None:
        s.save_retention(journal, r.tenant, rule)
        audit(tx, r, "retention", f"{reason[:1000]} Before: {before}. After: {after}.")

    tx.direct(write)
    return ok(retention=after)


def prune_runs(tx: Transaction, r: Request) -> Answer:
    """The engine's own request: remove those of some ended runs that are due, each with the runs it started.

    Everything is looked at again: what is open, on hold, not due any more, or in no checkpoint yet stays, and so
    does every run whose parent or child does.
    """
    rule, at = s.load_retention(tx.journal, r.tenant), to_micros(tx.now)
    going: dict[str, s.EndedRun] = {}
    left = [str(run_id) for run_id in r.args.get("runs") or ()]
    while left and sum(x.events for x in going.values()) < MAX_EVENTS:
        run_id = left.pop(0)
        if run_id not in going:
            going.update({x.run_id: x for x in _family(tx, r.tenant, run_id, rule, at)})
    gone = list(going.values())

    def write(journal: Any) -> None:
        s.remove_runs(journal, str(r.args["origin"]), r.tenant, gone, rule, at)
        audit(tx, r, f"{len(gone)} runs", f"Rule: {write_retention(rule)}.")

    if gone:
        tx.direct(write)
        tx.rows.removed += going
    return ok(pruned=[x.run_id for x in gone], left=left)


def _family(tx: Transaction, tenant: str, run_id: str, rule: Retention, at: int) -> list[s.EndedRun]:
    root = s.find_ended(tx.journal, tenant, run_id)
    if root is None or s.why_kept(root, rule, at) or run_id in tx.working:
        return []
    parent = tx.direct(lambda journal: s.parent_of(journal, root))
    if parent and s.find_ended(tx.journal, tenant, parent) is not None:
        return []
    whole = s.family_of(tx.journal, tenant, root)
    kept = any(s.why_kept(x, rule, at) or x.run_id in tx.working for x in whole)
    return [] if kept else whole


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "set_retention": set_retention,
    "prune_runs": prune_runs,
}
