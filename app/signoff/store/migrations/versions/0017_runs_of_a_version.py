"""Runs of a version in the order in which they changed."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Apply."""
    op.drop_index("run_by_version", "run")
    op.create_index("run_by_version", "run", ["version_id", "status", "changed_at", "id"])
