"""The web process: Panel pages, plain forms, REST and static files in one ASGI application on one port."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import EMPTY_LAYOUT
from bokeh.server.auth import AuthPolicy
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from panel.io.fastapi import add_applications
from starlette.exceptions import HTTPException

from signoff import errors
from signoff.web import files
from signoff.web.doors import BodyLimit, Doors
from signoff.web.headers import SecurityHeaders, outcome
from signoff.web.live import Live
from signoff.web.pages import PAGES
from signoff.web.plain import answer_page, status_of
from signoff.web.routes.access import access_router
from signoff.web.routes.decide import decide_router, withdraw_router
from signoff.web.routes.evidence import evidence_router
from signoff.web.routes.files import files_router
from signoff.web.routes.link import link_router
from signoff.web.routes.login import login_router
from signoff.web.routes.oidc import oidc_router
from signoff.web.routes.submit import submit_router
from signoff.web.session import Gate, OpenPages
from signoff.web.settings import SCHEME_COOKIE, THEME_COOKIE, VIEW_COOKIE, WebSettings
from signoff.web.shell import failed_page
from signoff.web.site import Site, Visitor
from signoff.web.static import StaticCache

if TYPE_CHECKING:
    from signoff.engine.client import Signoff

log = logging.getLogger(__name__)

SESSION_CHECK_S = 3.0
"""Open pages of a session that ended elsewhere are closed within this time (security list, 13)."""
UNUSED_SESSION_MS = 20_000


def create_app(signoff: Signoff, settings: WebSettings) -> FastAPI:
    """The whole browser application.

    Args:
        signoff: the engine's face; embedded or behind a socket.
        settings: see `WebSettings`.
    """
    site = Site(signoff, settings, Live(signoff.feed), Gate(signoff, settings), OpenPages())
    app = FastAPI(title="Signoff", docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan(site))
    app.state.site = site
    app.include_router(login_router(site))
    app.include_router(decide_router(site))
    app.include_router(withdraw_router(site))
    app.include_router(submit_router(site))
    app.include_router(evidence_router(site))
    app.include_router(link_router(site))
    app.include_router(files_router(site))
    app.include_router(access_router(site))
    if settings.provider is not None:
        app.include_router(oidc_router(site, settings.provider))
    for router in settings.routers:
        app.include_router(router, prefix="/api")
    _serve_files(app)
    _add_pages(app, site)
    app.add_exception_handler(HTTPException, _not_there)
    app.add_exception_handler(RequestValidationError, _not_filled)
    app.add_middleware(StaticCache)
    app.add_middleware(BodyLimit)
    app.add_middleware(Doors, origins=settings.origins)
    app.add_middleware(SecurityHeaders, secure=settings.secure_cookies)
    return app


def _add_pages(app: FastAPI, site: Site) -> None:
    pn.extension()
    # Buttons added to an open page send themselves along with their clicks; Bokeh warns, and nothing is wrong.
    warnings.filterwarnings("ignore", message="reference already known")
    silence(EMPTY_LAYOUT)  # our rows of buttons are empty where nothing may be done
    policy = AuthPolicy(site.gate.authenticate, login_url=site.gate.login_url)
    site.gate.panel = add_applications(
        {path: _opener(site, page) for path, page in PAGES.items()},
        app=app,
        auth_policy=policy,
        index_enabled=False,
        ico_path="none",
        include_headers=["host"],
        include_cookies=[THEME_COOKIE, SCHEME_COOKIE, VIEW_COOKIE],
        websocket_origin=list(site.settings.origins) or None,
        unused_session_lifetime_milliseconds=UNUSED_SESSION_MS,
        check_unused_sessions_milliseconds=5_000,
    )


def _opener(site: Site, page: Callable[[Visitor, dict[str, str]], Any]) -> Callable[[], Any]:
    """A function that builds one page for one visitor; what goes wrong meanwhile is said on a page."""

    def open_page() -> Any:
        visitor = Visitor(site)
        try:
            return page(visitor, dict(pn.state.route_params or {}))
        except errors.SignoffError as error:
            outcome.get({})["status"] = status_of(error)
            return failed_page(visitor, error)

    return open_page


def _serve_files(app: FastAPI) -> None:
    kept = files.served()

    @app.get("/assets/{name}", include_in_schema=False)
    def asset(name: str) -> Response:
        if name not in kept:
            raise HTTPException(404)
        media_type, text = kept[name]
        return Response(text, media_type=media_type)


def _not_there(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if request.url.path.startswith("/api/"):
        return Response(status_code=status)
    words = "There is no such page." if status == 404 else "This request cannot be answered here."
    return answer_page(
        request, "Not found" if status == 404 else "Not possible", [words], [("/", "Go on")], status=status
    )


def _not_filled(request: Request, _: Exception) -> Response:
    """A form that is incomplete or too long; what it held (a password, perhaps) is not repeated."""
    if request.url.path.startswith("/api/"):
        return Response(status_code=422)
    words = "Something in the form was missing, malformed or too long. Nothing was done."
    back = ("/login", "Sign in") if request.url.path == "/login" else ("/", "Go on")
    return answer_page(request, "Not possible", [words], [back], status=422)


def _lifespan(site: Site) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        stop = asyncio.Event()
        watcher = asyncio.create_task(_watch_sessions(site, stop))
        try:
            yield
        finally:
            stop.set()
            await watcher
            site.live.close()

    return lifespan


async def _watch_sessions(site: Site, stop: asyncio.Event) -> None:
    """Close the pages of sessions that ended: signed out elsewhere, expired, account disabled."""
    while not stop.is_set():
        try:
            for secret in site.pages.secrets():
                if await asyncio.to_thread(site.gate.find, secret) is None:
                    site.close_pages(secret)
        except errors.SignoffError:
            log.warning("could not look after open sessions", exc_info=True)
        try:
            await asyncio.wait_for(stop.wait(), SESSION_CHECK_S)
        except TimeoutError:
            continue
