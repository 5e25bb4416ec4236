"""Idempotent requests and messages that leave the system."""

from __future__ import annotations

from sqlmodel import Field, SQLModel


class RequestTable(SQLModel, table=True):
    """The answer given to a request with an idempotency key: the same key gets the same answer."""

    __tablename__ = "request"

    tenant: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    digest: str
    answer: bytes
    at: int


class OutboxTable(SQLModel, table=True):
    """A notice written in the same commit as its event and delivered at least once afterwards."""

    __tablename__ = "outbox"

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    run: int
    topic: str
    step: str
    data: bytes
    at: int
    tries: int = 0
