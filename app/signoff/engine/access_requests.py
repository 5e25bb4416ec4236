"""Tokens of programs, and ending sessions. A token can do at most what its account may, and never make another one."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from signoff.engine.access_queries import TOKEN_PREFIX
from signoff.engine.auditing import audit, is_administrator
from signoff.engine.permissions import MAY, NOT_BY_TOKEN, permitted
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import Forbidden, InvalidInput, NotFound
from signoff.store import access
from signoff.store.people import Account
from signoff.store.times import from_micros, to_micros

Answer = dict[str, Any]
MIN_DAYS, MAX_DAYS = 0.01, 400.0
MAX_TOKENS = 50


def create_token(tx: Transaction, r: Request) -> Answer:
    """A new token for oneself, or by an administrator for a service account; its secret is in this answer only."""
    login = str(r.args.get("login") or r.actor.id).casefold()
    account = _whose(tx, r, login, "make a token for")
    name = str(required(r.args, "name")).strip()[:100]
    scopes = tuple(sorted({str(s) for s in required(r.args, "scopes", list)}))
    days = r.args.get("days", 90)
    if not name or not isinstance(days, int | float) or isinstance(days, bool) or not MIN_DAYS <= days <= MAX_DAYS:
        message = "A token needs a name, and is good for 0.01 (a quarter of an hour) to 400 days."
        raise InvalidInput(message, remedy="Give both.")
    most = permitted(account.roles) - NOT_BY_TOKEN
    unknown = [s for s in scopes if s not in MAY or s in NOT_BY_TOKEN]
    beyond = [s for s in scopes if s not in most and s not in unknown]
    if unknown or beyond or not scopes:
        what = f"There are no scopes {', '.join(unknown)[:200]}." if unknown else "A token needs at least one scope."
        if beyond and not unknown:
            what = f"'{login}' may not do this without a token either: {', '.join(beyond)}."
        raise InvalidInput(what, code="bad_scopes", remedy=f"Choose among: {', '.join(sorted(most)) or 'none'}.")
    standing = [t for t in access.list_tokens(tx.journal, r.tenant, login) if t.revoked_at is None]
    if sum(from_micros(t.expires_at) > tx.now for t in standing) >= MAX_TOKENS:
        raise InvalidInput(f"'{login}' has {MAX_TOKENS} tokens already.", remedy="Revoke some.")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires = tx.now + timedelta(days=days)
    at = to_micros(tx.now)
    token = access.Token(0, r.tenant, login, name, scopes, at, r.actor.id, to_micros(expires))

    def write(journal: Any) -> int:
        number = access.add_token(journal, secret, token)
        audit(tx, r, f"{login}: token {number} '{name}'", f"scopes {' '.join(scopes)}; until {expires:%Y-%m-%d %H:%M}")
        return number

    number = tx.direct(write)
    return ok(id=number, token=secret, login=login, name=name, scopes=list(scopes), expires_at=expires.isoformat())


def revoke_token(tx: Transaction, r: Request) -> Answer:
    """End one's own token, or as an administrator anybody's; it is refused from the next request on."""
    token = access.get_token(tx.journal, r.tenant, required(r.args, "id", int))
    mine = token is not None and token.login == r.actor.id.casefold()
    if token is None or not (mine or is_administrator(tx, r)):
        raise NotFound("There is no such token.", remedy="Look into the list of tokens.")
    at = to_micros(tx.now)

    def write(journal: Any) -> bool:
        ended = access.revoke_token(journal, r.tenant, token.id, at, r.actor.id)
        if ended:
            audit(tx, r, f"{token.login}: token {token.id} '{token.name}'", "")
        return ended

    return ok(id=token.id, revoked=tx.direct(write))


def end_sessions(tx: Transaction, r: Request) -> Answer:
    """End one's own sessions: the one named by `id`, all but `but`, or all; an administrator may name a `login`."""
    login = str(r.args.get("login") or r.actor.id).casefold()
    if login != r.actor.id.casefold() and not is_administrator(tx, r):
        raise Forbidden("Only an administrator ends somebody else's sessions.", remedy="Ask one.")
    only, but = str(r.args.get("id") or ""), str(r.args.get("but") or "")

    def write(journal: Any) -> int:
        count = access.remove_sessions(journal, r.tenant, login, only=only, but=but)
        audit(tx, r, login, f"{count} sessions ended")
        return count

    return ok(ended=tx.direct(write))


def touch_token(tx: Transaction, r: Request) -> Answer:
    """A program used its token."""
    number, at = required(r.args, "id", int), to_micros(tx.now)
    token = access.get_token(tx.journal, r.tenant, number)
    if token is not None and token.login == r.actor.id.casefold():
        tx.direct(lambda journal: access.touch_token(journal, r.tenant, number, at))
    return ok()


def check_token(tx: Transaction, r: Request, account: Account) -> None:
    """What a request with a program's token may do, looked up in the transaction that does it.

    Raises:
        Forbidden: the token ended, belongs to another account, or does not allow this request.
    """
    token = access.get_token(tx.journal, r.tenant, r.token)
    good = token is not None and token.login == account.login and token.revoked_at is None
    if token is None or not good or from_micros(token.expires_at) <= tx.now:
        raise Forbidden("This token is not good any more.", code="bad_token", remedy="Use another one.")
    if r.do != "touch_token" and (r.do in NOT_BY_TOKEN or r.do not in token.scopes):
        raise Forbidden(
            f"The token '{token.name}' does not allow '{r.do}'.", code="not_in_scope", remedy="Use one that does."
        )


def _whose(tx: Transaction, r: Request, login: str, what: str) -> Account:
    account = tx.directory(r.tenant)[1].get(login)
    if login != r.actor.id.casefold():
        if not is_administrator(tx, r):
            raise Forbidden(f"Only an administrator may {what} somebody else.", remedy="Ask one.")
        if account is None or account.kind != "service":
            raise Forbidden(f"Nobody may {what} another person, only service accounts.", remedy="Let them do it.")
    if account is None or not account.active:
        raise NotFound(f"There is no active account '{login[:60]}'.", remedy="Create it first.")
    return account


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "create_token": create_token,
    "revoke_token": revoke_token,
    "end_sessions": end_sessions,
    "touch_token": touch_token,
}
