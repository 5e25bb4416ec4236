"""Migration plans: proposed, tried out, approved by somebody else, withdrawn. Runs are moved with a bulk command."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.schemas import DecideMigration, ProposeMigration, Reason
from signoff.engine.bulk_queries import RunFilter

router = APIRouter(tags=["migrations"])


@router.get("/migrations", summary="List migration plans", dependencies=[allowed("read_migrations")])
def list_plans(
    signoff: Face,
    person: Caller,
    definition: str = "",
    cursor: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Any:
    """The newest first, one page at a time."""
    return plain(signoff.queries.plans.list(person.tenant, definition=definition, cursor=cursor or None, limit=limit))


@router.post("/migrations", summary="Propose a migration plan", dependencies=[allowed("propose_migration")])
def propose(body: ProposeMigration, signoff: Face, person: Caller) -> dict[str, Any]:
    """Steps that are not named are proposed: those that can be recognised go on. Answers the plan's id and digest."""
    plan = body.plan.model_dump(exclude_none=True)
    return signoff.do("propose_migration", actor_of(person), person.tenant, definition=body.definition,
                      version=body.version, plan=plan, reason=body.reason)  # fmt: skip


@router.get("/migrations/{plan_id}", summary="A migration plan", dependencies=[allowed("read_migrations")])
def show(plan_id: str, signoff: Face, person: Caller) -> Any:
    """What it does, who proposed it, what became of it."""
    return plain(signoff.queries.plans.get(person.tenant, plan_id))


@router.get("/migrations/{plan_id}/dry-run", summary="Try a plan out", dependencies=[allowed("bulk")])
def dry_run(plan_id: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """For each open run of the plan's version: can, or cannot and why. `sendable` goes into a bulk command."""
    view = signoff.queries.plans.get(person.tenant, plan_id)
    which = RunFilter(definition=view.definition, version=view.source_version)
    args = {"plan_id": plan_id}
    found = signoff.queries.bulk.preview(person.tenant, actor_of(person), "migrate_run", which, args)
    answer: dict[str, Any] = plain(found)
    return {**answer, "sendable": found.sendable}


@router.post("/migrations/{plan_id}/decision", summary="Approve or reject a plan",
             dependencies=[allowed("decide_migration")])  # fmt: skip
def decide(plan_id: str, body: DecideMigration, signoff: Face, person: Caller) -> dict[str, Any]:
    """Never one's own proposal. Moving runs still is an operator's command."""
    return signoff.do("decide_migration", actor_of(person), person.tenant, plan_id=plan_id, outcome=body.outcome,
                      comment=body.comment)  # fmt: skip


@router.post("/migrations/{plan_id}/withdraw", summary="Withdraw a plan", dependencies=[allowed("withdraw_migration")])
def withdraw(plan_id: str, body: Reason, signoff: Face, person: Caller) -> dict[str, Any]:
    """No run is moved by it any more."""
    return signoff.do("withdraw_migration", actor_of(person), person.tenant, plan_id=plan_id, reason=body.reason)
