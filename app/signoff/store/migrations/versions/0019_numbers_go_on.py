"""On a server, ids go on after those of rows that earlier migrations moved to new tables.

Migrations 0004, 0005 and 0008 made tables anew and copied rows with their ids, but new sequences began at 1.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Apply."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    tables = [t for t in sa.inspect(connection).get_table_names() if t != "alembic_version"]
    for table in tables:
        name = connection.execute(
            sa.text("SELECT pg_get_serial_sequence(:table, column_name) FROM information_schema.columns"
                    " WHERE table_schema = current_schema() AND table_name = :table AND column_name = 'id'"),
            {"table": table},
        ).scalar()  # fmt: skip
        if name:
            newest = f'SELECT setval(:name, coalesce(max(id), 1), count(*) > 0) FROM "{table}"'
            connection.execute(sa.text(newest), {"name": name})
