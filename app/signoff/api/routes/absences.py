"""Absences, in which somebody else decides."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from signoff.api.auth import Caller, Face, actor_of
from signoff.api.plain import plain
from signoff.api.schemas import NewAbsence
from signoff.errors import Forbidden

router = APIRouter(tags=["absences"])


@router.get("/absences", summary="List absences")
def list_absences(
    signoff: Face,
    person: Caller,
    everybody: Annotated[bool, Query(description="By administrators and auditors: of all accounts.")] = False,
    everything: Annotated[bool, Query(description="Also those that are over or were revoked.")] = False,
) -> dict[str, Any]:
    """`own`: one's own; `for_others`: those in which the caller decides; with `everybody`, `all`."""
    queries, tenant, login = signoff.queries, person.tenant, person.login
    if everybody and "read_people" not in person.may:
        raise Forbidden("Only an administrator or auditor sees the absences of others.", remedy="Ask one.")
    if everybody:
        return {"all": [plain(a) for a in queries.list_absences(tenant, everything=everything)]}
    own = queries.list_absences(tenant, person=login, everything=everything)
    others = queries.list_absences(tenant, delegate=login, everything=everything)
    return {"own": [plain(a) for a in own], "for_others": [plain(a) for a in others]}


@router.post("/absences", summary="Record an absence", status_code=201)
def set_absence(body: NewAbsence, signoff: Face, person: Caller) -> dict[str, Any]:
    """Somebody is absent, and another decides for them meanwhile. Who is absent themselves then cannot be named."""
    given = {name: value for name, value in body.model_dump().items() if value}
    return signoff.do("set_absence", actor_of(person), person.tenant, **given)


@router.delete("/absences/{number}", summary="Revoke an absence")
def revoke_absence(
    number: Annotated[int, Path(ge=1, le=2**53)],
    signoff: Face,
    person: Caller,
    reason: Annotated[str, Query(max_length=1_000, description="Needed for somebody else's.")] = "",
) -> dict[str, Any]:
    """It ends at once; what was decided meanwhile stands."""
    return signoff.do("revoke_absence", actor_of(person), person.tenant, id=number, reason=reason)
