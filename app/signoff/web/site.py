"""What every page gets: the engine, the settings, live changes, and the visitor of this page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import panel as pn

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.views import Person
from signoff.web.live import Live
from signoff.web.session import Gate, OpenPages, Visit
from signoff.web.settings import WebSettings

if TYPE_CHECKING:
    from signoff.engine.client import Signoff

log = logging.getLogger(__name__)

CUT_AFTER_MS = 1_000
"""A page has this long to follow the reload before its socket is closed."""

Say = Callable[[str, str], None]
"""Shows a sentence: the text, and `success`, `info`, `warning` or `error`."""

FAULT = (
    "Something broke inside Signoff; nothing was changed that you were not told about. Try again, or look at the log."
)


@dataclass(frozen=True)
class Site:
    """The web process's own things, shared by all pages."""

    signoff: Signoff
    settings: WebSettings
    live: Live
    gate: Gate
    pages: OpenPages

    @property
    def tenant(self) -> str:
        """The tenant whose people sign in here."""
        return self.settings.tenant

    def sign_in_again(self, visit: Visit, back: str) -> str:
        """Where this person signs in again at a provider to sign; "" where a password does.

        Args:
            visit: who it is.
            back: the path to which they come back.
        """
        there = self.settings.provider is not None and visit.person.signed_in == "oidc"
        return f"/login/oidc?again=yes&next={quote(back, safe='/')}" if there else ""

    def close_pages(self, secret: str) -> None:
        """Lead the open pages of an ended session to the login page, and cut their sockets."""
        for document in self.pages.end(secret):
            document.add_next_tick_callback(partial(_dismiss, self.gate.panel.core, document))


def _dismiss(core: Any, document: Any) -> None:
    location = pn.state._locations.get(document)
    if location is not None:
        location.reload = True
    document.add_timeout_callback(partial(_cut, core, document), CUT_AFTER_MS)


async def _cut(core: Any, document: Any) -> None:
    for connection in list(core._clients):
        session = connection._session
        if session is not None and session.document is document:
            await connection._socket.close(4001, "The session has ended.")


class Visitor:
    """The person in front of one open page, looked up anew at every action."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.document = pn.state.curdoc
        visit = self.document.session_context.request.user
        if not isinstance(visit, Visit):
            raise errors.NotSignedIn("Nobody is signed in on this page.", remedy="Sign in.")
        self._visit = visit
        self._location = pn.state.location
        self._names: dict[str, str] | None = None
        site.pages.add(visit.secret, self.document)

    @property
    def visit(self) -> Visit:
        """As of the last check."""
        return self._visit

    @property
    def person(self) -> Person:
        """As of the last check."""
        return self._visit.person

    @property
    def may(self) -> frozenset[str]:
        """Requests that the person's roles permit."""
        return self.person.may

    def name_of(self, login: str) -> str:
        """The display name of an account, or the login where there is none."""
        if self._names is None:
            self._names = {p.login: p.name for p in self.site.signoff.queries.list_people(self.site.tenant)}
        return self._names.get(login) or login

    def check(self) -> Actor:
        """Make sure that the session still stands.

        Raises:
            NotSignedIn: it ended; the page is told to load again, which leads to the login page.
        """
        visit = self.site.gate.find(self._visit.secret)
        if visit is None:
            self.leave()
            raise errors.NotSignedIn("Your session has ended.", remedy="Sign in again.")
        self._visit = visit
        return visit.actor

    def leave(self) -> None:
        """Load the page again; without a session that is the login page."""
        if self._location is not None:
            self._location.reload = True

    def go(self, path: str) -> None:
        """Open another page of this site."""
        if self._location is not None:
            self._location.pathname = path
            self._location.search = ""
            self._location.reload = True

    def handler(self, work: Callable[[Actor], None], say: Say) -> Callable[..., None]:
        """A callback for events: identity checked first, every error said in its own words."""

        def run(*_: Any) -> None:
            try:
                work(self.check())
            except errors.SignoffError as error:
                say(sentence(error), "error")
            except Exception:
                log.exception("a page's callback failed")
                say(FAULT, "error")

        return run

    def command(self, work: Callable[[Actor], Awaitable[None]], say: Say) -> Callable[..., Awaitable[None]]:
        """Like `handler`, for work that waits for the engine (see `in_thread`)."""

        async def run(*_: Any) -> None:
            try:
                await work(self.check())
            except errors.SignoffError as error:
                say(sentence(error), "error")
            except Exception:
                log.exception("a page's command failed")
                say(FAULT, "error")

        return run


def sentence(error: errors.SignoffError) -> str:
    """Message and remedy as one text."""
    return f"{error.message} {error.remedy}".strip()


async def in_thread[T](call: Callable[[], T]) -> T:
    """Do something that blocks (a request to the engine) without holding up other pages."""
    return await asyncio.to_thread(call)
