"""The HTTP connector against real servers on loopback: keys, lost answers, private networks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from signoff.cli.demo.service import Ledger, make_server
from signoff.connectors.call import ActivityError, Call
from signoff.connectors.http import HttpConnector


class Service:
    """The demo's service on a free port."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.server = make_server(0, self.ledger)
        self.port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def http(service: Service) -> Iterator[HttpConnector]:
    made = HttpConnector(["127.0.0.1", "localhost"], service.address)
    yield made
    made.close()


def call(url: str, key: str = "r-1/pay/1/1", **given: Any) -> Call:
    return Call("r-1", "pay", 1, key, {"url": url, **given}, 5.0)


def failure(http: HttpConnector, made: Call) -> ActivityError:
    with pytest.raises(ActivityError) as caught:
        http(made)
    return caught.value


def test_the_key_is_sent_and_the_effect_happens_once(service: Service, http: HttpConnector) -> None:
    first = http(call("demo:///payments/pay", json={"amount": 5}))
    again = http(call("demo:///payments/pay", json={"amount": 5}))
    other = http(call("demo:///payments/pay", key="r-2/pay/1/1"))
    assert first == again == {"status": 200, "body": {"ok": True, "reference": "payments-pay-0001"}}
    assert other["body"]["reference"] == "payments-pay-0002"
    assert [c["key"] for c in service.ledger.snapshot()["calls"]] == ["r-1/pay/1/1"] * 2 + ["r-2/pay/1/1"]


def test_a_lost_answer_is_an_unknown_outcome_and_its_effect_is_there(service: Service, http: HttpConnector) -> None:
    service.ledger.set_mode("/pay", "lose")
    error = failure(http, call("demo:///pay"))
    assert (error.code, error.retryable) == ("outcome_unknown", True)
    assert len(service.ledger.effects) == 1
    service.ledger.set_mode("/pay", "ok")
    assert http(call("demo:///pay"))["body"]["reference"] == "pay-0001", "the repeated call gets the first answer"


@pytest.mark.parametrize(("mode", "code", "retryable"), [("fail", "http_503", True), ("refuse", "http_422", False)])
def test_a_no_says_whether_trying_again_makes_sense(
    service: Service, http: HttpConnector, mode: str, code: str, retryable: bool
) -> None:
    service.ledger.set_mode("/pay", mode)
    error = failure(http, call("demo:///pay"))
    assert (error.code, error.retryable) == (code, retryable)
    assert "The demo service (/pay) answered" in error.message


def test_nobody_there_means_nothing_was_sent(http: HttpConnector) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failure(http, call(f"http://127.0.0.1:{port}/x?token=hidden"))
    assert (error.code, error.retryable) == ("unreachable", True)
    assert "hidden" not in error.message


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/x",
        "http://localhost:{port}/x",
        "http://2130706433:{port}/x",
        "http://0x7f.1:{port}/x",
        "http://[::1]:{port}/x",
        "http://[::ffff:127.0.0.1]:{port}/x",
        "http://0.0.0.0:{port}/x",
        "http://10.0.0.1/x",
        "http://192.168.1.1/x",
        "http://172.16.0.1/x",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/x",
        "http://[fd00::1]/x",
        "http://100.64.0.1/x",
        "http://224.0.0.1/x",
        "http://[64:ff9b::7f00:1]:{port}/x",
        "http://[64:ff9b:1::7f00:1]:{port}/x",
        "http://[2002:7f00:1::]:{port}/x",
        "http://[2001:0:7f00:1::]:{port}/x",
        "http://[::127.0.0.1]:{port}/x",
    ],
)
def test_private_networks_are_out_of_reach(service: Service, url: str) -> None:
    """Security list, 21."""
    http = HttpConnector()
    error = failure(http, call(url.format(port=service.port)))
    assert error.code in ("forbidden_address", "unreachable")
    assert service.ledger.calls == []
    http.close()


def test_a_name_that_points_elsewhere_later_is_not_followed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolved once: the address that was checked is the one that is called."""
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host == "rebind.example":
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]
        return real(host, port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    http = HttpConnector()
    seen: list[str] = []
    monkeypatch.setattr(http._client, "send", lambda request, **_: seen.append(str(request.url)) or _stop())
    with pytest.raises(RuntimeError):
        http(call("http://rebind.example/x"))
    assert asked == ["rebind.example"]
    assert seen == ["http://93.184.216.34/x"] or seen == ["http://93.184.216.34:80/x"]
    http.close()


def _stop() -> None:
    raise RuntimeError


def test_redirects_are_not_followed(service: Service, http: HttpConnector) -> None:
    """The control address answers 303; that is an answer, not a way."""
    error = failure(http, call(f"{service.address}/control", method="POST"))
    assert error.code == "http_400"
    assert service.ledger.calls == []


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "file:///etc/passwd", "gopher://x", "http://user:pw@host/x", "//x", "", "x"]
)
def test_only_plain_http_addresses(http: HttpConnector, url: str) -> None:
    error = failure(http, call(url))
    assert (error.code, error.retryable) == ("bad_input", False)
    assert "pw" not in error.message


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_headers_cannot_smuggle_lines(http: HttpConnector, value: str) -> None:
    assert failure(http, call("demo:///x", headers={"X-Note": value})).code == "bad_input"


@pytest.mark.parametrize("url", ["demo:@127.0.0.1:{port}/x", "demo://127.0.0.1:{port}/x", "demo:x", "demo://@h/x"])
def test_the_demo_scheme_reaches_the_demo_service_only(service: Service, http: HttpConnector, url: str) -> None:
    error = failure(http, call(url.format(port=service.port)))
    assert (error.code, error.retryable) == ("bad_input", False)
    assert service.ledger.calls == []


def test_without_the_demo_its_scheme_means_nothing() -> None:
    http = HttpConnector()
    assert failure(http, call("demo:///x")).code == "bad_input"
    http.close()


def test_an_answer_that_is_too_large_is_cut_off() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
            try:
                for _ in range(200):
                    connection.sendall(b"x" * 65536)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    http = HttpConnector(["127.0.0.1"])
    assert failure(http, call(f"http://127.0.0.1:{port}/")).code == "too_large"
    http.close()
    thread.join(5)
    listener.close()
