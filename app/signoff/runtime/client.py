"""The other side of the wire: for the web process, the CLI and workers. Reconnects by itself."""

from __future__ import annotations

import itertools
import logging
import queue
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from signoff.engine.request import failed, unwrap
from signoff.engine.views import FeedEvent, resync
from signoff.errors import InvalidInput, Unavailable
from signoff.runtime.wire import PROTOCOL, FrameError, Unpacker, connect, pack

log = logging.getLogger("signoff.wire")
Answered = Callable[[dict[str, Any]], None]
_GONE = failed(Unavailable("The engine is not reachable just now.", remedy="Send the request again in a moment."))
_LOST = failed(
    Unavailable(
        "The connection to the engine broke before it answered.", remedy="Look whether it was done, then repeat."
    )
)


class WireClient:
    """One connection to the engine. Requests fail as Unavailable while it is away; nothing is queued."""

    def __init__(self, address: Callable[[], str], role: str, token: str, name: str = "") -> None:
        self._address = address
        self._hello = {"hello": role, "token": token, "name": name, "protocol": PROTOCOL}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._pending: dict[int, Answered] = {}
        self._socket: socket.socket | None = None
        self._closing = threading.Event()
        self._connected = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="signoff-link", daemon=True)
        self._listeners: list[Callable[[FeedEvent], None]] = []
        self.on_task: Callable[[dict[str, Any]], None] | None = None
        self.on_connect: Callable[[], None] | None = None
        """Called, quickly returning, by the receiving thread whenever the link stands."""

    def start(self, wait_s: float = 0.0) -> bool:
        """Begin connecting; returns whether the connection stands within `wait_s`."""
        self._thread.start()
        return self._connected.wait(wait_s)

    def close(self) -> None:
        """Close for good."""
        self._closing.set()
        self._drop()
        if self._thread.is_alive():
            self._thread.join(5)

    # Requests

    def post(self, message: dict[str, Any], done: Answered) -> None:
        """Send a request; `done` gets the raw answer from the receiving thread."""
        number = next(self._numbers)
        frame = pack({**message, "id": number})
        with self._lock:
            sock = self._socket
            if sock is not None:
                self._pending[number] = done
        if sock is None:
            done(_GONE)
            return
        try:
            with self._sending:
                sock.sendall(frame)
        except OSError:
            with self._lock:
                mine = self._pending.pop(number, None)
            if mine is not None:
                done(_LOST)

    def call(self, request: dict[str, Any], timeout_s: float = 30.0) -> dict[str, Any]:
        """Send a request and wait for its result; raises the SignoffError of the answer."""
        answered: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        try:
            self.post(request, answered.put)
        except FrameError as error:
            raise InvalidInput(str(error), code="too_large", remedy="Send less, or a reference to it.") from None
        except TypeError as error:
            raise InvalidInput(
                f"The request cannot be written as JSON: {error}.",
                code="not_json",
                remedy="Use plain texts, numbers below 2^53 and at most a few dozen levels.",
            ) from None
        try:
            return unwrap(answered.get(timeout=timeout_s))
        except queue.Empty:
            raise Unavailable(
                "The engine did not answer in time.", remedy="Look whether it was done, then repeat."
            ) from None

    def subscribe(self, listener: Callable[[FeedEvent], None]) -> Callable[[], None]:
        """Follow the feed; returns the function that stops it."""
        self._listeners.append(listener)
        if len(self._listeners) == 1:
            self.post({"do": "follow"}, lambda answer: None)
        return lambda: self._listeners.remove(listener)

    # The receiving thread

    def _loop(self) -> None:
        pause = 0.02
        while not self._closing.is_set():
            try:
                sock = connect(self._address())
                sock.sendall(pack(self._hello))
            except (OSError, ValueError):
                self._closing.wait(pause)
                pause = min(pause * 2, 0.5)
                continue
            if self._receive(sock):
                pause = 0.02
            else:
                self._closing.wait(pause)
                pause = min(pause * 2, 0.5)

    def _receive(self, sock: socket.socket) -> bool:
        unpacker = Unpacker()
        welcome = False
        try:
            while data := sock.recv(262_144):
                for message in unpacker.feed(data):
                    if "welcome" in message:
                        welcome = True
                        self._welcome(sock)
                    else:
                        self._dispatch(message)
        except (OSError, FrameError) as error:
            log.info("the link to the engine broke: %s", error)
        finally:
            self._drop()
            sock.close()
        return welcome

    def _welcome(self, sock: socket.socket) -> None:
        with self._lock:
            self._socket = sock
        self._connected.set()
        if self._listeners:
            self.post({"do": "follow"}, self._followed_again)
        if self.on_connect is not None:
            self.on_connect()

    def _followed_again(self, _: dict[str, Any]) -> None:
        for listener in list(self._listeners):
            listener(resync(datetime.now(UTC)))

    def _dispatch(self, message: dict[str, Any]) -> None:
        try:
            if "task" in message:
                if self.on_task is not None:
                    self.on_task(message["task"])
            elif "news" in message:
                n = message["news"]
                at = datetime.fromisoformat(n["at"])
                event = FeedEvent(n["tenant"], n["run_id"], n["sequence"], n["run_status"], n["steps"], at)
                for listener in list(self._listeners):
                    listener(event)
            else:
                with self._lock:
                    done = self._pending.pop(message.pop("id", -1), None)
                if done is not None:
                    done(message)
        except Exception:
            log.exception("a message of the engine could not be handled")

    def _drop(self) -> None:
        with self._lock:
            sock, self._socket = self._socket, None
            lost, self._pending = self._pending, {}
        self._connected.clear()
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                log.debug("the link was already closed")
        for done in lost.values():
            done(_LOST)


class WireLink:
    """A worker's link over the wire."""

    def __init__(self, client: WireClient) -> None:
        self._client = client

    def offer(self, worker: str, args: dict[str, Any], on_task: Callable[[dict[str, Any]], None]) -> None:
        """Offer slots; tasks come as pushes."""
        self._client.on_task = on_task
        self._client.call({"do": "offer", "args": args})

    def request(self, worker: str, do: str, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
        """Send and wait."""
        return self._client.call({"do": do, "tenant": tenant, "args": args})

    def post(self, worker: str, do: str, tenant: str, args: dict[str, Any], done: Answered) -> None:
        """Send without waiting."""
        self._client.post({"do": do, "tenant": tenant, "args": args}, done)
