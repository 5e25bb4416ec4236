"""A real SMTP server on loopback that remembers what it got, and can refuse, stall or go away."""

from __future__ import annotations

import base64
import email
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from typing import Any


@dataclass
class Mailbox:
    """What arrived, newest last. `refuse` maps an address to the code it is refused with."""

    port: int = 0
    refuse: dict[str, int] = field(default_factory=dict)
    busy: int = 0
    raw: list[bytes] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def messages(self) -> list[EmailMessage]:
        """The mails, parsed."""
        found = [email.message_from_bytes(raw, policy=default) for raw in self.raw]
        return [m for m in found if isinstance(m, EmailMessage)]

    def wait(self, count: int, timeout_s: float = 20.0) -> list[EmailMessage]:
        """Wait until so many mails came."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.raw) >= count, timeout_s), f"{len(self.raw)} of {count} mails"
        return self.messages()


class _Session(socketserver.StreamRequestHandler):
    box: Mailbox

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self) -> None:
        if self.box.busy:
            self.say(f"{self.box.busy} not now")
            return
        self.say("220 test ESMTP")
        while line := self.rfile.readline().decode("utf-8", "replace").strip():
            verb = line.split(" ")[0].split(":")[0].upper()
            if verb == "EHLO":
                self.wfile.write(b"250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN\r\n")
            elif verb == "AUTH":
                self.box.logins.append(base64.b64decode(line.split(" ")[-1]).decode())
                self.say("235 ok")
            elif verb == "RCPT" and (code := self.box.refuse.get(line.split("<")[1].split(">")[0])):
                self.say(f"{code} no such mailbox")
            elif verb == "DATA":
                self._data()
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def _data(self) -> None:
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return
            lines.append(line[1:] if line.startswith(b"..") else line)
        with self.box.changed:
            self.box.raw.append(b"".join(lines))
            self.box.changed.notify_all()
        self.say("250 taken")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def mail_server(port: int = 0) -> Iterator[Mailbox]:
    """A mail server for the `with` block."""
    box = Mailbox()
    handler: Any = type("Session", (_Session,), {"box": box})
    with _Server(("127.0.0.1", port), handler) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join(5)
