"""A small OpenID provider on loopback: people are chosen by the test, and it can lie in every way a token can."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "signoff", "provider-secret"


@dataclass
class House:
    """What the provider knows. `person` signs in next; `lie` changes the token (claims, or `key`, `alg`).

    People are asked for their credential only where `max_age` says so; the token then says when.
    """

    issuer: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "42", "preferred_username": "olga", "name": "Olga"})
    lie: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "k1"}))
    other: Any = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "k1"}))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
            **({"auth_time": now} if "max_age" in asked else {}),
        }
        lie = dict(self.lie)
        key, alg = self.other if lie.pop("key", None) else self.key, lie.pop("alg", "RS256")
        claims = {k: v for k, v in {**claims, **lie}.items() if v is not None}
        if alg == "none":
            head = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).rstrip(b"=")
            body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
            return f"{head.decode()}.{body.decode()}."
        if alg == "HS256":  # signed with the public key, as if it were a shared secret
            parts = [json.dumps(x).encode() for x in ({"alg": "HS256", "kid": "k1"}, claims)]
            text = b".".join(base64.urlsafe_b64encode(p).rstrip(b"=") for p in parts)
            mac = hmac.new(self.key.as_pem(private=False), text, hashlib.sha256).digest()
            return (text + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()
        return jwt.encode({"alg": "RS256", "kid": "k1"}, claims, key)


class _Provider(BaseHTTPRequestHandler):
    house: House

    def do_GET(self) -> None:
        house, parts = self.house, urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            self._json({
                "issuer": house.issuer, "authorization_endpoint": f"{house.issuer}/authorize",
                "token_endpoint": f"{house.issuer}/token", "jwks_uri": f"{house.issuer}/keys",
            })  # fmt: skip
        elif parts.path == "/keys":
            self._json({"keys": [house.key.as_dict(private=False)]})
        elif parts.path == "/authorize":
            asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
            house.asked.append(asked)
            code = f"code-{len(house.asked)}"
            house.codes[code] = asked
            self.send_response(302)
            self.send_header(
                "Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
            )
            self.end_headers()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {k: v[0] for k, v in parse_qs(text).items()}
        asked = self.house.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(
            b"="
        )
        good = (
            asked is not None
            and asked["code_challenge"] == challenge.decode()
            and form.get("redirect_uri") == asked["redirect_uri"]
            and (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        )
        if not good or asked is None:
            self._json({"error": "invalid_grant"}, 400)
            return
        self._json({"access_token": "x", "token_type": "Bearer", "id_token": self.house.token(asked)})

    def _json(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def provider() -> Iterator[House]:
    """A provider for the `with` block."""
    house = House()
    handler: Any = type("Provider", (_Provider,), {"house": house})
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        server.daemon_threads = True
        house.issuer = f"http://localhost:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield house
        server.shutdown()
        thread.join(5)
