"""Accounts, groups, sessions, settings, and the audit of what is no part of a run."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel


class PersonTable(SQLModel, table=True):
    """A local account. `roles` is a space-separated list; `kind` is `person`, or `service` for programs.

    `external` is issuer and subject of who signs in at a provider, "" of local accounts.
    """

    __tablename__ = "person"

    tenant: str = Field(primary_key=True)
    login: str = Field(primary_key=True)
    name: str
    email: str
    password_hash: str
    roles: str
    active: bool = True
    created_at: int
    kind: str = Field(default="person", sa_column_kwargs={"server_default": text("'person'")})
    external: str = Field(default="", sa_column_kwargs={"server_default": text("''")})


class MembershipTable(SQLModel, table=True):
    """Who belongs to which group."""

    __tablename__ = "membership"

    tenant: str = Field(primary_key=True)
    group_name: str = Field(primary_key=True)
    login: str = Field(primary_key=True)


class SessionTable(SQLModel, table=True):
    """A signed-in browser or tool; only the SHA-256 of its secret is stored."""

    __tablename__ = "session"

    token_hash: str = Field(primary_key=True)
    tenant: str
    login: str
    created_at: int
    expires_at: int
    address: str
    agent: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    method: str = Field(default="password", sa_column_kwargs={"server_default": text("'password'")})
    confirmed_at: int | None = None


class ApiTokenTable(SQLModel, table=True):
    """A credential of a program; only the SHA-256 of its secret is stored. `scopes` is a space-separated list."""

    __tablename__ = "api_token"
    __table_args__ = (UniqueConstraint("token_hash"), Index("api_token_of", "tenant", "login"))

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    login: str
    name: str
    token_hash: str
    scopes: str
    created_at: int
    created_by: str
    expires_at: int
    used_at: int | None = None
    revoked_at: int | None = None
    revoked_by: str = ""


class AbsenceTable(SQLModel, table=True):
    """While somebody is absent, another decides for them. Nothing is deleted: an absence ends or is revoked."""

    __tablename__ = "absence"
    __table_args__ = (
        CheckConstraint("begins < ends"),
        Index("absence_of_delegate", "tenant", "delegate", "ends"),
        Index("absence_of_person", "tenant", "person", "ends"),
    )

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    person: str
    delegate: str
    begins: int
    ends: int
    reason: str
    set_by: str
    set_at: int
    revoked_at: int | None = None
    revoked_by: str | None = None
    revoked_reason: str | None = None


class SettingTable(SQLModel, table=True):
    """Small facts about an installation, for example the directory version."""

    __tablename__ = "setting"

    tenant: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    value: str


class FailureTable(SQLModel, table=True):
    """A failed try of the last minutes, counted by the brakes. `name` is a hash of what it is counted under."""

    __tablename__ = "failure"
    __table_args__ = (Index("failure_by_name", "name", "at"), Index("failure_by_time", "at"))

    id: int | None = Field(default=None, primary_key=True)
    name: str
    at: int


class AuditTable(SQLModel, table=True):
    """What people did outside of runs, and what they were refused."""

    __tablename__ = "audit"
    __table_args__ = (Index("audit_by_time", "tenant", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    at: int
    actor: str
    channel: str
    action: str
    subject: str
    outcome: str
    message: str
