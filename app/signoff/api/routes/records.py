"""How long records are kept, what is left of those that were removed, and the keys that protect them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.schemas import PreviewRetention, RotateKeys, SetRetention
from signoff.engine.key_queries import keys_document
from signoff.engine.retention_queries import preview_document, rule_document, tombstone_document

router = APIRouter(tags=["audit"])


@router.get("/retention", summary="How long ended runs are kept", dependencies=[allowed("read_retention")])
def show(signoff: Face, person: Caller) -> dict[str, Any]:
    """The rule, and by version what it would remove now."""
    return rule_document(signoff.queries.retention, person.tenant)


@router.post("/retention/preview", summary="What a rule would remove", dependencies=[allowed("read_retention")])
def preview(body: PreviewRetention, signoff: Face, person: Caller) -> dict[str, Any]:
    """Counts by version as of now; nothing is written. Runs on hold are counted in `held` and stay."""
    found = signoff.queries.retention.preview(person.tenant, body.retention)
    return {"preview": preview_document(found), "due": sum(x.due - x.held for x in found)}


@router.put("/retention", summary="Set how long ended runs are kept", dependencies=[allowed("set_retention")])
def set_retention(body: SetRetention, signoff: Face, person: Caller) -> dict[str, Any]:
    """Replaces the rule. The change is audited with its reason; what is due then is removed within ten minutes."""
    do, who = signoff.do, actor_of(person)
    return do("set_retention", who, person.tenant, retention=body.retention, reason=body.reason, password=body.password)


@router.get("/retention/tombstones", summary="Runs that were removed", dependencies=[allowed("read_retention")])
def tombstones(signoff: Face, person: Caller, cursor: str = "", limit: int = 50) -> dict[str, Any]:
    """The newest first. Each is a leaf of the tenant's signed tree."""
    page = signoff.queries.retention.list_tombstones(person.tenant, cursor=cursor or None, limit=limit)
    return {"items": [tombstone_document(x) for x in page.items], "next_cursor": page.next_cursor}


@router.get("/keys", summary="Which keys there are", dependencies=[allowed("read_keys")])
def keys(signoff: Face, person: Caller) -> dict[str, Any]:
    """Kind, id, state, age and use of each, never a key itself; `under_way` names the kinds that are being replaced."""
    return keys_document(signoff.queries.keys, person.tenant)


@router.post("/keys/rotate", summary="Make a new key", status_code=202, dependencies=[allowed("rotate_keys")])
def rotate_keys(body: RotateKeys, signoff: Face, person: Caller) -> dict[str, Any]:
    """Old data stays readable: what the old key wraps is wrapped anew in the background, then that key is destroyed."""
    do, who = signoff.do, actor_of(person)
    return do("rotate_keys", who, person.tenant, what=body.what, reason=body.reason, password=body.password)
