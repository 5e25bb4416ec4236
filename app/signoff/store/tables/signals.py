"""Messages from outside, and the steps that wait for one. Times are integer microseconds since 1970 UTC."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel


class SignalMessageTable(SQLModel, table=True):
    """One message: kept until a step wants it, then used by exactly one; rows stay, so that a repeat is known."""

    __tablename__ = "signal_message"
    __table_args__ = (
        CheckConstraint("status IN ('kept', 'used', 'refused', 'discarded')"),
        UniqueConstraint("tenant", "name", "key", "message_id"),
        Index("signal_message_kept", "tenant", "name", "key", "id", sqlite_where=text("status = 'kept'"),
              postgresql_where=text("status = 'kept'")),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    name: str
    key: str
    message_id: str
    digest: str
    payload: bytes
    sender: str
    channel: str
    status: str
    received_at: int
    expires_at: int
    changed_at: int
    run: int | None = None
    step: str = ""
    note: str = ""


class SignalWaitTable(SQLModel, table=True):
    """A step that waits for a message; the one with the lowest `id` has waited longest."""

    __tablename__ = "signal_wait"
    __table_args__ = (UniqueConstraint("run", "step"), Index("signal_wait_by_key", "tenant", "name", "key", "id"))

    id: int | None = Field(default=None, primary_key=True)
    run: int
    step: str
    generation: int
    tenant: str
    name: str
    key: str
