"""Timers of reminders and escalation; absences, in which somebody else decides."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_OLD = "kind IN ('deadline', 'expiry', 'queue', 'retry', 'run', 'wait')"
_NEW = "kind IN ('deadline', 'expiry', 'ladder', 'queue', 'retry', 'run', 'wait')"
_COLUMNS = "id, run, step, kind, generation, attempt, due"


def upgrade() -> None:
    """Apply."""
    _replace(_NEW, "")
    op.create_table(
        "absence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("delegate", sa.String(), nullable=False),
        sa.Column("begins", sa.Integer(), nullable=False),
        sa.Column("ends", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.Integer(), nullable=False),
        sa.Column("revoked_at", sa.Integer(), nullable=True),
        sa.Column("revoked_by", sa.String(), nullable=True),
        sa.Column("revoked_reason", sa.String(), nullable=True),
        sa.CheckConstraint("begins < ends"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("absence_of_delegate", "absence", ["tenant", "delegate", "ends"])
    op.create_index("absence_of_person", "absence", ["tenant", "person", "ends"])


def downgrade() -> None:
    """Take back; reminders are forgotten until their steps change again."""
    op.drop_table("absence")
    _replace(_OLD, " WHERE kind <> 'ladder'")


def _replace(kinds: str, kept: str) -> None:
    """Make the table anew; SQLite cannot change a constraint in place."""
    op.create_table(
        "timer_new",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("due", sa.Integer(), nullable=False),
        sa.CheckConstraint(kinds),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "step", "kind"),
    )
    op.execute(f"INSERT INTO timer_new({_COLUMNS}) SELECT {_COLUMNS} FROM timer{kept}")
    op.drop_table("timer")
    op.rename_table("timer_new", "timer")
    op.create_index("timer_due", "timer", ["due"])
