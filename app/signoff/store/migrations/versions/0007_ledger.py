"""Hash chains of runs, leaves and checkpoints of the tenants' trees.

Nothing is read here, so that a large database is upgraded at once: runs that exist are chained when they change next,
and the others by the sealer, a few at a time.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Apply."""
    op.add_column("event", sa.Column("actor", sa.String(), nullable=True))
    op.add_column("event", sa.Column("commitment", sa.LargeBinary(), nullable=True))
    op.add_column("event", sa.Column("hash", sa.LargeBinary(), nullable=True))
    op.create_table(
        "run_key",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.Integer(), nullable=False),
        sa.Column("adopted", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("erased_at", sa.Integer(), nullable=True),
        sa.Column("erased_by", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("kept_seq", sa.Integer(), nullable=True),
        sa.Column("kept_key", sa.LargeBinary(), nullable=True),
        sa.Column("hold", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("run"),
    )
    op.create_table(
        "ledger_leaf",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.CheckConstraint("kind IN ('head', 'pruned')"),
        sa.PrimaryKeyConstraint("tenant", "number"),
    )
    op.create_index("ledger_leaf_of_run", "ledger_leaf", ["tenant", "run_id"])
    op.create_table(
        "ledger_checkpoint",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("frontier", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "number"),
    )
    op.execute(
        "INSERT INTO setting(tenant, name, value) SELECT '', 'unchained_until', max(id) FROM run HAVING max(id) > 0"
    )
