"""Signing in by what a provider said: the account is made or brought up to date, then a session begins."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from signoff.engine.people_requests import SESSION_HOURS, lost_trust
from signoff.engine.permissions import ROLES
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import Forbidden
from signoff.store import access
from signoff.store import people as p
from signoff.store.times import to_micros


def sign_in_oidc(tx: Transaction, r: Request) -> dict[str, Any]:
    """Begin a session of the account that belongs to an issuer's subject; roles and groups are those it says now.

    A login that exists without belonging to that subject is not taken over.
    """
    external = f"{required(r.args, 'issuer')} {required(r.args, 'subject')}"
    at = to_micros(tx.now)
    login = p.find_external(tx.journal, r.tenant, external) or required(r.args, "login").casefold().strip()
    old = p.find_account(tx.journal, r.tenant, login)
    if old is not None and old.external != external:
        _audit(tx, r, login, "refused", "The login belongs to another account.")
        raise Forbidden(
            f"There is an account '{login[:60]}' that does not belong to this identity.", code="login_taken",
            remedy="Ask an administrator.",
        )  # fmt: skip
    if old is not None and not old.active:
        _audit(tx, r, login, "refused", "The account is closed.")
        raise Forbidden("This account is closed.", code="closed", remedy="Ask an administrator.")
    roles = tuple(x for x in r.args.get("roles") or () if x in ROLES)
    groups = tuple(str(g) for g in r.args.get("groups") or ())
    name, email = str(r.args.get("name") or login), str(r.args.get("email") or "")
    account = p.Account(login, name, email, "", roles, True, "person", external)
    before = {g for g, members in p.load_groups(tx.journal, r.tenant).items() if login in members}
    changed = old != account or before != set(groups)
    secret, expires = secrets.token_urlsafe(32), tx.now + timedelta(hours=SESSION_HOURS)
    address, agent = str(r.args.get("address") or ""), str(r.args.get("agent") or "")[:200]
    given = min(max(int(r.args.get("credential_at") or 0), 0) * 1_000_000, at)  # 0: the provider does not say
    session = access.Session("", login, at, to_micros(expires), address, agent, "oidc", given)

    def write(journal: Any) -> None:
        if changed:
            p.save_account(journal, r.tenant, account, groups, at)
            if old is not None and lost_trust(old, account):
                access.remove_sessions(journal, r.tenant, login)
        access.add_session(journal, secret, r.tenant, session)

    tx.direct(write)
    _audit(tx, r, login, "done", f"roles {' '.join(roles)}; groups {' '.join(groups)}" if changed else "")
    if changed:
        tx.people_changed(r.tenant)
    return ok(session=secret, login=login, name=name, expires_at=expires.isoformat())


def _audit(tx: Transaction, r: Request, login: str, outcome: str, message: str) -> None:
    at = to_micros(tx.now)
    tx.direct(lambda j: p.add_audit(j, r.tenant, at, login, r.actor.channel, "sign_in", login, outcome, message))


HANDLERS: dict[str, Callable[[Transaction, Request], dict[str, Any]]] = {"sign_in_oidc": sign_in_oidc}
