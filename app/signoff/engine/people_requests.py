"""Accounts and sessions. Passwords are checked against argon2 hashes; guessing is slowed down."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from signoff.core.commands import CheckApprovers
from signoff.core.states import Actor
from signoff.engine.auditing import audit, audit_alone
from signoff.engine.braking import check_failures, guessed_names, note_failure
from signoff.engine.permissions import ROLES
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import InvalidInput, NotSignedIn
from signoff.store import access
from signoff.store import people as p
from signoff.store.times import to_micros

Answer = dict[str, Any]
SESSION_HOURS = 12
KINDS = ("person", "service")

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_DUMMY = _hasher.hash("nobody has this password")


def hash_password(password: str) -> str:
    """An argon2id hash."""
    return _hasher.hash(password)


def password_fits(password_hash: str | None, password: str) -> bool:
    """Check a password; takes the same time for accounts that do not exist."""
    try:
        good = _hasher.verify(password_hash or _DUMMY, password)
    except (VerifyMismatchError, InvalidHashError):
        return False
    return bool(good) and password_hash is not None


def sign_in(tx: Transaction, r: Request) -> Answer:
    """Answer with a new session secret; `context` is the hash that the given password was found to fit."""
    login, address = r.actor.id.casefold(), str(r.args.get("address") or "")
    names = guessed_names(login, address)
    check_failures(tx, names)
    account = p.find_account(tx.journal, r.tenant, login)
    fits = account is not None and account.active and bool(r.context) and r.context == account.password_hash
    if account is None or not fits:
        note_failure(tx, names)
        audit_alone(tx, r, login, "Wrong login or password.", outcome="refused")
        raise NotSignedIn("The login or the password is wrong.", remedy="Try again.")
    secret = secrets.token_urlsafe(32)
    expires = tx.now + timedelta(hours=SESSION_HOURS)

    at, agent = to_micros(tx.now), str(r.args.get("agent") or "")[:200]
    session = access.Session("", login, at, to_micros(expires), address, agent, "password", at)

    def write(journal: Any) -> None:
        access.add_session(journal, secret, r.tenant, session)
        audit(tx, r, login)

    tx.direct(write)
    return ok(session=secret, login=login, name=account.name, expires_at=expires.isoformat())


def sign_out(tx: Transaction, r: Request) -> Answer:
    """End a session."""
    tx.direct(lambda journal: access.remove_session(journal, r.tenant, required(r.args, "session")))
    return ok()


def save_person(tx: Transaction, r: Request) -> Answer:
    """Create or change an account; what is not given stays. `context` is the hash of a new password."""
    login = required(r.args, "login").casefold().strip()
    old = p.find_account(tx.journal, r.tenant, login)
    roles = r.args.get("roles")
    groups = r.args.get("groups")
    if groups is None:
        groups = [g for g, members in p.load_groups(tx.journal, r.tenant).items() if login in members]
    if roles is None:
        roles = list(old.roles) if old else []
    unknown = [x for x in roles if x not in ROLES]
    if not login or unknown or not all(isinstance(g, str) for g in groups):
        what = f"Roles that do not exist: {', '.join(map(str, unknown))}." if unknown else "A login is needed."
        raise InvalidInput(what, remedy=f"Roles: {', '.join(ROLES)}.")
    kind = str(r.args.get("kind") or (old.kind if old else "person"))
    account = p.Account(
        login,
        str(r.args.get("name") or (old.name if old else login))[:200],
        str(r.args.get("email") or (old.email if old else ""))[:200],
        str(r.context or (old.password_hash if old else "")),
        tuple(roles),
        r.args.get("active") is not False,
        old.kind if old else kind,
        old.external if old else "",
    )
    if kind not in KINDS or (account.kind == "service" and account.password_hash):
        raise InvalidInput(
            "An account is of a person or of a service; services have no password.", remedy="Correct it."
        )

    def write(journal: Any) -> None:
        p.save_account(journal, r.tenant, account, tuple(groups), to_micros(tx.now))
        if old is not None and lost_trust(old, account):
            access.remove_sessions(journal, r.tenant, login)
        audit(tx, r, login, f"roles {' '.join(roles)}; groups {' '.join(groups)}")

    tx.direct(write)
    tx.people_changed(r.tenant)
    _look_at_open_approvals(tx, r.tenant, login)
    return ok(login=login)


def lost_trust(old: p.Account, new: p.Account) -> bool:
    """Whether sessions that stand must end: the account was closed, or has other roles or another password."""
    before, after = (set(a.roles) for a in (old, new))
    return not new.active or before != after or bool(old.password_hash and old.password_hash != new.password_hash)


def _look_at_open_approvals(tx: Transaction, tenant: str, login: str) -> None:
    """Whoever leaves may make a quorum unreachable; that must be seen now, not when nobody answers."""
    engine = Actor("system", "directory", "Directory", "engine")
    for run_id, step in p.list_open_approvals(tx.journal, tenant, login):
        tx.command(tenant, run_id, CheckApprovers(actor=engine, step=step))


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "sign_in": sign_in,
    "sign_out": sign_out,
    "save_person": save_person,
}
