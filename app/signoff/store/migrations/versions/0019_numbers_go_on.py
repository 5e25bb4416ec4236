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
            newest = connection.execute(sa.text(f'SELECT coalesce(max(id), 0) FROM "{table}"')).scalar_one()
            last, used = connection.execute(sa.text(f"SELECT last_value, is_called FROM {name}")).one()
            if newest > (last if used else 0):  # never back: the newest rows may have been removed
                connection.execute(sa.text("SELECT setval(:name, :newest)"), {"name": name, "newest": newest})
