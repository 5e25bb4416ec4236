"""`signoff doctor`: what runs here, what is unsafe, and what to do about it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from signoff import __version__
from signoff.cli.context import DEFAULT_DATA, Data, load_settings
from signoff.cli.output import say
from signoff.errors import SignoffError
from signoff.store.database import shown
from signoff.store.health import Finding, database_findings, library_findings
from signoff.wiring import Settings, open_remote


def doctor(data: Data = DEFAULT_DATA) -> None:
    """Check Python, the database and the engine of a data folder."""
    good = True
    for fine, sentence in _findings(data):
        say(f"{'ok  ' if fine else 'BAD '} {sentence}")
        good = good and fine
    if not good:
        raise typer.Exit(1)


def _findings(data: Path) -> Iterator[Finding]:
    yield True, f"Signoff {__version__}, Python {platform.python_version()} at {sys.executable}"
    try:
        settings = load_settings(data)
    except SignoffError as error:
        yield from library_findings(Settings(data).where)
        yield False, str(error)
        return
    yield from library_findings(settings.where)
    if settings.marker.exists() or settings.database.exists():
        yield from database_findings(settings.where, shown(settings.where))
    private = not settings.folder.stat().st_mode & 0o077
    words = "is open to its owner only" if private else "can be read by others: run chmod 700 on it"
    yield private, f"The data folder {settings.folder} {words}."
    yield True, f"Signed checkpoints are appended in {settings.checkpoint_folder}, the keys are in {settings.key_file}."
    if settings.key_file.exists():
        private = not settings.key_file.stat().st_mode & 0o077
        words = "is readable by its owner only" if private else "can be read by others: run chmod 600 on it"
        yield private, f"The key file {words}."
    try:
        signoff, client = open_remote(settings, wait_s=1.0)
        client.close()
        signoff.queries.close()
        yield True, "The engine answers."
    except (SignoffError, OSError) as error:
        yield False, f"The engine does not answer: {error}"
    private = not (settings.folder / "tokens.json").stat().st_mode & 0o077
    words = "is readable by its owner only" if private else "can be read by others: run chmod 600 on it"
    yield private, f"The credentials file tokens.json {words}."
