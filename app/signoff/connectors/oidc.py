"""Signing in at an OpenID provider: code flow with PKCE, state and nonce; the ID token is checked in full.

Needs the extra `oidc` (authlib). Nothing of what a browser brings back is believed before the provider has answered
for it: the code is exchanged from here, and the ID token's signature, issuer, audience, nonce and times are checked.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from signoff.connectors.post import secret_of
from signoff.errors import ConfigurationFault, NotSignedIn, Unavailable

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
KEPT_S = 600.0
TIMEOUT_S = 15.0
LEEWAY_S = 60
MAX_ANSWER_BYTES = 500_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """A provider, and what its groups mean here.

    Attributes:
        issuer: exactly as the provider writes it.
        client_id: this installation at the provider.
        client_secret: `env:NAME` or `file:/path`; "" for a public client.
        address: base address of our pages, without a slash at its end.
        name: what the button says.
        scopes: asked for beside `openid`.
        login_claim: the claim that becomes the login of a new account.
        groups_claim: the claim that lists a person's groups at the provider.
        roles: group at the provider to roles here.
        groups: group at the provider to group here.
    """

    issuer: str
    client_id: str
    address: str
    client_secret: str = ""
    name: str = "Single sign-on"
    scopes: tuple[str, ...] = ("profile", "email", "groups")
    login_claim: str = "preferred_username"
    groups_claim: str = "groups"
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> OidcSettings:
        """The same, where it can be safe.

        Raises:
            ConfigurationFault: an address is none, or would travel without TLS.
        """
        for what, url in (("issuer", self.issuer), ("address", self.address)):
            _refuse_plain(url, what)
        if not self.client_id or self.address.endswith("/"):
            raise ConfigurationFault("A client id and an address without '/' at its end are needed.", remedy="Correct.")
        return self

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.address}/login/oidc/callback"


@dataclass(frozen=True, slots=True)
class Pending:
    """A sign-in that was begun: what the browser keeps until it comes back.

    `asked_again` is when the person was to give their credential anew (seconds since 1970), 0 where that was not asked.
    """

    state: str
    nonce: str
    verifier: str
    asked_again: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who signed in, as the provider says, with roles and groups of ours.

    `credential_at` is when they gave their credential there (seconds since 1970), 0 where the provider does not say:
    coming back from a provider that knows somebody already is no proof that they were asked.
    """

    issuer: str
    subject: str
    login: str
    name: str
    email: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    credential_at: int = 0


def _refuse_plain(url: str, what: str) -> None:
    parts = urlsplit(url)
    good = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not good or not parts.hostname or parts.username or parts.fragment or parts.query:
        raise ConfigurationFault(f"The {what} '{url[:100]}' is no plain https address.", remedy="Correct it.")


class Provider:
    """One provider. Thread-safe; what it says about itself is asked for again every ten minutes."""

    def __init__(self, settings: OidcSettings, now: Callable[[], float] = time.time) -> None:
        try:
            import authlib.oidc.core  # noqa: F401
        except ImportError:
            raise ConfigurationFault(
                "Signing in at a provider needs the extra 'oidc'.", remedy="Install signoff[oidc]."
            ) from None
        self.settings = settings.check()
        self._now = now
        self._client = httpx2.Client(follow_redirects=False, trust_env=False, timeout=TIMEOUT_S)
        self._lock = threading.Lock()
        self._about: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, dict[str, Any]] | None = None

    def begin(self, *, again: bool = False) -> tuple[str, Pending]:
        """Where to send the browser, and what it must bring back; `again` asks the person for their credential.

        Raises:
            Unavailable: the provider does not answer.
        """
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        at = int(self._now()) if again else 0
        pending = Pending(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), at)
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.settings.redirect_uri,
            "scope": " ".join(("openid", *self.settings.scopes)),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": create_s256_code_challenge(pending.verifier),
            "code_challenge_method": "S256",
            **({"prompt": "login", "max_age": "0"} if again else {}),
        }
        end = self._endpoint("authorization_endpoint")
        return f"{end}{'&' if urlsplit(end).query else '?'}{urlencode(asked)}", pending

    def finish(self, code: str, pending: Pending) -> Identity:
        """Exchange the code and check who it is.

        Raises:
            NotSignedIn: the provider does not answer for the code, or its token is not good.
            Unavailable: the provider does not answer.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.settings.redirect_uri,
            "client_id": self.settings.client_id,
            "code_verifier": pending.verifier,
        }
        if self.settings.client_secret:
            form["client_secret"] = secret_of(self.settings.client_secret)
        answer = self._json("POST", self._endpoint("token_endpoint"), form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotSignedIn("The provider did not say who you are.", remedy="Try again.")
        who = self._identity(self._claims(token, pending.nonce, str(answer.get("access_token") or "")))
        if pending.asked_again and who.credential_at < pending.asked_again - LEEWAY_S:
            message = "The provider did not ask for your credential again, or does not say so."
            raise NotSignedIn(message, code="not_asked_again", remedy="Sign out there, then try again.")
        return who

    def _claims(self, token: str, nonce: str, access_token: str) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken

        try:
            decoded = self._decoded(token)
            options = {
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
                "sub": {"essential": True},
                "exp": {"essential": True},
                "iat": {"essential": True},
                "nonce": {"essential": True, "value": nonce},
            }
            parameters = {"nonce": nonce, "client_id": self.settings.client_id}
            if access_token and "at_hash" in decoded.claims:
                parameters["access_token"] = access_token
            claims = CodeIDToken(decoded.claims, decoded.header, options, parameters)
            claims.validate(int(self._now()), LEEWAY_S)
        except Exception as error:
            kind = type(error).__name__
            raise NotSignedIn(
                f"The provider's answer is not good ({kind}).", code="bad_id_token", remedy="Try again."
            ) from None
        found: dict[str, Any] = dict(decoded.claims)
        return found

    def _decoded(self, token: str) -> Any:
        """The token with a signature of the provider's; a key that is not known is looked for once more."""
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            keys = KeySet.import_key_set(self._key_set(fresh=False))  # type: ignore[arg-type]
            return jwt.decode(token, keys, algorithms=list(ALGORITHMS))
        except (JoseError, ValueError):
            keys = KeySet.import_key_set(self._key_set(fresh=True))  # type: ignore[arg-type]
            return jwt.decode(token, keys, algorithms=list(ALGORITHMS))

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        s = self.settings
        theirs = claims.get(s.groups_claim)
        names = [str(g) for g in theirs] if isinstance(theirs, list) else []
        roles = sorted({r for g in names for r in s.roles.get(g, ())})
        groups = sorted({s.groups[g] for g in names if g in s.groups})
        subject, login = str(claims["sub"]), str(claims.get(s.login_claim) or claims["sub"])
        verified = claims.get("email_verified") is not False
        email = str(claims.get("email") or "") if verified else ""
        name = str(claims.get("name") or login)
        said = claims.get("auth_time")
        at = int(said) if isinstance(said, int | float) and not isinstance(said, bool) and said > 0 else 0
        return Identity(
            s.issuer, subject[:255], login[:200], name[:200], email[:200], tuple(roles), tuple(groups),
            min(at, int(self._now())),
        )  # fmt: skip

    def _endpoint(self, name: str) -> str:
        with self._lock:
            about = self._about
        if about is None or about[0] < self._now():
            url = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            found = self._json("GET", url)
            if found.get("issuer") != self.settings.issuer:
                raise Unavailable("The provider calls itself by another name.", code="wrong_issuer", remedy="Check it.")
            about = (self._now() + KEPT_S, found)
            with self._lock:
                self._about = about
        end = str(about[1].get(name) or "")
        try:
            _refuse_plain(end.partition("?")[0], name)
        except ConfigurationFault as error:
            raise Unavailable(error.message, remedy="Ask an administrator.") from None
        return end

    def _key_set(self, *, fresh: bool) -> dict[str, Any]:
        with self._lock:
            keys = self._keys
        if keys is None or fresh or keys[0] < self._now():
            keys = (self._now() + KEPT_S, self._json("GET", self._endpoint("jwks_uri")))
            with self._lock:
                self._keys = keys
        return keys[1]

    def _json(self, method: str, url: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        try:
            answer = self._client.request(method, url, data=form, headers={"Accept": "application/json"})
            found = answer.json() if len(answer.content) <= MAX_ANSWER_BYTES else None
        except (httpx2.HTTPError, ValueError) as error:
            kind = type(error).__name__
            raise Unavailable(f"The provider cannot be reached ({kind}).", remedy="Try again in a moment.") from None
        if form is not None and 400 <= answer.status_code < 500:
            raise NotSignedIn("The provider does not accept this sign-in.", code="refused_code", remedy="Try again.")
        if answer.status_code != 200 or not isinstance(found, dict):
            raise Unavailable(f"The provider answered {answer.status_code}.", remedy="Try again in a moment.")
        return found
