"""Attempts of items, reported progress, dead letters."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Apply."""
    columns = sa.inspect(op.get_bind()).get_columns("attempt")
    new: list[Any] = [
        sa.Column("item", sa.Integer(), server_default=sa.text("-1"), nullable=False),
        sa.Column("fraction", sa.Float(), nullable=True),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("details", sa.LargeBinary(), nullable=True),
        sa.Column("reported_at", sa.Integer(), nullable=True),
    ]
    statuses = "'ready', 'held', 'leased', 'succeeded', 'failed', 'cancelled'"
    op.rename_table("attempt", "attempt_old")
    for name in ("attempt_ready", "attempt_leased"):
        op.drop_index(name, table_name="attempt_old")
    kept: list[Any] = [sa.Column(c["name"], c["type"], nullable=c["nullable"]) for c in columns]
    op.create_table(
        "attempt",
        *kept,
        *new,
        sa.CheckConstraint(f"status IN ({statuses})"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "step", "generation", "item", "attempt"),
    )
    names = ", ".join(c["name"] for c in columns)
    op.execute(f"INSERT INTO attempt({names}) SELECT {names} FROM attempt_old")
    op.drop_table("attempt_old")
    for name, on, where in (
        ("attempt_ready", ["pool", "priority", "id"], "status = 'ready'"),
        ("attempt_leased", ["lease_until"], "status = 'leased'"),
    ):
        op.create_index(name, "attempt", on, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
    op.create_table(
        "dead_letter",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("since", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "step"),
    )
    op.create_index("dead_letter_list", "dead_letter", ["tenant", "id"])
