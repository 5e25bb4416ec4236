"""Approvals that wait for the caller."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from signoff.api.auth import Caller, Face, actor_of
from signoff.api.plain import plain
from signoff.api.routes.runs import Key
from signoff.api.schemas import Decision
from signoff.errors import NotFound

router = APIRouter(tags=["inbox"])


@router.get("/inbox", summary="List open approvals")
def list_inbox(
    signoff: Face, person: Caller, cursor: str | None = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> dict[str, Any]:
    """What the caller is asked to decide, oldest first."""
    answer: dict[str, Any] = plain(signoff.queries.list_inbox(person.tenant, person.login, cursor=cursor, limit=limit))
    return answer


@router.get("/inbox/{run_id}/{step}", summary="Read an approval")
def read(run_id: str, step: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """Exactly what is shown; 404 for whoever is not asked."""
    found = signoff.queries.find_task(person.tenant, person.login, run_id, step)
    if found is None:
        raise NotFound("There is no such approval for you.", remedy="Look into your inbox.")
    answer: dict[str, Any] = plain(found)
    return answer


@router.post("/inbox/{run_id}/{step}/decision", summary="Decide")
def decide(run_id: str, step: str, body: Decision, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Approve, reject or return what was read; refused where it changed meanwhile, or was handled already."""
    if signoff.queries.find_task(person.tenant, person.login, run_id, step) is None:
        signoff.queries.get_run(person.tenant, run_id, reader=person)
    return signoff.decide(
        actor_of(person),
        person.tenant,
        run_id,
        step,
        body.outcome,
        generation=body.generation,
        comment=body.comment,
        shown_digest=body.shown_digest,
        to=body.to,
        idempotency_key=key,
    )
