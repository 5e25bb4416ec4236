"""Alembic's entry: runs on the connection that `migrate.upgrade` hands over."""

from __future__ import annotations

from alembic import context

from signoff.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
    user_module_prefix="sa.",
)
with context.begin_transaction():
    context.run_migrations()
