"""Messages from outside for steps that wait for one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.routes.runs import Key
from signoff.api.schemas import Discard, Signal
from signoff.store.reads.signals import STATUSES

router = APIRouter(tags=["signals"])


@router.get("/signals", summary="List messages", dependencies=[allowed("read_signals")])
def list_signals(
    signoff: Face,
    person: Caller,
    name: str = "",
    key: str = "",
    status: Annotated[str, Query(pattern=f"^({'|'.join(STATUSES)})?$")] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """The newest first: kept for a step to come, used, refused, discarded or expired."""
    page = signoff.queries.list_signals(person.tenant, name=name, key=key, status=status, cursor=cursor, limit=limit)
    answer: dict[str, Any] = plain(page)
    return answer


@router.post("/signals/{name}", summary="Send a message", status_code=202)
def send(name: str, body: Signal, signoff: Face, person: Caller, idempotency: Key = "") -> dict[str, Any]:
    """Used by the step that has waited longest, or kept; the same id and payload again get the same answer."""
    return signoff.send_signal(
        actor_of(person),
        person.tenant,
        name,
        body.key,
        body.payload,
        message_id=body.id,
        keep=body.keep,
        idempotency_key=idempotency,
    )


@router.post("/signals/{name}/discard", summary="Discard a kept message")
def discard(name: str, body: Discard, signoff: Face, person: Caller, idempotency: Key = "") -> dict[str, Any]:
    """It will not be used; its row stays, with the reason."""
    return signoff.do(
        "discard_signal",
        actor_of(person),
        person.tenant,
        idempotency_key=idempotency,
        name=name,
        key=body.key,
        id=body.id,
        reason=body.reason,
    )
