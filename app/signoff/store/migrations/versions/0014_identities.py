"""Accounts that belong to an identity at a provider."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Apply."""
    op.add_column("person", sa.Column("external", sa.String(), server_default=sa.text("''"), nullable=False))
