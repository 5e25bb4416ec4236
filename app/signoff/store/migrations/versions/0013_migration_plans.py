"""Migration plans as objects that are proposed and approved."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "migration_plan",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("definition_id", sa.Integer(), nullable=False),
        sa.Column("source_version", sa.Integer(), nullable=False),
        sa.Column("target_version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("proposed_by", sa.String(), nullable=False),
        sa.Column("proposed_at", sa.Integer(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=False),
        sa.Column("decided_at", sa.Integer(), nullable=True),
        sa.Column("comment", sa.String(), nullable=False),
        sa.CheckConstraint("status IN ('proposed', 'approved', 'rejected', 'withdrawn')"),
        sa.ForeignKeyConstraint(["definition_id"], ["definition.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public_id"),
    )
    op.create_index("migration_plan_list", "migration_plan", ["tenant", "definition_id", "id"])
    op.create_index("migration_plan_digest", "migration_plan", ["tenant", "digest"])
