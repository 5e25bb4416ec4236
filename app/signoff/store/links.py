"""Links that let one person answer one approval or form once: issued, looked up, spent."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from signoff.store.people import hash_secret

TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Link:
    """A stored link; `run_id` is the public id of its run. Times are microseconds.

    Who it is for (`login`) signs in. `on_behalf_of` is whom they answer for while the absence of that number lasts; ""
    and 0 where they answer for themselves.
    """

    id: int
    tenant: str
    run_id: str
    step: str
    generation: int
    round: int
    login: str
    actions: tuple[str, ...]
    shown_digest: str
    token_hash: str
    issued_at: int
    expires_at: int
    binding: str = ""
    used_at: int | None = None
    outcome: str = ""
    revoked_at: int | None = None
    revoked: str = ""
    on_behalf_of: str = ""
    absence: int = 0

    @property
    def voter(self) -> str:
        """Login of the person whose answer it gives."""
        return self.on_behalf_of or self.login

    @property
    def name(self) -> str:
        """What logs, evidence and decisions call it: the beginning of the hash, never the token."""
        return self.token_hash[:16]

    def bind(self, token: str) -> Link:
        """The same link with the MAC of everything it is bound to, under its own token."""
        return replace(self, binding=self._mac(token))

    def is_bound(self, token: str) -> bool:
        """Whether nothing it is bound to was changed since it was issued."""
        return hmac.compare_digest(self._mac(token), self.binding)

    def _mac(self, token: str) -> str:
        bound = (
            self.tenant, self.run_id, self.step, self.generation, self.round, self.login, " ".join(self.actions),
            self.shown_digest, self.token_hash, self.issued_at, self.expires_at,
            *((self.on_behalf_of, self.absence) if self.on_behalf_of else ()),
        )  # fmt: skip
        text = "\0".join(str(part) for part in bound)
        return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


class _Rows(Protocol):
    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...


class _Writes(_Rows, Protocol):
    def write(self, statement: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement; the number of rows it changed."""
        ...


_FIND = (
    "SELECT l.id, l.tenant, r.public_id, l.step, l.generation, l.round, l.login, l.actions, l.shown_digest,"
    " l.token_hash, l.issued_at, l.expires_at, l.binding, l.used_at, l.outcome, l.revoked_at, l.revoked,"
    " l.on_behalf_of, l.absence"
    " FROM approval_link l JOIN run r ON r.id = l.run WHERE l.token_hash=? AND l.tenant=?"
)
assert len(fields(Link)) == _FIND.split(" FROM ")[0].count(",") + 1


def find_link(store: _Rows, tenant: str, token: str) -> Link | None:
    """The link of a tenant that a token stands for, whatever has become of it."""
    found = store.rows(_FIND, (hash_secret(token), tenant))
    if not found:
        return None
    row = list(found[0])
    row[7] = tuple(str(row[7]).split())
    return Link(*row)


def add_link(store: _Writes, run: int, delivery: int, link: Link) -> None:
    """Remember a link that is about to be sent."""
    store.write(
        "INSERT INTO approval_link(tenant, run, step, generation, round, login, actions, shown_digest, token_hash,"
        " binding, delivery, issued_at, expires_at, outcome, revoked, on_behalf_of, absence)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,'','',?,?)",
        (
            link.tenant, run, link.step, link.generation, link.round, link.login, " ".join(link.actions),
            link.shown_digest, link.token_hash, link.binding, delivery, link.issued_at, link.expires_at,
            link.on_behalf_of, link.absence,
        ),
    )  # fmt: skip


def spend_link(store: _Writes, link: Link, at: int, outcome: str) -> bool:
    """Mark a link as used; False where it was used before."""
    statement = "UPDATE approval_link SET used_at=?, outcome=? WHERE id=? AND used_at IS NULL AND revoked_at IS NULL"
    return store.write(statement, (at, outcome, link.id)) == 1


def revoke_links_of_absence(store: _Writes, tenant: str, absence: int, at: int) -> int:
    """End the links of who decided in an absence that is over before its time; how many there were."""
    statement = (
        "UPDATE approval_link SET revoked_at=?, revoked='absence over'"
        " WHERE tenant=? AND absence=? AND used_at IS NULL AND revoked_at IS NULL"
    )
    return store.write(statement, (at, tenant, absence))
