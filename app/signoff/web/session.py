"""Who is asking: the session cookie, its binding to pages and sockets, and the tokens that protect forms."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from bokeh.util.token import get_session_id

from signoff.core.states import Actor
from signoff.engine.views import Person

if TYPE_CHECKING:
    from signoff.engine.client import Signoff
    from signoff.web.settings import WebSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Visit:
    """A signed-in person together with the session secret; it never leaves the server."""

    person: Person
    secret: str

    @property
    def actor(self) -> Actor:
        """The person as the engine records them."""
        return Actor("person", self.person.login, self.person.name, "web", self.person.session_id)

    @property
    def form_token(self) -> str:
        """What a form of this session must carry; see `form_token`."""
        return form_token(self.secret)

    def __repr__(self) -> str:
        return f"Visit({self.person.login!r})"


def form_token(secret: str) -> str:
    """The CSRF token of a session: only its owner's pages show it, and it does not reveal the secret."""
    return hmac.new(secret.encode(), b"signoff form", hashlib.sha256).hexdigest()


def is_form_token(secret: str, given: str) -> bool:
    """Whether a form came from a page of this session."""
    return hmac.compare_digest(form_token(secret).encode(), given.encode("utf-8", "replace"))


def local_path(target: str, otherwise: str = "/") -> str:
    """`target` where it is a path on this site, else `otherwise`; never another host, scheme or control character."""
    plain = target.startswith("/") and not target.startswith(("//", "/\\")) and "\\" not in target
    if not plain or any(ord(c) < 33 or ord(c) == 127 for c in target):
        return otherwise
    parts = urlsplit(target)
    return target if not parts.scheme and not parts.netloc else otherwise


class Gate:
    """Finds the visit of a request; the authentication policy of Panel's pages and sockets."""

    def __init__(self, signoff: Signoff, settings: WebSettings) -> None:
        self._signoff = signoff
        self._settings = settings
        self.panel: Any = None

    def find(self, secret: str | None) -> Visit | None:
        """The visit that a session secret stands for now, or None."""
        if not secret or len(secret) > 512:
            return None
        person = self._signoff.queries.find_session(secret)
        if person is None or not person.active or person.tenant != self._settings.tenant:
            return None
        return Visit(person, secret)

    def authenticate(self, request: Any) -> Visit | None:
        """For Bokeh: the visit of a page request or socket; a socket must belong to who loaded its page."""
        cookie = request.cookies.get(self._settings.session_cookie)
        visit = self.find(getattr(cookie, "value", cookie))
        protocols = request.headers.get("sec-websocket-protocol")
        if visit is not None and protocols and not self._owns_page(visit, protocols):
            log.warning("refused a socket of %s for a page that somebody else opened", visit.person.login)
            return None
        return visit

    def _owns_page(self, visit: Visit, protocols: str) -> bool:
        try:
            key = get_session_id(protocols.split(",")[1].strip())
        except Exception:
            return False
        for context in self.panel.applications.values():
            session = context._sessions.get(key)
            if session is not None:
                owner = session.document.session_context.request.user
                return isinstance(owner, Visit) and owner.person.login == visit.person.login
        return False

    def login_url(self, request: Any) -> str:
        """Where a stranger is sent, with the way back."""
        path = local_path(request.path + (f"?{request.query}" if request.query else ""))
        return f"/login?next={quote(path, safe='/')}"


class OpenPages:
    """Documents by session secret, so that ending a session reaches the pages that are still open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[str, dict[int, Any]] = defaultdict(dict)

    def add(self, secret: str, document: Any) -> None:
        """Remember an open page until its document goes."""
        with self._lock:
            self._pages[secret][id(document)] = document
        document.on_session_destroyed(lambda _: self._forget(secret, id(document)))

    def secrets(self) -> list[str]:
        """Sessions with open pages."""
        with self._lock:
            return list(self._pages)

    def end(self, secret: str) -> list[Any]:
        """Take the pages of a session out; they are to be closed."""
        with self._lock:
            return list(self._pages.pop(secret, {}).values())

    def _forget(self, secret: str, key: int) -> None:
        with self._lock:
            self._pages.get(secret, {}).pop(key, None)
            if not self._pages.get(secret):
                self._pages.pop(secret, None)


def renamed(visit: Visit, person: Person) -> Visit:
    """The same visit with the account as it is now."""
    return replace(visit, person=person)
