"""Runs know which run started them, and tombstones are found without reading all leaves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Apply. Rows that exist keep NULL: whoever needs their parent reads it from the run once."""
    op.add_column("run", sa.Column("parent", sa.String(), nullable=True))
    with_parent, tombstone = sa.text("parent <> ''"), sa.text("kind = 'pruned'")
    op.create_index("run_by_parent", "run", ["parent"], sqlite_where=with_parent, postgresql_where=with_parent)
    op.create_index(
        "ledger_tombstone", "ledger_leaf", ["tenant", "number"], sqlite_where=tombstone, postgresql_where=tombstone
    )
