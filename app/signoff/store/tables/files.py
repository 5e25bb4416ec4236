"""Files that belong to runs. Their bytes are in the data folder, by the digest of their content."""

from __future__ import annotations

from sqlalchemy import Index
from sqlmodel import Field, SQLModel


class AttachmentTable(SQLModel, table=True):
    """A file that was uploaded (`run` is empty: it waits to be used for a day), or that a run has."""

    __tablename__ = "attachment"
    __table_args__ = (Index("attachment_by_digest", "tenant", "digest"), Index("attachment_of", "run"))

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    digest: str
    name: str
    size: int
    media: str
    uploaded_by: str
    uploaded_at: int
    run: int | None = None
    step: str = ""
