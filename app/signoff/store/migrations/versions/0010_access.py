"""Tokens of programs, service accounts, and what is known about a session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Apply."""
    op.add_column("person", sa.Column("kind", sa.String(), server_default=sa.text("'person'"), nullable=False))
    op.add_column("session", sa.Column("agent", sa.String(), server_default=sa.text("''"), nullable=False))
    op.add_column("session", sa.Column("method", sa.String(), server_default=sa.text("'password'"), nullable=False))
    op.add_column("session", sa.Column("confirmed_at", sa.Integer(), nullable=True))
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Integer(), nullable=False),
        sa.Column("used_at", sa.Integer(), nullable=True),
        sa.Column("revoked_at", sa.Integer(), nullable=True),
        sa.Column("revoked_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("api_token_of", "api_token", ["tenant", "login"])
