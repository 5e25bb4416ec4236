"""Signing in and out, and who one is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from signoff.api.auth import Caller, Credentials, Face, OpenFace
from signoff.api.plain import plain
from signoff.api.schemas import SignIn
from signoff.errors import Forbidden

router = APIRouter(tags=["session"])
TENANT = "default"


@router.post("/session", summary="Sign in")
def sign_in(body: SignIn, request: Request, signoff: OpenFace) -> dict[str, Any]:
    """Answers a bearer token and when it expires. Failed attempts are counted and slowed down."""
    address = request.client.host if request.client else ""
    agent = request.headers.get("user-agent", "")
    answer = signoff.sign_in(TENANT, body.login, body.password, address=address, agent=agent)
    return {"token": answer["session"], "expires_at": answer["expires_at"], "login": answer["login"]}


@router.delete("/session", summary="Sign out", status_code=204)
def sign_out(signoff: Face, person: Caller, credentials: Credentials) -> None:
    """The token is worth nothing afterwards."""
    assert credentials is not None
    if person.token:
        raise Forbidden("A token does not sign out.", remedy="Revoke it.")
    signoff.sign_out(person.tenant, credentials.credentials)


@router.get("/me", summary="Who am I?")
def me(person: Caller) -> dict[str, Any]:
    """The caller's account and what it may do."""
    return {**plain(person, frozenset({"session_id", "token"})), "may": sorted(person.may)}
