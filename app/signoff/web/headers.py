"""Security headers on every answer, and a script nonce in every page that Panel renders.

Panel's pages hold inline scripts (its own), so that `script-src` needs a nonce; its compiled components are loaded
from `blob:` addresses made by those scripts. Styles are inline throughout (MUI), so `style-src` allows them.
"""

from __future__ import annotations

import secrets
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

outcome: ContextVar[dict[str, int]] = ContextVar("outcome")
"""Where a page that is being built leaves the status of its answer (`status`); Panel itself always says 200."""

_PLAIN = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)


def content_policy(nonce: str) -> str:
    """The content security policy of a page; no foreign host appears in it."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "object-src 'none'",
        )
    )


class SecurityHeaders:
    """ASGI middleware: adds the headers; gives the scripts of HTML pages the nonce that the policy names."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app = app
        self._extra = (*_PLAIN, *([(b"strict-transport-security", b"max-age=31536000")] if secure else []))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on and complete its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        nonce, page_status = secrets.token_urlsafe(16), dict[str, int]()
        outcome.set(page_status)
        begun: list[Message] = []
        body: list[bytes] = []

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": self._headers(scope, message, nonce)}
                if _is_html(message):
                    begun.append(message)
                    return
            elif message["type"] == "http.response.body" and begun:
                body.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                page = b"".join(body).replace(b"<script", f'<script nonce="{nonce}"'.encode())
                start = {**begun[0], "headers": _with_length(begun[0]["headers"], len(page), scope["method"])}
                start |= page_status
                await send(start)
                await send({"type": "http.response.body", "body": page})
                return
            await send(message)

        await self.app(scope, receive, complete)

    def _headers(self, scope: Scope, message: Message, nonce: str) -> list[tuple[bytes, bytes]]:
        had = {name.lower() for name, _ in message["headers"]}
        headers = [*message["headers"], *((n, v) for n, v in self._extra if n not in had)]
        if b"content-security-policy" not in had:
            headers.append((b"content-security-policy", content_policy(nonce).encode()))
        if not scope["path"].startswith(("/static/", "/components/", "/assets/")):
            headers = [(n, v) for n, v in headers if n.lower() != b"cache-control"]
            headers.append((b"cache-control", b"no-store"))
        return headers


def _is_html(message: Message) -> bool:
    return any(n.lower() == b"content-type" and v.startswith(b"text/html") for n, v in message["headers"])


def _with_length(headers: list[tuple[bytes, bytes]], length: int, method: str) -> list[tuple[bytes, bytes]]:
    rest = [(n, v) for n, v in headers if n.lower() != b"content-length"]
    return rest if method == "HEAD" else [*rest, (b"content-length", str(length).encode())]
