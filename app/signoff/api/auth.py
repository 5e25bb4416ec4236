"""Who calls: a bearer token from `POST /api/session`. Tenant, identity and roles come from it, never from a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.permissions import permitted, who_may, words_of
from signoff.engine.views import Person
from signoff.errors import Forbidden, NotSignedIn

bearer = HTTPBearer(auto_error=False, description="The token answered by POST /api/session.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def signoff_of(request: Request) -> Signoff:
    """The engine's face of this application."""
    found: Signoff = request.app.state.signoff_api
    return found


Face = Annotated[Signoff, Depends(signoff_of)]


def caller(signoff: Face, credentials: Credentials) -> Person:
    """The person behind the token.

    Raises:
        NotSignedIn: no token, or one that is not valid (any more).
    """
    person = signoff.queries.find_session(credentials.credentials) if credentials else None
    if person is None:
        raise NotSignedIn("This needs a valid bearer token.", remedy="Get one with POST /api/session.")
    return person


Caller = Annotated[Person, Depends(caller)]


def actor_of(person: Person) -> Actor:
    """The caller as the engine records them."""
    return Actor("person", person.login, person.name, "api")


def may(name: str) -> Callable[[Person], Person]:
    """A dependency that lets in only callers whose roles permit `name`."""

    def check(person: Caller) -> Person:
        if name not in permitted(person.roles):
            raise Forbidden(
                f"Expected to {words_of(name)}, but that takes the role {who_may(name)}.",
                remedy="Ask someone who has it.",
            )
        return person

    return check


def allowed(name: str) -> Any:
    """`Depends` for `may`."""
    return Depends(may(name))
