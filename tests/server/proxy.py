"""A proxy between an engine and PostgreSQL that reads the protocol along, and cuts where it hurts.

Only sessions that write (they call themselves `signoff`) are cut; those of readers pass. What happens at a commit is
chosen by `choose`, which is called with each COMMIT that the engine sends and each round trip before it.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Fate = Literal["", "answer dropped", "cut before", "cut at once", "cut in the middle"]
"""Of a commit: goes through; done, but nobody hears of it; never arrives; sent, and both ends are cut."""

WRITER = b"application_name\0signoff\0"


class Session:
    """One connection of the engine and its continuation to the server."""

    def __init__(self, proxy: Proxy, client: socket.socket) -> None:
        self._proxy, self._client = proxy, client
        self._server: socket.socket | None = None
        self._writes = False
        self._deaf = False

    def serve(self) -> None:
        """Until one end is gone."""
        try:
            self._server = socket.create_connection(("127.0.0.1", self._proxy.upstream), timeout=5)
            self._server.settimeout(None)
            self._server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._answers, daemon=True).start()
            self._questions()
        except OSError:
            pass  # the server is down: so is this connection
        finally:
            self.cut()

    def cut(self) -> None:
        """Both ends at once."""
        for end in (self._client, self._server):
            if end is not None:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _questions(self) -> None:
        assert self._server is not None
        head = _exactly(self._client, 4)
        first = _exactly(self._client, struct.unpack("!I", head)[0] - 4)
        self._writes = WRITER in first
        self._server.sendall(head + first)
        while True:
            kind, whole = _message(self._client)
            if not self._writes or kind not in b"QP":
                self._server.sendall(whole)
                continue
            fate = self._proxy.fate(is_commit=whole[5:] == b"COMMIT\0")
            if fate in ("cut before", "cut in the middle"):
                return
            self._deaf = fate == "answer dropped"
            self._server.sendall(whole)
            if fate == "cut at once":
                return

    def _answers(self) -> None:
        assert self._server is not None
        with suppress(OSError):
            while True:
                kind, whole = _message(self._server)
                if not self._deaf:
                    self._client.sendall(whole)
                elif kind == b"C":  # it is committed, and the engine will never hear of it
                    break
        self.cut()


def _exactly(end: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = end.recv(size - len(found))
        if not piece:
            raise ConnectionError("closed")
        found += piece
    return bytes(found)


def _message(end: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(end, 5)
    return head[:1], head + _exactly(end, struct.unpack("!I", head[1:])[0] - 4)


class Proxy:
    """Listens on a port of its own.

    Attributes:
        choose: what to do with the next COMMIT (True) or the next statement before one (False).
        counts: how often what was done.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.choose: Callable[[bool], Fate] = lambda is_commit: ""
        self.counts: Counter[str] = Counter()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._sessions: list[Session] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def fate(self, *, is_commit: bool) -> Fate:
        """Of one message."""
        found = self.choose(is_commit)
        if found:
            self.counts[found] += 1
        return found

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                session = Session(self, client)
                self._sessions.append(session)
                threading.Thread(target=session.serve, daemon=True).start()

    def close(self) -> None:
        """No connections any more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for session in self._sessions:
            session.cut()


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    """A proxy in front of a server's port."""
    made = Proxy(port)
    try:
        yield made
    finally:
        made.close()
