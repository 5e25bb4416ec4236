"""An HTTP call as an activity: sends the idempotency key, follows no redirect, reaches no private network.

Input: `url`, and optionally `method` (POST), `json`, `headers`, `query`. Output: `status` and `body`.

The host is resolved once, checked against private, loopback and link-local ranges, and the connection goes
to exactly that address, so that a name cannot point elsewhere between check and use. An administrator may
allow named hosts. The scheme `demo:` stands for the local service of `signoff demo`.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from signoff.connectors.call import ActivityError, Call

MAX_ANSWER_BYTES = 1_000_000
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_OURS = frozenset({"host", "idempotency-key", "content-length", "transfer-encoding", "connection"})
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


def plain_headers(given: dict[str, Any]) -> dict[str, str]:
    """The given headers without those the connector sets itself; only plain texts without line breaks."""
    headers = {str(k): str(v) for k, v in given.items() if str(k).lower() not in _OURS}
    for name, value in headers.items():
        if any(c in f"{name}{value}" for c in "\r\n\0"):
            raise ActivityError(f"The header '{name[:60]}' is not a plain text.", code="bad_input", retryable=False)
    return headers


class HttpConnector:
    """Makes one HTTP call per attempt."""

    def __init__(self, allowed_hosts: Collection[str] = (), demo_address: str = "") -> None:
        self._allowed = frozenset(allowed_hosts)
        self._demo = demo_address
        self._client = httpx2.Client(follow_redirects=False, trust_env=False)

    def __call__(self, call: Call) -> dict[str, Any]:
        """Make the call.

        Raises:
            ActivityError: `unreachable` (nothing was sent), `outcome_unknown` (the answer was lost),
                `http_NNN` (the service said no), `bad_input` and `forbidden_address` (not retryable).
        """
        given = call.input if isinstance(call.input, dict) else {}
        url = given.get("url")
        if not isinstance(url, str):
            raise ActivityError("The HTTP call has no 'url'.", code="bad_input", retryable=False)
        target, headers, extensions = self._target(url)
        headers = {**plain_headers(given.get("headers") or {}), **headers, "Idempotency-Key": call.key}
        request = self._client.build_request(
            str(given.get("method") or "POST").upper(),
            target,
            json=given.get("json"),
            params=given.get("query"),
            headers=headers,
            timeout=call.deadline_s,
            extensions=extensions,
        )
        try:
            response = self._client.send(request, stream=True)
            try:
                body = self._body(response)
            finally:
                response.close()
        except _NOT_SENT as error:
            raise ActivityError(f"{_shown(url)} could not be reached: {error}", code="unreachable") from None
        except httpx2.HTTPError as error:
            kind = type(error).__name__
            raise ActivityError(f"The answer of {_shown(url)} was lost ({kind}).", code="outcome_unknown") from None
        return self._judge(url, response.status_code, body)

    def _judge(self, url: str, status: int, body: Any) -> dict[str, Any]:
        if 200 <= status < 300:
            return {"status": status, "body": body}
        detail = body.get("message", "") if isinstance(body, dict) else ""
        raise ActivityError(
            f"{_shown(url)} answered {status}." + (f" {detail}" if detail else ""),
            code=f"http_{status}",
            retryable=status in _RETRYABLE,
        )

    @staticmethod
    def _body(response: httpx2.Response) -> Any:
        data = bytearray()
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > MAX_ANSWER_BYTES:
                raise ActivityError("The answer is larger than 1 MB.", code="too_large", retryable=False)
        if "json" in response.headers.get("content-type", ""):
            try:
                return httpx2.Response(200, content=bytes(data)).json()
            except ValueError:
                raise ActivityError(
                    "The answer says it is JSON but is not.", code="bad_answer", retryable=False
                ) from None
        return data.decode("utf-8", "replace")

    def _target(self, url: str) -> tuple[str, dict[str, str], dict[str, Any]]:
        parts = urlsplit(url)
        if parts.scheme == "demo" and self._demo:
            if parts.netloc or not parts.path.startswith("/"):
                raise ActivityError("A demo address is written demo:///path.", code="bad_input", retryable=False)
            service = urlsplit(self._demo)
            return urlunsplit((service.scheme, service.netloc, parts.path, parts.query, "")), {}, {}
        return pinned(url, self._allowed)

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()


def pinned(url: str, allowed: Collection[str]) -> tuple[str, dict[str, str], dict[str, Any]]:
    """An address with its host resolved once: the address to call, the headers and the extensions that go with it.

    Raises:
        ActivityError: no http(s) address, an unknown host, or one inside a private network that is not `allowed`.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ActivityError(f"'{_shown(url)}' is not an http(s) address.", code="bad_input", retryable=False)
    host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    address = _resolve(host, port, allowed)
    shown = f"[{address}]" if ":" in address else address
    target = urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, ""))
    named = f"{host}:{parts.port}" if parts.port else host
    return target, {"Host": named}, {"sni_hostname": host}


def _resolve(host: str, port: int, allowed: Collection[str]) -> str:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ActivityError(f"The host '{host[:100]}' is not known.", code="unreachable") from None
    addresses = [str(f[4][0]) for f in found]
    if host not in allowed:
        for address in addresses:
            if not _is_public(address):
                raise ActivityError(
                    f"'{host[:100]}' is an address inside a private network.",
                    code="forbidden_address",
                    retryable=False,
                )
    return addresses[0]


_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_TUNNELS = tuple(ipaddress.ip_network(n) for n in ("2002::/16", "2001::/32"))
"""6to4 and Teredo: IPv6 addresses that carry an IPv4 address inside."""


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.split("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip not in _GLOBAL_UNICAST or any(ip in t for t in _TUNNELS):
            return False
    return ip.is_global and not ip.is_multicast


def _shown(url: str) -> str:
    """The address without query and credentials, for messages."""
    parts = urlsplit(url)
    if parts.scheme == "demo":
        return f"The demo service ({parts.path[:150]})"
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"[:200]
