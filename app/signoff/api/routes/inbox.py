"""Approvals and forms that wait for the caller."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.routes.runs import Key
from signoff.api.schemas import Decision, Return, Submission, Withdrawal
from signoff.engine.client import Signoff
from signoff.engine.views import Person
from signoff.errors import NotFound

router = APIRouter(tags=["inbox"])


@router.get("/inbox", summary="List open approvals and forms", dependencies=[allowed("read_inbox")])
def list_inbox(
    signoff: Face, person: Caller, cursor: str | None = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> dict[str, Any]:
    """What the caller is asked to decide or fill in, oldest first."""
    answer: dict[str, Any] = plain(signoff.queries.list_inbox(person.tenant, person.login, cursor=cursor, limit=limit))
    return answer


@router.get("/inbox/{run_id}/{step}", summary="Read an approval or a form", dependencies=[allowed("read_inbox")])
def read(run_id: str, step: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """Exactly what is shown, with the fields of a form; 404 for whoever is not asked."""
    found = signoff.queries.find_task(person.tenant, person.login, run_id, step)
    if found is None:
        raise NotFound("Nothing of this step waits for you.", remedy="Look into your inbox.")
    answer: dict[str, Any] = plain(found)
    return answer


@router.post("/inbox/{run_id}/{step}/decision", summary="Decide")
def decide(run_id: str, step: str, body: Decision, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Approve, reject or return what was read; refused where it changed meanwhile, or was handled already."""
    _may_know(run_id, step, signoff, person)
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
        password=body.password,
        values=body.values,
        on_behalf_of=body.on_behalf_of,
        idempotency_key=key,
    )


@router.post("/inbox/{run_id}/{step}/withdrawal", summary="Withdraw a vote")
def withdraw(run_id: str, step: str, body: Withdrawal, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Takes the caller's own vote back while the approval is open; they may vote again."""
    _may_know(run_id, step, signoff, person)
    return signoff.withdraw_vote(
        actor_of(person),
        person.tenant,
        run_id,
        step,
        generation=body.generation,
        comment=body.comment,
        idempotency_key=key,
    )


@router.post("/inbox/{run_id}/{step}/submission", summary="Fill in a form")
def submit(run_id: str, step: str, body: Submission, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """The first valid submission settles the form; 422 names every wrong field, and nothing is stored then."""
    _may_know(run_id, step, signoff, person)
    return signoff.submit_form(
        actor_of(person),
        person.tenant,
        run_id,
        step,
        body.values,
        generation=body.generation,
        shown_digest=body.shown_digest,
        on_behalf_of=body.on_behalf_of,
        idempotency_key=key,
    )


@router.post("/inbox/{run_id}/{step}/return", summary="Return a form")
def send_back(run_id: str, step: str, body: Return, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Sends the work back to an earlier step that the form offers."""
    _may_know(run_id, step, signoff, person)
    return signoff.return_form(
        actor_of(person),
        person.tenant,
        run_id,
        step,
        body.comment,
        generation=body.generation,
        shown_digest=body.shown_digest,
        to=body.to,
        on_behalf_of=body.on_behalf_of,
        idempotency_key=key,
    )


def _may_know(run_id: str, step: str, signoff: Signoff, person: Person) -> None:
    """404 for whoever is neither asked nor may see the run."""
    if signoff.queries.find_task(person.tenant, person.login, run_id, step) is None:
        signoff.queries.get_run(person.tenant, run_id, reader=person)
