"""Letters to people and chat tools: what was sent, what was given up, and sending it again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.schemas import Reason

router = APIRouter(tags=["letters"])


@router.get("/letters", summary="List letters", dependencies=[allowed("read_deliveries")])
def list_letters(
    signoff: Face,
    person: Caller,
    status: str = "",
    run_id: Annotated[str, Query(max_length=100)] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """Mails and chat notices, the newest first; `dead` ones were given up and wait for an operator."""
    answer: dict[str, Any] = plain(
        signoff.queries.list_deliveries(person.tenant, status=status, run_id=run_id, cursor=cursor, limit=limit)
    )
    return answer


@router.post("/letters/{number}/retry", summary="Send a letter again")
def retry(number: Annotated[int, Path(ge=1, le=2**53)], body: Reason, signoff: Face, person: Caller) -> dict[str, Any]:
    """For a letter that was given up; it gets a new link."""
    return signoff.do("retry_delivery", actor_of(person), person.tenant, id=number, reason=body.reason)
