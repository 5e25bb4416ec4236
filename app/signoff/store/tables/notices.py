"""Letters to people and chat tools, and the links in them. Times are integer microseconds since 1970 UTC."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel


class DeliveryTable(SQLModel, table=True):
    """One letter to one receiver, made from a notice of the outbox; what it says is written when it is sent.

    `login` is empty where the letter goes to a chat tool. `due` is when it is tried next.
    """

    __tablename__ = "delivery"
    __table_args__ = (
        CheckConstraint("status IN ('pending', 'sent', 'moot', 'dead')"),
        UniqueConstraint("notice", "sink", "login"),
        Index("delivery_due", "due", "id", sqlite_where=text("status = 'pending'"),
              postgresql_where=text("status = 'pending'")),
        Index("delivery_list", "tenant", "id"),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    notice: int
    run: int
    step: str
    generation: int
    topic: str
    sink: str
    login: str
    message_id: str
    status: str
    tries: int
    due: int
    error: str
    created_at: int
    changed_at: int


class ApprovalLinkTable(SQLModel, table=True):
    """A link that lets one person answer one approval or form once. Of its token only the SHA-256 is here.

    `binding` is a MAC over the bound columns under the token itself: whoever changes one of them cannot make it
    again. `actions` are the allowed outcomes, separated by spaces. `on_behalf_of` is whom `login` answers for in the
    absence of that number; empty and 0 where they answer for themselves.
    """

    __tablename__ = "approval_link"
    __table_args__ = (
        UniqueConstraint("token_hash"),
        Index("approval_link_of", "run", "step", "generation"),
        Index("approval_link_of_absence", "absence", sqlite_where=text("absence > 0"),
              postgresql_where=text("absence > 0")),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    run: int
    step: str
    generation: int
    round: int
    login: str
    actions: str
    shown_digest: str
    token_hash: str
    binding: str
    delivery: int
    issued_at: int
    expires_at: int
    used_at: int | None = None
    outcome: str = ""
    revoked_at: int | None = None
    revoked: str = ""
    on_behalf_of: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    absence: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
