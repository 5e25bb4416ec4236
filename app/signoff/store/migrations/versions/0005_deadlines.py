"""Timers of whole runs: deadlines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_OLD = "kind IN ('expiry', 'queue', 'retry', 'run', 'wait')"
_NEW = "kind IN ('deadline', 'expiry', 'queue', 'retry', 'run', 'wait')"
_COLUMNS = "id, run, step, kind, generation, attempt, due"


def upgrade() -> None:
    """Apply."""
    _replace(_NEW, "")


def downgrade() -> None:
    """Take back; deadlines are forgotten until their runs change again."""
    _replace(_OLD, " WHERE kind <> 'deadline'")


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
