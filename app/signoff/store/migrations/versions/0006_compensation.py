"""Runs that are being compensated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_OLD = "'running', 'paused', 'stalled', 'cancelling'"
_NEW = "'running', 'paused', 'stalled', 'cancelling', 'compensating'"
_ENDED = "'succeeded', 'rejected', 'failed', 'cancelled', 'terminated'"
_INDEXES = {
    "run_by_change": ["tenant", "changed_at", "id"],
    "run_by_status": ["tenant", "status", "changed_at", "id"],
    "run_by_version": ["version_id", "status"],
}


def upgrade() -> None:
    """Apply."""
    _replace(_NEW)


def downgrade() -> None:
    """Take back.

    Raises:
        RuntimeError: runs are being compensated, which the older release does not know.
    """
    if op.get_bind().execute(sa.text("SELECT 1 FROM run WHERE status = 'compensating' LIMIT 1")).first():
        raise RuntimeError("Runs are being compensated; wait until they have ended before going back.")
    _replace(_OLD)


def _replace(open_states: str) -> None:
    """Make the table anew; SQLite cannot change a constraint in place."""
    columns = (
        "id, public_id, tenant, version_id, status, sequence, snapshot, business_key, started_by, started_at,"
        " changed_at, reason"
    )
    for name in _INDEXES:
        op.drop_index(name, table_name="run")
    op.create_table(
        "run_new",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("snapshot", sa.LargeBinary(), nullable=False),
        sa.Column("business_key", sa.String(), nullable=False),
        sa.Column("started_by", sa.String(), nullable=False),
        sa.Column("started_at", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.CheckConstraint(f"status IN ({open_states}, {_ENDED})"),
        sa.ForeignKeyConstraint(["version_id"], ["definition_version.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public_id"),
    )
    op.execute(f"INSERT INTO run_new({columns}) SELECT {columns} FROM run")
    op.drop_table("run")
    op.rename_table("run_new", "run")
    for name, on in _INDEXES.items():
        op.create_index(name, "run", on)
