"""Runs know which run started them, tombstones are found without reading all leaves, files are encrypted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Apply. Rows that exist keep NULL: whoever needs their parent reads it from the run once."""
    op.add_column("run", sa.Column("parent", sa.String(), nullable=True))
    with_parent, tombstone = sa.text("parent <> ''"), sa.text("kind = 'pruned'")
    op.create_index("run_by_parent", "run", ["parent"], sqlite_where=with_parent, postgresql_where=with_parent)
    op.create_index(
        "ledger_tombstone", "ledger_leaf", ["tenant", "number"], sqlite_where=tombstone, postgresql_where=tombstone
    )
    op.create_table(
        "tenant_key",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.add_column("attachment", sa.Column("blob", sa.String(), server_default=sa.text("''"), nullable=False))
    op.add_column("attachment", sa.Column("sealed", sa.LargeBinary(), nullable=True))
