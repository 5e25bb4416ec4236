"""`signoff migrate-store`: a whole installation with all its history moves to another database."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, Data, load_settings
from signoff.cli.output import explains_errors, say
from signoff.errors import ConfigurationFault, StoreFault
from signoff.runtime.folder import leave_file, leave_server, load_store
from signoff.runtime.lock import EngineLock
from signoff.store.database import Where, is_server, shown
from signoff.store.moving import MovedTable, move_database
from signoff.wiring import Settings, open_verifier

MOST = 20
IN_FILE = "file"


@explains_errors
def migrate_store(
    to: Annotated[str, typer.Argument(help="URL of an empty PostgreSQL database, or 'file'.")],
    data: Data = DEFAULT_DATA,
    verify: Annotated[bool, typer.Option(help="Check the proofs in the new database before it is used.")] = True,
) -> None:
    """Move an installation to PostgreSQL (or back into a file) while nothing runs; what was there stays.

    All tables are copied in one transaction, and counts and digests compared before it is committed. The old database
    is not changed; from then on the data folder uses the new one.
    """
    settings = load_settings(data)
    source, target = settings.where, _target(settings, to)
    lock = EngineLock(settings.folder)
    lock.acquire(0.0, threading.Event())
    try:
        say(f"From {shown(source)} to {shown(target)}:")
        moved = move_database(source, target, _say)
        say(f"{sum(t.count for t in moved)} rows in {len(moved)} tables; counts and digests are equal.")
        if verify:
            _verify(settings, target)
        kept = leave_file(data, settings.database, to) if is_server(target) else leave_server(data)
    finally:
        lock.release()
    say(f"The data of {data} are in {shown(target)} now. What was there before is kept ({kept.name}).")


def _target(settings: Settings, to: str) -> Where:
    """Where the data go to.

    Raises:
        ConfigurationFault: it is no place for them, or they are there.
    """
    on_server = load_store(settings.folder)
    if is_server(to) and to != on_server:
        if on_server:
            raise ConfigurationFault(
                "The data are on a server already.", remedy="Move them with pg_dump, or into a file first."
            )
        return to
    if to == IN_FILE and on_server:
        return settings.database
    raise ConfigurationFault(
        f"'{shown(to)}' is no other place for the data of '{settings.folder}'.",
        remedy="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or 'file'.",
    )


def _say(table: MovedTable) -> None:
    if table.count:
        say(f"  {table.name}: {table.count} rows, SHA-256 {table.digest[:16]}…")


def _verify(settings: Settings, target: Where) -> None:
    """The proofs as `signoff verify` has them, in the new database.

    Raises:
        StoreFault: something is not as it must be.
    """
    with open_verifier(replace(settings, store=str(target))) as verifier:
        found: Sequence[object] = []
        for finding in verifier.findings():
            found = [*found, finding]
            say(f"{finding.code}: {finding.run_id} {finding.message}")
            if len(found) == MOST:
                break
        if found:
            raise StoreFault(
                "The new database has findings; the old one stays in use.",
                code="findings",
                remedy="Look whether `signoff verify` says the same of the old one; --no-verify moves it as it is.",
            )
        say(f"{verifier.runs} runs with {verifier.events} events verified in the new database.")
