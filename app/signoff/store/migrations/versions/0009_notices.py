"""Letters to people and chat tools, and the links in them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("notice", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("topic", sa.String(), nullable=False),
        sa.Column("sink", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.Integer(), nullable=False),
        sa.CheckConstraint("status IN ('pending', 'sent', 'moot', 'dead')"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("notice", "sink", "login"),
    )
    pending = sa.text("status = 'pending'")
    op.create_index("delivery_due", "delivery", ["due", "id"], sqlite_where=pending, postgresql_where=pending)
    op.create_index("delivery_list", "delivery", ["tenant", "id"])
    op.create_table(
        "approval_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("actions", sa.String(), nullable=False),
        sa.Column("shown_digest", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("binding", sa.String(), nullable=False),
        sa.Column("delivery", sa.Integer(), nullable=False),
        sa.Column("issued_at", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.Column("used_at", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("revoked_at", sa.Integer(), nullable=True),
        sa.Column("revoked", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("approval_link_of", "approval_link", ["run", "step", "generation"])
