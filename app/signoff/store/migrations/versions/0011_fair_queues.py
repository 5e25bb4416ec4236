"""Claimable attempts by tenant and connector, in an order in which nothing waits for ever."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_READY = sa.text("status = 'ready'")


def upgrade() -> None:
    """Apply."""
    op.add_column("attempt", sa.Column("rank", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.execute("UPDATE attempt SET rank = created_at - priority * 60000000 WHERE status IN ('ready', 'held')")
    op.drop_index("attempt_ready", table_name="attempt")
    columns = ["pool", "tenant", "connector", "rank", "id"]
    op.create_index("attempt_ready", "attempt", columns, sqlite_where=_READY, postgresql_where=_READY)
