"""Definitions: the name, every saved draft revision, every frozen version."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, UniqueConstraint
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
