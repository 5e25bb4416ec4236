"""Accounts, sessions, idempotent requests, audit: statements of the writer, inside its transaction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from signoff.core.facts import Directory
from signoff.store.absences import facts_of, list_absences
from signoff.store.bodies import dump, load
from signoff.store.journal import Journal


@dataclass(frozen=True, slots=True)
class Account:
    """A local account."""

    login: str
    name: str
    email: str
    password_hash: str
    roles: tuple[str, ...]
    active: bool
    kind: str = "person"
    external: str = ""


def _account(row: tuple[Any, ...]) -> Account:
    login, name, email, password_hash, roles, active, kind, external = row
    return Account(login, name, email, password_hash, tuple(roles.split()), bool(active), kind, external)


def find_external(journal: Journal, tenant: str, external: str) -> str | None:
    """The login of the account that belongs to an issuer's subject."""
    found = journal.rows("SELECT login FROM person WHERE tenant=? AND external=?", (tenant, external))
    return found[0][0] if found and external else None


def find_account(journal: Journal, tenant: str, login: str) -> Account | None:
    """An account by login (logins are stored in lower case)."""
    found = journal.rows(
        "SELECT login, name, email, password_hash, roles, active, kind, external FROM person"
        " WHERE tenant=? AND login=?",
        (tenant, login.casefold()),
    )
    return _account(found[0]) if found else None


def save_account(journal: Journal, tenant: str, account: Account, groups: tuple[str, ...], at: int) -> None:
    """Create or replace an account and its memberships."""
    login = account.login.casefold()
    journal.write(
        "INSERT INTO person(tenant, login, name, email, password_hash, roles, active, created_at, kind, external)"
        " VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT(tenant, login) DO UPDATE SET name=excluded.name,"
        " email=excluded.email, password_hash=excluded.password_hash, roles=excluded.roles, active=excluded.active",
        (
            tenant,
            login,
            account.name,
            account.email,
            account.password_hash,
            " ".join(account.roles),
            account.active,
            at,
            account.kind,
            account.external,
        ),
    )
    journal.write("DELETE FROM membership WHERE tenant=? AND login=?", (tenant, login))
    for group in groups:
        journal.write("INSERT INTO membership(tenant, group_name, login) VALUES (?,?,?)", (tenant, group, login))
    directory_changed(journal, tenant)


def directory_changed(journal: Journal, tenant: str) -> None:
    """The next decisions are made on another version of the directory."""
    journal.write(
        "INSERT INTO setting(tenant, name, value) VALUES (?, 'directory_version', '1')"
        " ON CONFLICT(tenant, name) DO UPDATE SET value = CAST(setting.value AS INTEGER) + 1",
        (tenant,),
    )


def list_open_approvals(journal: Journal, tenant: str, login: str) -> list[tuple[str, str]]:
    """(run id, step) of the open approvals with that person on their roster."""
    return [
        (r[0], r[1])
        for r in journal.rows(
            "SELECT r.public_id, a.step FROM approval_person m JOIN approval a ON a.id = m.approval_id"
            " JOIN run r ON r.id = a.run WHERE m.tenant=? AND m.login=? AND a.status='open' ORDER BY a.id",
            (tenant, login),
        )
    ]


def load_groups(journal: Journal, tenant: str) -> dict[str, tuple[str, ...]]:
    """Groups and all their members, closed accounts included."""
    groups: dict[str, tuple[str, ...]] = {}
    for group, login in journal.rows(
        "SELECT group_name, login FROM membership WHERE tenant=? ORDER BY group_name, login", (tenant,)
    ):
        groups[group] = (*groups.get(group, ()), login)
    return groups


def load_directory(journal: Journal, tenant: str, at: int = 0) -> tuple[Directory, dict[str, Account]]:
    """Active people and groups of a tenant, absences that are not over at that time, and all accounts by login."""
    accounts = {
        r[0]: _account(r)
        for r in journal.rows(
            "SELECT login, name, email, password_hash, roles, active, kind, external FROM person"
            " WHERE tenant=? ORDER BY login",
            (tenant,),
        )
    }
    active = {a.login for a in accounts.values() if a.active}
    groups = {g: tuple(m for m in members if m in active) for g, members in load_groups(journal, tenant).items()}
    version = journal.rows("SELECT value FROM setting WHERE tenant=? AND name='directory_version'", (tenant,))
    people = {a.login: a.name for a in accounts.values() if a.active}
    away = facts_of(list_absences(journal, tenant, after=at))
    return Directory(int(version[0][0]) if version else 0, groups, people, away), accounts


def hash_secret(secret: str) -> str:
    """How session secrets (128 random bits or more) are stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def find_request(journal: Journal, tenant: str, key: str) -> tuple[str, dict[str, Any]] | None:
    """Digest and answer of an earlier request with that key."""
    found = journal.rows("SELECT digest, answer FROM request WHERE tenant=? AND key=?", (tenant, key))
    return (found[0][0], load(found[0][1])) if found else None


def add_request(journal: Journal, tenant: str, key: str, digest: str, answer: dict[str, Any], at: int) -> None:
    """Remember the answer given to a key."""
    journal.write(
        "INSERT INTO request(tenant, key, digest, answer, at) VALUES (?,?,?,?,?)",
        (tenant, key, digest, dump(answer), at),
    )


def add_audit(
    journal: Journal,
    tenant: str,
    at: int,
    actor: str,
    channel: str,
    action: str,
    subject: str,
    outcome: str,
    message: str,
) -> None:
    """Record what was done or refused outside of a run."""
    journal.write(
        "INSERT INTO audit(tenant, at, actor, channel, action, subject, outcome, message) VALUES (?,?,?,?,?,?,?,?)",
        (tenant, at, actor, channel, action, subject, outcome, message[:2000]),
    )
