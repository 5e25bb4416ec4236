"""Definitions: the name, every saved draft revision, every frozen version."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlmodel import Field, SQLModel


class DefinitionTable(SQLModel, table=True):
    """A definition's name within a tenant."""

    __tablename__ = "definition"
    __table_args__ = (UniqueConstraint("tenant", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    name: str
    title: str
    archived: bool = False


class DraftTable(SQLModel, table=True):
    """One saved revision of a draft; the newest is the draft. Nothing saved is ever overwritten."""

    __tablename__ = "draft"

    definition_id: int = Field(primary_key=True, foreign_key="definition.id")
    revision: int = Field(primary_key=True)
    document: bytes
    layout: bytes
    saved_by: str
    saved_at: int


class MigrationPlanTable(SQLModel, table=True):
    """A plan for moving runs of one version to another; `document` is what a request gives, `digest` names it."""

    __tablename__ = "migration_plan"
    __table_args__ = (
        UniqueConstraint("public_id"),
        CheckConstraint("status IN ('proposed', 'approved', 'rejected', 'withdrawn')"),
        Index("migration_plan_list", "tenant", "definition_id", "id"),
        Index("migration_plan_digest", "tenant", "digest"),
    )

    id: int | None = Field(default=None, primary_key=True)
    public_id: str
    tenant: str
    definition_id: int = Field(foreign_key="definition.id")
    source_version: int
    target_version: int
    digest: str
    document: bytes
    status: str
    reason: str
    proposed_by: str
    proposed_at: int
    decided_by: str = ""
    decided_at: int | None = None
    comment: str = ""


class DefinitionVersionTable(SQLModel, table=True):
    """W5 DefinitionVersion: frozen content with its digest."""

    __tablename__ = "definition_version"
    __table_args__ = (
        UniqueConstraint("definition_id", "version"),
        UniqueConstraint("definition_id", "digest"),
        CheckConstraint("version >= 1"),
    )

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    definition_id: int = Field(foreign_key="definition.id")
    version: int
    digest: str
    document: bytes
    layout: bytes
    published_by: str
    published_at: int
    archived: bool = False
