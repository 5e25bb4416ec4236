"""Library files over HTTP as browsers like them: validators, compression, caching (Panel sends none of them)."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIXES = ("/static/", "/components/", "/assets/")
MIN_COMPRESSED_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    raw: bytes
    packed: bytes | None
    etag: bytes
    content_type: bytes


class StaticCache:
    """ASGI middleware: keeps library files in memory, answers with ETag, 304, gzip and Cache-Control."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._kept: dict[str, _Kept] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests below `PREFIXES`; hand everything else on."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIXES) or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        kept = self._kept.get(scope["path"])
        if kept is None:
            messages: list[Message] = []

            async def collect(message: Message) -> None:
                messages.append(message)

            await self.app({**scope, "method": "GET"}, receive, collect)
            if messages[0]["status"] != 200:
                for message in messages:
                    await send(message)
                return
            kept = self._kept[scope["path"]] = _keep(messages)
        await _answer(scope, send, kept)


def _keep(messages: list[Message]) -> _Kept:
    raw = b"".join(m.get("body", b"") for m in messages[1:])
    content_type = dict(messages[0]["headers"]).get(b"content-type", b"application/octet-stream")
    packed = gzip.compress(raw, 6) if len(raw) >= MIN_COMPRESSED_BYTES else None
    return _Kept(raw, packed, b'"' + hashlib.sha256(raw).hexdigest()[:32].encode() + b'"', content_type)


async def _answer(scope: Scope, send: Send, kept: _Kept) -> None:
    asked = dict(scope["headers"])
    lasting = b"public, max-age=31536000, immutable" if scope["query_string"] else b"public, max-age=3600"
    headers = [
        (b"etag", kept.etag),
        (b"cache-control", lasting),
        (b"vary", b"accept-encoding"),
        (b"content-type", kept.content_type),
    ]
    body, status = kept.raw, 200
    if asked.get(b"if-none-match") == kept.etag:
        body, status = b"", 304
    else:
        if kept.packed is not None and b"gzip" in asked.get(b"accept-encoding", b""):
            body = kept.packed
            headers.append((b"content-encoding", b"gzip"))
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
