"""Sessions of people and tokens of programs: statements of the writer and of readers. Only hashes are stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from signoff.store.people import hash_secret

ID_CHARS = 16


class Rows(Protocol):
    """What reads."""

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...


class Writes(Rows, Protocol):
    """What writes."""

    def write(self, statement: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement; the number of rows it changed."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser or tool. `id` is the beginning of its hash. Times are microseconds."""

    id: str
    login: str
    created_at: int
    expires_at: int
    address: str
    agent: str
    method: str
    confirmed_at: int


@dataclass(frozen=True, slots=True)
class Token:
    """A credential of a program, without its secret. Times are microseconds."""

    id: int
    tenant: str
    login: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    created_by: str
    expires_at: int
    used_at: int | None = None
    revoked_at: int | None = None
    revoked_by: str = ""


def add_session(store: Writes, secret: str, tenant: str, session: Session) -> None:
    """Remember a session; expired ones of anybody are removed on the way."""
    store.write("DELETE FROM session WHERE expires_at < ?", (session.created_at,))
    store.write(
        "INSERT INTO session(token_hash, tenant, login, created_at, expires_at, address, agent, method, confirmed_at)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        (
            hash_secret(secret), tenant, session.login, session.created_at, session.expires_at, session.address,
            session.agent, session.method, session.confirmed_at,
        ),
    )  # fmt: skip


def remove_session(store: Writes, tenant: str, secret: str) -> None:
    """End a session."""
    store.write("DELETE FROM session WHERE tenant=? AND token_hash=?", (tenant, hash_secret(secret)))


def remove_sessions(store: Writes, tenant: str, login: str, *, only: str = "", but: str = "") -> int:
    """End the sessions of a person: all, the one with the id `only`, or all but one; returns how many."""
    where, more = "", list[str]()
    if only:
        where, more = f" AND substr(token_hash, 1, {ID_CHARS})=?", [only]
    elif but:
        where, more = f" AND substr(token_hash, 1, {ID_CHARS}) <> ?", [but]
    return store.write(f"DELETE FROM session WHERE tenant=? AND login=?{where}", (tenant, login, *more))


def list_sessions(store: Rows, tenant: str, login: str, now: int) -> list[Session]:
    """The sessions of a person that stand now, the newest first."""
    found = store.rows(
        f"SELECT substr(token_hash, 1, {ID_CHARS}), login, created_at, expires_at, address, agent, method,"
        " coalesce(confirmed_at, created_at) FROM session WHERE tenant=? AND login=? AND expires_at > ?"
        " ORDER BY created_at DESC, token_hash",
        (tenant, login, now),
    )
    return [Session(*row) for row in found]


def confirm_session(store: Writes, tenant: str, login: str, session_id: str, at: int) -> None:
    """The person gave their password again in this session."""
    store.write(
        f"UPDATE session SET confirmed_at=? WHERE tenant=? AND login=? AND substr(token_hash, 1, {ID_CHARS})=?",
        (at, tenant, login, session_id),
    )


_TOKENS = (
    "SELECT id, tenant, login, name, scopes, created_at, created_by, expires_at, used_at, revoked_at, revoked_by"
    " FROM api_token"
)


def add_token(store: Writes, secret: str, token: Token) -> int:
    """Remember a token; returns its number."""
    store.write(
        "INSERT INTO api_token(tenant, login, name, token_hash, scopes, created_at, created_by, expires_at, revoked_by)"
        " VALUES (?,?,?,?,?,?,?,?,'')",
        (
            token.tenant, token.login, token.name, hash_secret(secret), " ".join(token.scopes), token.created_at,
            token.created_by, token.expires_at,
        ),
    )  # fmt: skip
    return int(store.rows("SELECT id FROM api_token WHERE token_hash=?", (hash_secret(secret),))[0][0])


def find_token(store: Rows, secret: str) -> Token | None:
    """The token of a secret, whatever has become of it."""
    return next(iter(_tokens(store, f"{_TOKENS} WHERE token_hash=?", (hash_secret(secret),))), None)


def get_token(store: Rows, tenant: str, number: int) -> Token | None:
    """A token by its number."""
    return next(iter(_tokens(store, f"{_TOKENS} WHERE tenant=? AND id=?", (tenant, number))), None)


def list_tokens(store: Rows, tenant: str, login: str = "") -> list[Token]:
    """The tokens of a tenant, or of one account, the newest first."""
    if login:
        return _tokens(store, f"{_TOKENS} WHERE tenant=? AND login=? ORDER BY id DESC", (tenant, login))
    return _tokens(store, f"{_TOKENS} WHERE tenant=? ORDER BY id DESC", (tenant,))


def touch_token(store: Writes, tenant: str, number: int, at: int) -> None:
    """It was used."""
    store.write("UPDATE api_token SET used_at=? WHERE tenant=? AND id=?", (at, tenant, number))


def revoke_token(store: Writes, tenant: str, number: int, at: int, by: str) -> bool:
    """End a token; False where it had ended before."""
    statement = "UPDATE api_token SET revoked_at=?, revoked_by=? WHERE tenant=? AND id=? AND revoked_at IS NULL"
    return store.write(statement, (at, by, tenant, number)) == 1


def _tokens(store: Rows, statement: str, parameters: tuple[Any, ...]) -> list[Token]:
    found = []
    for row in store.rows(statement, parameters):
        values: list[Any] = list(row)
        values[4] = tuple(str(values[4]).split())
        found.append(Token(*values))
    return found
