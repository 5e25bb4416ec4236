"""Definitions, drafts, versions, people and sessions for readers."""

from __future__ import annotations

from typing import Any

from signoff.store.reads.reader import Reader


def list_definitions(reader: Reader, tenant: str) -> list[tuple[Any, ...]]:
    """Columns of `DefinitionRow`, by title; the version is the one that new runs use."""
    return reader.rows(
        "SELECT d.name, d.title, f.revision, f.saved_by, f.saved_at, v.version, v.digest, v.published_at,"
        " (SELECT count(*) FROM run r JOIN definition_version x ON x.id = r.version_id WHERE x.definition_id = d.id"
        "  AND r.status IN ('running', 'paused', 'stalled', 'cancelling', 'compensating')),"
        " d.archived OR coalesce(v.archived, FALSE)"
        " FROM definition d"
        " LEFT JOIN draft f ON f.definition_id = d.id"
        "  AND f.revision = (SELECT max(revision) FROM draft WHERE definition_id = d.id)"
        " LEFT JOIN definition_version v ON v.definition_id = d.id"
        "  AND v.version = (SELECT x.version FROM definition_version x WHERE x.definition_id = d.id"
        "   ORDER BY x.archived, x.version DESC LIMIT 1)"
        " WHERE d.tenant=? ORDER BY d.title, d.name",
        (tenant,),
    )


def find_draft(reader: Reader, tenant: str, name: str) -> tuple[Any, ...] | None:
    """(revision, document, layout, saved_by, saved_at) of the newest revision."""
    return reader.one(
        "SELECT f.revision, f.document, f.layout, f.saved_by, f.saved_at FROM draft f JOIN definition d"
        " ON d.id = f.definition_id WHERE d.tenant=? AND d.name=? ORDER BY f.revision DESC LIMIT 1",
        (tenant, name),
    )


_VERSION = (
    "SELECT d.name, v.version, v.digest, v.document, v.layout, v.published_by, v.published_at, "
    " v.archived OR d.archived, v.id FROM definition_version v JOIN definition d ON d.id = v.definition_id"
)


def list_versions(reader: Reader, tenant: str, name: str) -> list[tuple[Any, ...]]:
    """All versions of a definition, newest first."""
    return reader.rows(f"{_VERSION} WHERE d.tenant=? AND d.name=? ORDER BY v.version DESC", (tenant, name))


def find_version(reader: Reader, tenant: str, name: str, version: int) -> tuple[Any, ...] | None:
    """One version by its number."""
    return reader.one(f"{_VERSION} WHERE d.tenant=? AND d.name=? AND v.version=?", (tenant, name, version))


def get_version(reader: Reader, version_id: int) -> tuple[Any, ...]:
    """One version by its key."""
    found = reader.one(f"{_VERSION} WHERE v.id=?", (version_id,))
    assert found is not None
    return found


def find_session(reader: Reader, token_hash: str, now: int) -> tuple[Any, ...] | None:
    """(tenant, login, name, email, roles, kind, method) of an active account with that session."""
    return reader.one(
        "SELECT s.tenant, p.login, p.name, p.email, p.roles, p.kind, s.method FROM session s JOIN person p"
        " ON p.tenant = s.tenant AND p.login = s.login WHERE s.token_hash=? AND s.expires_at > ? AND p.active",
        (token_hash, now),
    )


def find_password_hash(reader: Reader, tenant: str, login: str) -> str | None:
    """The hash of an active account's password."""
    found = reader.one(
        "SELECT password_hash FROM person WHERE tenant=? AND login=? AND active AND kind='person'",
        (tenant, login.casefold()),
    )
    return found[0] if found and found[0] else None


def list_people(reader: Reader, tenant: str) -> list[tuple[Any, ...]]:
    """(login, name, email, roles, active, kind) by login."""
    return reader.rows(
        "SELECT login, name, email, roles, active, kind FROM person WHERE tenant=? ORDER BY login", (tenant,)
    )


def list_memberships(reader: Reader, tenant: str) -> list[tuple[Any, ...]]:
    """(group, login, active) by group and login."""
    return reader.rows(
        "SELECT m.group_name, m.login, p.active FROM membership m JOIN person p ON p.tenant = m.tenant"
        " AND p.login = m.login WHERE m.tenant=? ORDER BY m.group_name, m.login",
        (tenant,),
    )


def list_audit(reader: Reader, tenant: str, before: int | None, limit: int) -> list[tuple[Any, ...]]:
    """(id, at, actor, channel, action, subject, outcome, message), newest first."""
    return reader.rows(
        "SELECT id, at, actor, channel, action, subject, outcome, message FROM audit WHERE tenant=? AND id < ?"
        " ORDER BY id DESC LIMIT ?",
        (tenant, before if before is not None else 2**62, limit),
    )
