"""Doors that stay closed: sockets from other origins, Panel's embedding routes, methods that make no sense."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send


class Doors:
    """ASGI middleware in front of everything.

    A socket needs an `Origin` header that names this very host or a listed one, compared exactly. Panel's
    `/autoload.js` and `/metadata` would hand a page's session to whoever includes them; nobody needs them here.
    """

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...] = ()) -> None:
        self.app = app
        self._origins = {o.lower() for o in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn away, or hand on."""
        if scope["type"] == "websocket" and not self._is_own(scope):
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "Origin is not allowed"})
            return
        closed = ("/autoload.js", "/metadata")
        if scope["type"] == "http" and scope["path"].endswith(closed) and not scope["path"].startswith("/api/"):
            headers = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 404, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self.app(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        origin = urlsplit(headers.get(b"origin", b"").decode("latin-1")).netloc.lower()
        allowed = self._origins or {headers.get(b"host", b"").decode("latin-1").lower()}
        return bool(origin) and origin in allowed
