"""Foreign host names, huge bodies and malformed forms: turned away before anything reads them, nothing repeated."""

from __future__ import annotations

import asyncio
import http.client
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from signoff.web.doors import MAX_BODY_BYTES, BodyLimit, Doors
from signoff.web.session import form_token
from tests.web.office import TENANT, Office
from tests.web.test_security import signed_in

FORM = "application/x-www-form-urlencoded"
SECRET = "correct-horse-battery"


def ask(app: Any, *, kind: str = "http", headers: Iterable[tuple[str, str]] = (), body: Iterable[bytes] = ()) -> Any:
    """The messages with which an ASGI application answers one request."""
    chunks = list(body)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if kind == "websocket":
            return {"type": "websocket.connect"}
        if not chunks:
            return {"type": "http.request", "body": b"", "more_body": False}
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    pairs = [(n.encode(), v.encode()) for n, v in headers]
    asyncio.run(app({"type": kind, "path": "/x", "method": "POST", "headers": pairs}, receive, send))
    return sent


async def reader(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, and says how long it was."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client went away")
        length, more = length + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


async def opener(scope: Any, receive: Any, send: Any) -> None:
    """Accepts every socket and request."""
    kind = "websocket.accept" if scope["type"] == "websocket" else "http.response.start"
    await send({"type": kind, "status": 200, "headers": []})


LISTED = ("127.0.0.1:8600", "signoff.example:443")


@pytest.mark.parametrize(
    ("origins", "host", "good"),
    [
        ((), "localhost:8055", True),
        ((), "127.0.0.1", True),
        ((), "[::1]:8055", True),
        ((), "LocalHost:1", True),
        ((), "evil.example", False),
        ((), "testserver", False),
        ((), "localhost.evil.example:8055", False),
        ((), "localhost:8055@evil.example", False),
        ((), "", False),
        (LISTED, "127.0.0.1:8600", True),
        (LISTED, "signoff.example", True),
        (LISTED, "Signoff.Example:443", True),
        (LISTED, "127.0.0.1:8601", False),
        (LISTED, "localhost:8600", False),
        (LISTED, "evil.example", False),
    ],
)
def test_only_our_own_names_are_answered(origins: tuple[str, ...], host: str, good: bool) -> None:
    doors = Doors(opener, origins=origins)
    assert ask(doors, headers=[("host", host)])[0]["status"] == (200 if good else 421)
    opened = ask(doors, kind="websocket", headers=[("host", host), ("origin", f"http://{host}")])
    assert (opened[0]["type"] == "websocket.accept") is good


@pytest.mark.parametrize("hosts", [[], ["localhost", "evil.example"], ["localhost", "localhost"]])
def test_one_host_header_is_needed(hosts: list[str]) -> None:
    assert ask(Doors(opener), headers=[("host", h) for h in hosts])[0]["status"] == 421


def send(office: Office, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None) -> Any:
    connection = http.client.HTTPConnection(urlsplit(office.address).netloc, timeout=20)
    connection.request(method, path, body, {"Content-Type": FORM, **(headers or {})})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


@pytest.mark.parametrize("path", ["/login", "/", "/api/session", "/runs", "/assets/page.js", "/static/js/bokeh.min.js"])
def test_a_foreign_name_reaches_nothing(office: Office, path: str) -> None:
    for method in ("GET", "POST"):
        assert send(office, method, path, headers={"Host": "evil.example"})[0] == 421


def test_a_long_body_is_refused_before_anything_reads_it() -> None:
    limited = BodyLimit(reader, limit=10)
    assert ask(limited, headers=[("content-length", "10")], body=[b"x" * 10])[1]["body"] == b"10"
    for length in ("11", "9" * 5_000, "-1", "ten"):
        assert ask(limited, headers=[("content-length", length)], body=[b"x" * 10])[0]["status"] == 413
    assert ask(limited, body=[b"x" * 5, b"x" * 5])[0]["status"] == 200
    assert ask(limited, body=[b"x" * 5, b"x" * 6, b"x"])[0]["status"] == 413


def declared(office: Office, path: str, length: int) -> Iterator[bytes]:
    """What the server answers to the head of a request alone."""
    host = urlsplit(office.address)
    with socket.create_connection((host.hostname or "", host.port or 0), timeout=20) as connection:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host.netloc}\r\nContent-Type: {FORM}\r\nContent-Length: {length}\r\n\r\n"
        )
        connection.sendall(head.encode())
        while chunk := connection.recv(65_536):
            yield chunk


@pytest.mark.parametrize("path", ["/login", "/logout", "/decide/r-1/approve", "/api/session"])
def test_no_route_reads_a_long_body(office: Office, path: str) -> None:
    answer = b"".join(declared(office, path, 120_000_000))
    assert answer.startswith(b"HTTP/1.1 413")
    connection = http.client.HTTPConnection(urlsplit(office.address).netloc, timeout=20)
    chunks = iter([name + b"x" * (MAX_BODY_BYTES // 3) for name in (b"login=", b"&password=", b"&token=")])
    connection.request("POST", path, chunks, {"Content-Type": FORM}, encode_chunked=True)
    # A stranger's decision, which may bring files, is led to the login page before anything of it is read.
    expected = {"/decide": (303,), "/api": (404, 413)}
    assert connection.getresponse().status in next((s for p, s in expected.items() if path.startswith(p)), (413,))
    connection.close()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FORM, urlencode({"password": SECRET, "token": "x"})),
        (FORM, urlencode({"login": SECRET, "password": SECRET})),
        (FORM, urlencode({"login": "ada", "password": SECRET * 500, "token": "x"})),
        ("application/json", f'{{"login": "{SECRET}", "password": "{SECRET}"}}'),
        ("multipart/form-data; boundary=b", f'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n{SECRET}'),
        ("multipart/form-data", SECRET),
    ],
)
@pytest.mark.parametrize("path", ["/login", "/decide/r-1/approve"])
def test_a_malformed_form_is_not_repeated(office: Office, path: str, kind: str, body: str) -> None:
    known = {"Cookie": f"signoff={signed_in(office, 'max').secret}"} if path.startswith("/decide") else {}
    status, text = send(office, "POST", path, body, {"Content-Type": kind, **known})
    assert status in (400, 422)
    assert text.startswith("<!doctype html>")
    assert "Not possible" in text
    assert SECRET not in text


@pytest.mark.parametrize("generation", ["", "one", "9" * 30, "-1"])
def test_a_decision_with_a_malformed_field_decides_nothing(office: Office, generation: str) -> None:
    max_, run_id = signed_in(office, "max"), office.waiting_run()
    item = office.signoff.queries.find_task(TENANT, "max", run_id, "approve")
    form = {"outcome": "approved", "generation": generation, "shown_digest": item.shown_digest, "key": "k" * 12}
    answer = max_.send("POST", f"/decide/{run_id}/approve", {**form, "token": form_token(max_.secret)})
    assert answer.status == 422
    assert "Nothing was done." in answer.text
    assert office.status(run_id)["approve"] == "waiting"
