"""Who calls: a bearer token from `POST /api/session`. Tenant, identity and roles come from it, never from a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from signoff.api.limits import Limits
from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.permissions import who_may, words_of
from signoff.engine.views import Person
from signoff.errors import Forbidden, NotSignedIn, Unavailable

bearer = HTTPBearer(auto_error=False, description="The token answered by POST /api/session.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def caller(request: Request, credentials: Credentials) -> Person:
    """The account behind the bearer: a person's session, or a program's token.

    Raises:
        NotSignedIn: no bearer, or one that is not valid (any more).
        Unavailable: too many bad ones came from this address.
    """
    signoff: Signoff = request.app.state.signoff_api
    limits: Limits = request.app.state.limits
    address = request.client.host if request.client else ""
    person = signoff.queries.find_caller(credentials.credentials) if credentials else None
    if person is None:
        if credentials:
            limits.bad_bearer(address)
            _note_bad_bearer(signoff, address)
        raise NotSignedIn("This needs a valid bearer token.", remedy="Get one with POST /api/session.")
    if person.token and not signoff.queries.is_used_lately(person.tenant, person.token, NOTED_S):
        face = signoff.with_token(person.token)
        face.do("touch_token", actor_of(person), person.tenant, id=person.token)
    return person


def _note_bad_bearer(signoff: Signoff, address: str) -> None:
    """Count it in the store, together with those that came to other web processes.

    Raises:
        Unavailable: `too_many` came from this address.
    """
    try:
        signoff.do("bad_bearer", Actor("system", "web", channel="api"), "", address=address)
    except Unavailable as error:
        if error.code == "too_many":
            raise


Caller = Annotated[Person, Depends(caller)]


def signoff_of(request: Request, person: Caller) -> Signoff:
    """The engine's face of this application, for this caller."""
    found: Signoff = request.app.state.signoff_api
    return found.with_token(person.token) if person.token else found


def open_signoff(request: Request) -> Signoff:
    """The engine's face for those who have not signed in yet."""
    found: Signoff = request.app.state.signoff_api
    return found


Face = Annotated[Signoff, Depends(signoff_of)]
OpenFace = Annotated[Signoff, Depends(open_signoff)]
NOTED_S = 60.0
"""How exactly the last use of a token is kept."""


def actor_of(person: Person) -> Actor:
    """The caller as the engine records them."""
    return Actor(person.kind, person.login, person.name, "api", person.session_id)


def may(name: str) -> Callable[[Person], Person]:
    """A dependency that lets in only callers whose roles permit `name`."""

    def check(person: Caller) -> Person:
        if name not in person.may:
            raise Forbidden(
                f"Expected to {words_of(name)}, but that takes the role {who_may(name)}.",
                remedy="Ask someone who has it.",
            )
        return person

    return check


def allowed(name: str) -> Any:
    """`Depends` for `may`."""
    return Depends(may(name))
