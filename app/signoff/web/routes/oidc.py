"""Signing in at a provider. Coming back makes a session and nothing else; only the browser that left may come back."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from signoff import errors
from signoff.connectors.oidc import Identity, Pending, Provider
from signoff.core.states import Actor
from signoff.web.plain import answer_page
from signoff.web.session import local_path
from signoff.web.site import Site

AWAY_S = 600


def oidc_router(site: Site, provider: Provider) -> APIRouter:
    """Routes `/login/oidc` and `/login/oidc/callback`."""
    router = APIRouter(include_in_schema=False)
    settings = site.settings
    cookie = "__Host-signoff-away" if settings.secure_cookies else "signoff-away"

    @router.get("/login/oidc")
    def leave(request: Request, next: str = "/", again: str = "") -> Response:
        """Off to the provider."""
        try:
            url, pending = provider.begin(again=bool(again))
        except errors.SignoffError as error:
            return _failed(request, error)
        response = RedirectResponse(url, 303)
        kept = json.dumps({**asdict(pending), "next": local_path(next)}).encode()
        response.set_cookie(
            cookie, urlsafe_b64encode(kept).decode(), max_age=AWAY_S, path="/", httponly=True,
            secure=settings.secure_cookies, samesite="lax",
        )  # fmt: skip
        return response

    @router.get("/login/oidc/callback")
    def come_back(
        request: Request,
        code: Annotated[str, Query(max_length=4_000)] = "",
        state: Annotated[str, Query(max_length=400)] = "",
    ) -> Response:
        """Back from the provider."""
        try:
            pending, target = _kept(request.cookies.get(cookie, ""))
            if not code or not hmac.compare_digest(pending.state.encode(), state.encode("utf-8", "replace")):
                raise errors.NotSignedIn("The provider did not sign you in.", code="bad_state", remedy="Try again.")
            who = provider.finish(code, pending)
            session = _begin_session(site, request, who)
        except errors.SignoffError as error:
            return _failed(request, error)
        response = RedirectResponse(target, 303)
        response.delete_cookie(cookie, path="/", secure=settings.secure_cookies, httponly=True)
        response.set_cookie(
            settings.session_cookie, session, path="/", httponly=True, secure=settings.secure_cookies,
            samesite="lax",
        )  # fmt: skip
        return response

    return router


def _begin_session(site: Site, request: Request, who: Identity) -> str:
    told: dict[str, Any] = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(who).items()}
    address = request.client.host if request.client else ""
    agent = request.headers.get("user-agent", "")[:200]
    actor = Actor("person", who.login, who.name, "web")
    answer = site.signoff.do("sign_in_oidc", actor, site.tenant, **told, address=address, agent=agent)
    return str(answer["session"])


def _kept(text: str) -> tuple[Pending, str]:
    try:
        found = json.loads(urlsafe_b64decode(text[:4_000].encode()))
        pending = Pending(
            str(found["state"]), str(found["nonce"]), str(found["verifier"]), int(found.get("asked_again") or 0)
        )
        return pending, local_path(str(found["next"]))
    except (ValueError, KeyError, TypeError):
        words = "This sign-in was not begun in this browser, or too long ago."
        raise errors.NotSignedIn(words, code="bad_state", remedy="Begin again.") from None


def _failed(request: Request, error: errors.SignoffError) -> Response:
    status = 503 if isinstance(error, errors.Unavailable) else 403 if isinstance(error, errors.Forbidden) else 401
    return answer_page(request, "Not signed in", [error.message, error.remedy], [("/login", "Sign in")], status=status)
