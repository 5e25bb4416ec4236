"""Brings a database to this release's schema, in one transaction per migration."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from signoff.errors import StoreFault
from signoff.store.dialects import dialect_of

_FOLDER = Path(__file__).parent / "migrations"


def config_for(connection: Connection) -> Config:
    """Alembic's configuration on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    return config


def newest_revision() -> str:
    """The revision this release needs."""
    head = ScriptDirectory(str(_FOLDER)).get_current_head()
    assert head is not None
    return head


def current_revision(connection: Connection) -> str | None:
    """The revision a database has; None for an empty one."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(connection: Connection) -> None:
    """Apply every missing migration.

    Raises:
        StoreFault: the database was written by a newer release.
    """
    with dialect_of(connection).migrating(connection):
        _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    have = current_revision(connection)
    known = {s.revision for s in ScriptDirectory(str(_FOLDER)).walk_revisions()}
    if have is not None and have not in known:
        raise StoreFault(
            f"The database has schema '{have}', which this release does not know.",
            code="newer_schema",
            remedy="Run the release that wrote it, or a newer one.",
        )
    if have != newest_revision():
        command.upgrade(config_for(connection), "head")
