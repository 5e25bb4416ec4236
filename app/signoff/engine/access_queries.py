"""Reads about who is signed in, and about the tokens of programs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signoff.engine.views import Person, SessionView, TokenView
from signoff.store import access
from signoff.store.people import hash_secret
from signoff.store.reads import definitions as d
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, from_micros_or_none, to_micros

TOKEN_PREFIX = "sgn_"


class AccessQueries:
    """Mixed into `Queries`, which owns the reader and the clock."""

    _reader: Reader
    _now: Callable[[], datetime]

    def find_session(self, secret: str) -> Person | None:
        """The person a session secret belongs to, while it and the account are valid."""
        token_hash = hash_secret(secret)
        found = d.find_session(self._reader, token_hash, to_micros(self._now()))
        if found is None:
            return None
        tenant, login, name, email, roles, kind, method = found
        groups, session = self._groups(tenant, login), token_hash[: access.ID_CHARS]
        own = tuple(roles.split())
        return Person(tenant, login, name, email, own, groups, session_id=session, kind=kind, signed_in=method)

    def find_caller(self, secret: str) -> Person | None:
        """The account behind a bearer secret: of a session, or of a program's token."""
        if not secret.startswith(TOKEN_PREFIX):
            return self.find_session(secret)
        token = access.find_token(self._reader, secret)
        if token is None or token.revoked_at is not None or token.expires_at <= to_micros(self._now()):
            return None
        for login, name, email, roles, active, kind in d.list_people(self._reader, token.tenant):
            if login == token.login and active:
                groups, own = self._groups(token.tenant, login), tuple(roles.split())
                return Person(
                    token.tenant, login, name, email, own, groups, kind=kind, scopes=token.scopes, token=token.id
                )
        return None

    def _groups(self, tenant: str, login: str) -> tuple[str, ...]:
        return tuple(g for g, member, _ in d.list_memberships(self._reader, tenant) if member == login)

    def find_password_hash(self, tenant: str, login: str) -> str | None:
        """For the receiver of sign-in requests only; never shown. Services have none."""
        return d.find_password_hash(self._reader, tenant, login)

    def list_sessions(self, person: Person) -> list[SessionView]:
        """A person's own sessions, the newest first."""
        found = access.list_sessions(self._reader, person.tenant, person.login, to_micros(self._now()))
        return [
            SessionView(
                s.id, from_micros(s.created_at), from_micros(s.expires_at), from_micros(s.confirmed_at), s.address,
                s.agent, s.method, s.id == person.session_id,
            )
            for s in found
        ]  # fmt: skip

    def list_tokens(self, tenant: str, login: str = "") -> list[TokenView]:
        """Tokens of a tenant, or of one account, the newest first."""
        active = {p[0] for p in d.list_people(self._reader, tenant) if p[4]}
        now = to_micros(self._now())
        found = []
        for t in access.list_tokens(self._reader, tenant, login):
            over = "expired" if t.expires_at <= now else "good" if t.login in active else "closed"
            status = "revoked" if t.revoked_at is not None else over
            times = from_micros(t.created_at), t.created_by, from_micros(t.expires_at), from_micros_or_none(t.used_at)
            found.append(TokenView(t.id, t.login, t.name, t.scopes, status, *times))
        return found

    def is_used_lately(self, tenant: str, number: int, within_s: float) -> bool:
        """Whether a token's last use was noted a moment ago, so that it need not be noted again."""
        token = access.get_token(self._reader, tenant, number)
        used = token.used_at if token else None
        return used is not None and to_micros(self._now()) - used < within_s * 1_000_000
