"""Requests about migration plans: proposed by one, approved by another, applied to runs that are then moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.migration import plan_problems
from signoff.core.quorum import same_person
from signoff.core.rejection import Rejection
from signoff.engine.auditing import audit, audit_alone
from signoff.engine.ids import new_plan_id
from signoff.engine.moving import document_of, migration_of, target_of
from signoff.engine.request import Request, ok, refused
from signoff.engine.transaction import Transaction, required
from signoff.errors import InvalidInput, NotFound
from signoff.store.definitions import VersionRow, find_version
from signoff.store.migration_plans import StoredPlan, add_plan, find_plan, find_with_digest, settle_plan
from signoff.store.times import to_micros

Answer = dict[str, Any]
MAX_COMMENT_CHARS = 4_000


def propose(tx: Transaction, r: Request) -> Answer:
    """Store a plan for moving runs of one version to another; the same content gives the open proposal back.

    Raises:
        InvalidInput: the plan is wrong whatever the run; every problem is named.
    """
    name, reason = required(r.args, "definition"), _words(r, "reason", "to propose a migration plan")
    given = required(r.args, "plan", dict)
    source = _version(tx, r, name, required(r.args, "version", int))
    target = _version(tx, r, name, target_of(given))
    plans = tx.plan_of_version(source.id), tx.plan_of_version(target.id)
    migration = migration_of(given, *plans)
    problems = plan_problems(migration, *plans)
    if problems:
        message = " ".join(p.sentence for p in problems)
        raise InvalidInput(message, code="invalid_plan", problems=problems)
    same = find_with_digest(tx.journal.rows, r.tenant, migration.digest, "proposed", "approved")
    if same is not None:
        return ok(plan_id=same.plan_id, digest=same.digest, status=same.status, created=False)
    plan_id, at = new_plan_id(tx.now), to_micros(tx.now)
    document = document_of(migration, target.version)

    def write(journal: Any) -> None:
        versions = (source.version, target.version)
        add_plan(journal, r.tenant, source.definition_id, plan_id, versions, migration.digest, document, reason,
                 r.actor.id, at)  # fmt: skip
        audit(tx, r, plan_id, f"{migration.digest}: {reason}")

    tx.direct(write)
    return ok(plan_id=plan_id, digest=migration.digest, status="proposed", created=True)


def decide(tx: Transaction, r: Request) -> Answer:
    """Approve or reject a proposal; never one's own."""
    plan, outcome = _plan(tx, r), required(r.args, "outcome")
    if outcome not in ("approved", "rejected"):
        raise InvalidInput(f"'{outcome[:40]}' is no decision on a plan.", remedy="Use approved or rejected.")
    comment = _words(r, "comment", "to reject a plan") if outcome == "rejected" else _text(r, "comment")
    wanted = f"Expected to {'approve' if outcome == 'approved' else 'reject'} the plan '{plan.plan_id}'"
    if plan.status == outcome and same_person(plan.decided_by, r.actor.id):
        return ok(plan_id=plan.plan_id, status=outcome)
    if plan.status != "proposed":
        return _refuse(tx, r, plan, "plan_settled", f"{wanted}, but it is {plan.status}.", "Propose it again.")
    if same_person(plan.proposed_by, r.actor.id):
        return _refuse(tx, r, plan, "own_plan", f"{wanted}, but you proposed it yourself.", "Ask another publisher.")
    return _settle(tx, r, plan, outcome, comment)


def withdraw(tx: Transaction, r: Request) -> Answer:
    """No run is moved by it any more; runs that were moved stay where they are."""
    plan, reason = _plan(tx, r), _words(r, "reason", "to withdraw a plan")
    if plan.status not in ("proposed", "approved"):
        message = f"Expected to withdraw the plan '{plan.plan_id}', but it is {plan.status}."
        return _refuse(tx, r, plan, "plan_settled", message, "Nothing to do.")
    return _settle(tx, r, plan, "withdrawn", reason)


def _settle(tx: Transaction, r: Request, plan: StoredPlan, status: str, comment: str) -> Answer:
    def write(journal: Any) -> None:
        settle_plan(journal, r.tenant, plan.plan_id, status, r.actor.id, to_micros(tx.now), comment)
        audit(tx, r, plan.plan_id, f"{status} {plan.digest}: {comment}")

    tx.direct(write)
    return ok(plan_id=plan.plan_id, status=status)


def _refuse(tx: Transaction, r: Request, plan: StoredPlan, code: str, message: str, remedy: str) -> Answer:
    audit_alone(tx, r, plan.plan_id, message, outcome="refused")
    return refused(Rejection(code, message, remedy))


def _plan(tx: Transaction, r: Request) -> StoredPlan:
    plan_id = required(r.args, "plan_id")
    found = find_plan(tx.journal.rows, r.tenant, plan_id)
    if found is None:
        raise NotFound(f"There is no migration plan '{plan_id[:60]}'.", remedy="Check the id.")
    return found


def _version(tx: Transaction, r: Request, name: str, number: int) -> VersionRow:
    found = find_version(tx.journal, r.tenant, name, number)
    if found is None:
        raise NotFound(f"There is no version {number} of '{name[:60]}'.", remedy="Check the number.")
    return found


def _words(r: Request, name: str, wanted: str) -> str:
    words = _text(r, name)
    if not words:
        raise InvalidInput(f"Expected a {name} {wanted}.", code=f"no_{name}", remedy="Say why.")
    return words


def _text(r: Request, name: str) -> str:
    return str(r.args.get(name) or "").strip()[:MAX_COMMENT_CHARS]


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "propose_migration": propose,
    "decide_migration": decide,
    "withdraw_migration": withdraw,
}
