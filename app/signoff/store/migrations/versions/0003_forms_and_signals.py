"""Forms beside approvals, kept messages, and the steps that wait for one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_OLD = "status IN ('open', 'approved', 'rejected', 'expired', 'skipped', 'failed', 'cancelled')"
_NEW = "status IN ('open', 'approved', 'rejected', 'submitted', 'expired', 'skipped', 'failed', 'cancelled')"
_COLUMNS = (
    "id, run, tenant, step, generation, round, status, label, instructions, shown_digest, required, given, opened_seq,"
    " opened_at, due, closed_at"
)


def upgrade() -> None:
    """Apply."""
    _approvals(_NEW, sa.Column("kind", sa.String(), nullable=False), sa.CheckConstraint("kind IN ('approval', 'form')"))
    op.execute(f"INSERT INTO approval_new({_COLUMNS}, kind) SELECT {_COLUMNS}, 'approval' FROM approval")
    op.drop_table("approval")
    op.rename_table("approval_new", "approval")
    op.create_table(
        "signal_message",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("sender", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("received_at", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=True),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.CheckConstraint("status IN ('kept', 'used', 'refused', 'discarded')"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "name", "key", "message_id"),
    )
    op.create_table(
        "signal_wait",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "step"),
    )
    op.create_index("signal_wait_by_key", "signal_wait", ["tenant", "name", "key", "id"])
    kept = sa.text("status = 'kept'")
    op.create_index(
        "signal_message_kept",
        "signal_message",
        ["tenant", "name", "key", "id"],
        sqlite_where=kept,
        postgresql_where=kept,
    )


def downgrade() -> None:
    """Take back; rows of forms are lost."""
    op.drop_table("signal_wait")
    op.drop_table("signal_message")
    _approvals(_OLD)
    op.execute(f"INSERT INTO approval_new({_COLUMNS}) SELECT {_COLUMNS} FROM approval WHERE kind = 'approval'")
    op.drop_table("approval")
    op.rename_table("approval_new", "approval")


def _approvals(status: str, *more: sa.Column[str] | sa.CheckConstraint) -> None:
    """A table of approvals under a new name; SQLite cannot change a constraint in place."""
    op.create_table(
        "approval_new",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("instructions", sa.String(), nullable=False),
        sa.Column("shown_digest", sa.String(), nullable=False),
        sa.Column("required", sa.Integer(), nullable=False),
        sa.Column("given", sa.Integer(), nullable=False),
        sa.Column("opened_seq", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.Integer(), nullable=False),
        sa.Column("due", sa.Integer(), nullable=True),
        sa.Column("closed_at", sa.Integer(), nullable=True),
        sa.CheckConstraint(status),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "step", "generation"),
        *more,
    )
