"""The limits of the tenant, and what it uses of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.schemas import SetLimits
from signoff.engine.limit_queries import limits_document

router = APIRouter(tags=["limits"])


@router.get("/limits", summary="Limits and what is used", dependencies=[allowed("read_limits")])
def show(signoff: Face, person: Caller) -> dict[str, Any]:
    """`limits` holds what was set; what is not there has its default."""
    return limits_document(signoff.queries.limits.view(person.tenant))


@router.put("/limits", summary="Set the limits", dependencies=[allowed("set_limits")])
def set_limits(body: SetLimits, signoff: Face, person: Caller) -> dict[str, Any]:
    """Replaces all of them; what is not named goes back to its default. The change is audited with its reason."""
    return signoff.do("set_limits", actor_of(person), person.tenant, limits=body.limits, reason=body.reason)
