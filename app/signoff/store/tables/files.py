"""Files that belong to runs. Their bytes are in the data folder, encrypted."""

from __future__ import annotations

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel


class AttachmentTable(SQLModel, table=True):
    """A file that was uploaded (`run` is empty: it waits to be used for a day), or that a run has.

    `blob` names its encrypted content; `sealed` has that one's key and the digest of the plain content, under the
    secret of the run, or of the tenant while it waits. `digest` is keyed then. Rows of an older release have no `blob`:
    their content is plain, under its digest.
    """

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
    blob: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    sealed: bytes | None = None
