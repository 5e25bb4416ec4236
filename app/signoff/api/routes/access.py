"""Accounts, one's own sessions, and tokens of programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.schemas import NewToken, SavePerson
from signoff.engine.views import Person
from signoff.errors import Forbidden

router = APIRouter(tags=["access"])
Login = Annotated[str, Path(max_length=200)]


def _in_person(person: Person) -> Person:
    """No token looks at, makes or ends credentials."""
    if person.token:
        raise Forbidden("A token may not do this.", code="not_in_scope", remedy="Sign in as a person.")
    return person


@router.get("/people", summary="List accounts", dependencies=[allowed("read_people")])
def list_people(signoff: Face, person: Caller) -> list[dict[str, Any]]:
    """People and services with their roles and groups."""
    hidden = frozenset({"session_id", "token", "scopes"})
    return [plain(p, hidden) for p in signoff.queries.list_people(person.tenant)]


@router.put("/people/{login}", summary="Create or change an account")
def save_person(login: Login, body: SavePerson, signoff: Face, person: Caller) -> dict[str, Any]:
    """What is left out stays. Closing an account, another role or password ends its sessions."""
    return signoff.do("save_person", actor_of(person), person.tenant, login=login, **body.model_dump())


@router.get("/sessions", summary="List one's own sessions")
def list_sessions(signoff: Face, person: Caller) -> list[dict[str, Any]]:
    """Where one is signed in, the newest first."""
    return [plain(s) for s in signoff.queries.list_sessions(_in_person(person))]


@router.delete("/sessions", summary="Sign out everywhere")
def end_sessions(
    signoff: Face,
    person: Caller,
    login: Annotated[str, Query(max_length=200, description="By administrators: whose sessions.")] = "",
) -> dict[str, Any]:
    """Ends all sessions, this one too; open pages close within seconds."""
    return signoff.do("end_sessions", actor_of(person), person.tenant, login=login)


@router.delete("/sessions/{session}", summary="End one session")
def end_session(session: Annotated[str, Path(max_length=100)], signoff: Face, person: Caller) -> dict[str, Any]:
    """One of one's own."""
    return signoff.do("end_sessions", actor_of(person), person.tenant, id=session)


@router.get("/tokens", summary="List tokens of programs")
def list_tokens(
    signoff: Face,
    person: Caller,
    everybody: Annotated[bool, Query(description="By administrators: of all accounts.")] = False,
) -> list[dict[str, Any]]:
    """One's own, without their secrets."""
    if everybody and "save_person" not in _in_person(person).may:
        raise Forbidden("Only an administrator sees the tokens of others.", remedy="Ask one.")
    login = "" if everybody else _in_person(person).login
    return [plain(t) for t in signoff.queries.list_tokens(person.tenant, login)]


@router.post("/tokens", summary="Make a token for a program", status_code=201)
def create_token(body: NewToken, signoff: Face, person: Caller) -> dict[str, Any]:
    """Its secret is in this answer and nowhere else."""
    return signoff.do("create_token", actor_of(person), person.tenant, **body.model_dump())


@router.delete("/tokens/{number}", summary="Revoke a token")
def revoke_token(number: Annotated[int, Path(ge=1, le=2**53)], signoff: Face, person: Caller) -> dict[str, Any]:
    """One's own, or as an administrator anybody's; it is refused from the next request on."""
    return signoff.do("revoke_token", actor_of(person), person.tenant, id=number)
