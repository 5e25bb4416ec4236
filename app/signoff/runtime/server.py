"""The engine's side of the wire: one thread with an event loop, many connections, no work of its own."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from signoff.engine.request import Request, failed
from signoff.engine.views import FeedEvent
from signoff.engine.writer import Writer, read_request
from signoff.errors import SignoffError
from signoff.runtime.wire import PROTOCOL, FrameError, Unpacker, pack

log = logging.getLogger("signoff.wire")
SLOW_REQUESTS = frozenset({"sign_in", "save_person"})


def news_of(event: FeedEvent) -> dict[str, Any]:
    """A feed event as it travels."""
    return {
        "tenant": event.tenant,
        "run_id": event.run_id,
        "sequence": event.sequence,
        "run_status": event.run_status,
        "steps": event.steps,
        "at": event.at.isoformat(),
    }


class WireServer:
    """Listens on a Unix or loopback socket and passes requests to the writer."""

    def __init__(
        self, address: str, tokens: dict[str, str], writer: Writer, find_hash: Callable[[str, str], str | None]
    ) -> None:
        self.address = address
        self.tokens = tokens
        self.writer = writer
        self.find_hash = find_hash
        self.slow = ThreadPoolExecutor(2, thread_name_prefix="signoff-passwords")
        self.connections: set[_Connection] = set()
        self.loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._outgoing: list[tuple[_Connection, dict[str, Any]]] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.loop.run_forever, name="signoff-wire", daemon=True)

    def start(self) -> str:
        """Listen; returns the address with its real port."""
        self._thread.start()
        if self.address.startswith("unix:"):
            Path(self.address[5:]).unlink(missing_ok=True)
        return asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result(10)

    async def _listen(self) -> str:
        scheme, _, rest = self.address.partition(":")
        if scheme == "unix":
            old = os.umask(0o077)
            try:
                self._server = await self.loop.create_unix_server(lambda: _Connection(self), rest)
            finally:
                os.umask(old)
        else:
            host, _, port = rest.rpartition(":")
            self._server = await self.loop.create_server(lambda: _Connection(self), host, int(port))
            self.address = f"tcp:{host}:{self._server.sockets[0].getsockname()[1]}"
        return self.address

    def send(self, connection: _Connection, message: dict[str, Any]) -> None:
        """Queue a message for a connection; may be called from any thread. One loop wake-up per burst."""
        with self._lock:
            first = not self._outgoing
            self._outgoing.append((connection, message))
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is already closed: the client is gone anyway
                self.loop.call_soon_threadsafe(self._flush)

    def _flush(self) -> None:
        with self._lock:
            messages, self._outgoing = self._outgoing, []
        frames: dict[_Connection, list[bytes]] = {}
        for connection, message in messages:
            frames.setdefault(connection, []).append(pack(message))
        for connection, parts in frames.items():
            connection.write(b"".join(parts))

    def publish(self, event: FeedEvent) -> None:
        """Tell every connection that follows the feed."""
        message = {"news": news_of(event)}
        for connection in [c for c in self.connections if c.follows]:
            self.send(connection, message)

    def close(self) -> None:
        """Stop listening and drop all connections."""

        async def stop() -> None:
            if self._server is not None:
                self._server.close()
            for connection in list(self.connections):
                connection.drop()
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(stop(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()
        self.slow.shutdown(wait=False)
        if self.address.startswith("unix:"):
            Path(self.address[5:]).unlink(missing_ok=True)


class _Connection(asyncio.Protocol):
    """One client: says hello, then sends requests."""

    def __init__(self, server: WireServer) -> None:
        self._server = server
        self._unpacker = Unpacker()
        self._transport: asyncio.Transport | None = None
        self._role = ""
        self._name = ""
        self.follows = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._transport = None
        if self._role == "worker":
            self._submit({"do": "withdraw", "args": {}}, lambda answer: None)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._unpacker.feed(data):
                self._receive(message)
        except FrameError as error:
            log.warning("a connection was dropped: %s", error)
            self.drop()

    def write(self, data: bytes) -> None:
        """Send bytes, unless the client is gone."""
        if self._transport is not None:
            self._transport.write(data)

    def push(self, task: dict[str, Any]) -> None:
        """Send the worker at the other end a task; one and the same for all that it offers here."""
        self._server.send(self, {"task": task})

    def drop(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def _receive(self, message: dict[str, Any]) -> None:
        if not self._role:
            self._hello(message)
            return
        number = message.get("id")
        if message.get("do") == "follow":
            self.follows = True
            self.write(pack({"id": number, "ok": {}}))
            return
        self._submit(message, lambda answer: self._server.send(self, {"id": number, **answer}))

    def _hello(self, message: dict[str, Any]) -> None:
        role, token = str(message.get("hello")), str(message.get("token"))
        known = self._server.tokens.get(role, "")
        if message.get("protocol") != PROTOCOL or not known or not hmac.compare_digest(known, token):
            log.warning("a connection was refused: wrong token, role or protocol")
            self.drop()
            return
        self._role, self._name = role, str(message.get("name") or role)[:100]
        self.write(pack({"welcome": PROTOCOL}))

    def _submit(self, message: dict[str, Any], reply: Callable[[dict[str, Any]], None]) -> None:
        if message.get("do") in SLOW_REQUESTS or "password" in (message.get("args") or {}):
            self._server.slow.submit(self._build_and_submit, message, reply)
        else:
            self._build_and_submit(message, reply)

    def _build_and_submit(self, message: dict[str, Any], reply: Callable[[dict[str, Any]], None]) -> None:
        try:
            if self._role == "worker":
                message = {**message, "actor": {"kind": "worker", "id": self._name, "channel": "worker"}}
            request: Request = read_request(message, reply, self._role, self._server.find_hash)
            if request.do in ("offer", "withdraw"):
                request.context = self.push
            self._server.writer.submit(request)
        except SignoffError as error:
            reply(failed(error))
        except Exception:
            log.exception("a request could not be read")
            self.drop()
