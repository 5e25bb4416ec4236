"""The small protocol between processes: frames of JSON over a Unix or loopback socket.

A frame is four bytes of length (big endian) and that many bytes of JSON. The first frame of a client is
`{"hello": role, "token": …, "name": …, "protocol": 1}` with the role `client` or `worker`; the engine answers
`{"welcome": …}` or closes. Then requests `{"id": n, "do": …, …}` are answered by `{"id": n, "ok"|"error": …}`;
the engine also pushes `{"task": …}` to workers and `{"news": …}` to clients that asked for the feed.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import orjson

PROTOCOL = 1
MAX_FRAME_BYTES = 8_000_000
_UNIX_PATH_BYTES = 100


class FrameError(ValueError):
    """The other side does not speak this protocol, or a message is too large for it."""


def pack(message: dict[str, Any]) -> bytes:
    """One frame.

    Raises:
        TypeError: values that are not JSON, or numbers and texts that cannot be written as such.
        FrameError: the message is larger than `MAX_FRAME_BYTES`; sending it would cost the connection.
    """
    body = orjson.dumps(message)
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"A message of {len(body)} bytes is too large; at most {MAX_FRAME_BYTES} are allowed.")
    return len(body).to_bytes(4, "big") + body


class Unpacker:
    """Turns received bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """All messages completed by `data`.

        Raises:
            FrameError: a frame is too large or no JSON object.
        """
        self._buffer += data
        found = []
        start = 0
        while len(self._buffer) - start >= 4:
            size = int.from_bytes(self._buffer[start : start + 4], "big")
            if size > MAX_FRAME_BYTES:
                raise FrameError(f"A frame of {size} bytes is too large.")
            if len(self._buffer) - start - 4 < size:
                break
            try:
                message = orjson.loads(self._buffer[start + 4 : start + 4 + size])
            except orjson.JSONDecodeError as error:
                raise FrameError("A frame is not JSON.") from error
            if not isinstance(message, dict):
                raise FrameError("A frame is not an object.")
            found.append(message)
            start += 4 + size
        del self._buffer[:start]
        return found


def socket_address(folder: Path) -> str:
    """Where the engine of a data folder listens: a Unix socket in it, or loopback where its path is too long."""
    path = folder / "engine.sock"
    return f"unix:{path}" if len(os.fsencode(path)) <= _UNIX_PATH_BYTES else "tcp:127.0.0.1:0"


def connect(address: str, timeout_s: float = 5.0) -> socket.socket:
    """A connected socket for `unix:PATH` or `tcp:HOST:PORT`; raises OSError."""
    scheme, _, rest = address.partition(":")
    if scheme == "unix":
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: Any = rest
    else:
        host, _, port = rest.rpartition(":")
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = (host, int(port))
    sock.settimeout(timeout_s)
    try:
        sock.connect(target)
    except OSError:
        sock.close()
        raise
    sock.settimeout(None)
    return sock
