"""Links of people who decide for somebody absent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Apply."""
    op.add_column("approval_link", sa.Column("on_behalf_of", sa.String(), server_default=sa.text("''"), nullable=False))
    op.add_column("approval_link", sa.Column("absence", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.create_index(
        "approval_link_of_absence",
        "approval_link",
        ["absence"],
        sqlite_where=sa.text("absence > 0"),
        postgresql_where=sa.text("absence > 0"),
    )
