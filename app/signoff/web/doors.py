"""Doors that stay closed: foreign host names, sockets from other origins, Panel's embedding routes, huge bodies."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
MAX_BODY_BYTES = 2_000_000
MAX_UPLOAD_BYTES = 60_000_000
UPLOADS = ("/api/files", "/start/", "/submit/", "/decide/")
_DEFAULT_PORTS = (":80", ":443")


class Doors:
    """ASGI middleware in front of everything.

    Every request must name a host of ours in its one `Host` header: a listed one, or a loopback name where none is
    listed. A foreign name that leads here (DNS rebinding) would make a foreign page ours. A socket needs an `Origin`
    header that names this very host or a listed one, compared exactly. Panel's `/autoload.js` and `/metadata` would
    hand a page's session to whoever includes them; nobody needs them here.
    """

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...] = ()) -> None:
        self.app = app
        self._origins = frozenset(name for o in origins for name in _spellings(o))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn away, or hand on."""
        if scope["type"] == "websocket" and not (self._is_ours(scope) and self._is_own(scope)):
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "Host or origin is not allowed"})
            return
        if scope["type"] == "http":
            if not self._is_ours(scope):
                await _refuse(send, 421, "This address does not belong to Signoff.")
                return
            closed = ("/autoload.js", "/metadata")
            if scope["path"].endswith(closed) and not scope["path"].startswith("/api/"):
                await _refuse(send, 404, "")
                return
        await self.app(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        given = _values(scope, b"host")
        if len(given) != 1:
            return False
        host = given[0].lower()
        return host in self._origins if self._origins else _without_port(host) in LOOPBACK

    def _is_own(self, scope: Scope) -> bool:
        origin = urlsplit(next(iter(_values(scope, b"origin")), "")).netloc.lower()
        allowed = self._origins or {h.lower() for h in _values(scope, b"host")}
        return bool(origin) and origin in allowed


class BodyLimit:
    """ASGI middleware: no request body longer than `limit` is read; it is answered with 413.

    A declared length is believed when it is too long. Otherwise the bytes are counted as they arrive; past the limit
    the application sees a client that went away, and whatever it answers gives way to the 413.
    """

    def __init__(self, app: ASGIApp, *, limit: int = MAX_BODY_BYTES) -> None:
        self.app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what is short enough."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = max(self._limit, MAX_UPLOAD_BYTES) if scope["path"].startswith(UPLOADS) else self._limit
        if any(not n.isdecimal() or len(n) > 15 or int(n) > limit for n in _values(scope, b"content-length")):
            await self._too_long(send, limit)
            return
        count, begun = 0, False

        async def counted() -> Message:
            nonlocal count
            if count > limit:
                return {"type": "http.disconnect"}
            message = await receive()
            count += len(message.get("body", b""))
            return {"type": "http.disconnect"} if count > limit else message

        async def answer(message: Message) -> None:
            nonlocal begun
            if count <= limit or begun:
                begun = True
                await send(message)

        try:
            await self.app(scope, counted, answer)
        except Exception:
            if count <= limit or begun:
                raise
        if count > limit and not begun:
            await self._too_long(send, limit)

    async def _too_long(self, send: Send, limit: int) -> None:
        await _refuse(send, 413, f"At most {limit // 1_000_000} MB can be sent at once.")


async def _refuse(send: Send, status: int, words: str) -> None:
    body = words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status != 404:
        headers.append((b"connection", b"close"))  # what is still on its way is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for n, value in scope["headers"] if n.lower() == name]


def _spellings(origin: str) -> tuple[str, ...]:
    """A listed `host:port`, and without its port where browsers leave it out."""
    name = origin.lower()
    return (name, _without_port(name)) if name.endswith(_DEFAULT_PORTS) else (name,)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
