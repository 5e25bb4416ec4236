"""One command on many runs, with a preview; moving runs to another version."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.schemas import Bulk, Migrate, PreviewBulk
from signoff.engine.bulk_queries import RunFilter

router = APIRouter(tags=["runs"])
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=200)]


@router.post("/runs/bulk/preview", summary="Preview a command on many runs", dependencies=[allowed("bulk")])
def preview(body: PreviewBulk, signoff: Face, person: Caller) -> dict[str, Any]:
    """What the command would do to each run that fits, or why it cannot; nothing is changed.

    Send `sendable` as `items` to carry it out.
    """
    which = RunFilter(**{**body.which.model_dump(), "run_ids": tuple(body.which.run_ids)})
    found = signoff.queries.bulk.preview(person.tenant, actor_of(person), body.command, which, body.args)
    answer: dict[str, Any] = plain(found)
    return {**answer, "sendable": found.sendable}


@router.post("/runs/bulk", summary="Send a command to many runs")
def bulk(body: Bulk, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Exactly the runs of a preview; one that changed since is refused. All are recorded under one `bulk_id`."""
    return signoff.bulk(
        actor_of(person),
        person.tenant,
        body.command,
        [i.model_dump() for i in body.items],
        reason=body.reason,
        args=body.args,
        idempotency_key=key,
    )


@router.post("/runs/{run_id}/migrate", summary="Move to another version")
def migrate(run_id: str, body: Migrate, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """The run goes on under another published version of its definition."""
    return signoff.operate(
        "migrate_run",
        actor_of(person),
        person.tenant,
        run_id,
        plan=body.plan.model_dump(exclude_none=True) if body.plan else None,
        plan_id=body.plan_id,
        reason=body.reason,
        seen_sequence=body.seen_sequence,
        idempotency_key=key,
    )
