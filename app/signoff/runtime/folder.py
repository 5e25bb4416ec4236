"""The data folder: closed to others; holds its credentials, and the URL of its database server, if any."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from signoff.errors import ConfigurationFault, StoreFault

STORE_FILE = "store.url"


def own_folder(folder: Path) -> None:
    """Make the data folder, readable by its owner only; one that others can read is closed to them.

    Raises:
        ConfigurationFault: it belongs to somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & 0o077:
        try:
            folder.chmod(0o700)
        except OSError as error:
            raise ConfigurationFault(
                f"Others can read the data folder '{folder}', and it cannot be closed to them: {error.strerror}.",
                remedy="Give Signoff a folder of its own.",
            ) from error


def refuse_a_lost_database(marker: Path, database: Path) -> None:
    """A folder that had a database does not begin with an empty one.

    Raises:
        StoreFault: it is gone.
    """
    if marker.exists() and not database.exists():
        raise StoreFault(
            f"The database '{database}' is gone, although this folder had one.",
            code="database_gone",
            remedy=f"Put a backup in its place, or remove '{marker.name}' to begin with an empty one.",
        )


def load_tokens(folder: Path) -> dict[str, str]:
    """The credentials of web processes and workers; made at random on the first start, readable by the owner only."""
    path = folder / "tokens.json"
    if not path.exists():
        own_folder(folder)
        made = {role: secrets.token_urlsafe(32) for role in ("client", "worker")}
        _write(path, json.dumps(made))
    found: dict[str, str] = json.loads(path.read_text("utf-8"))
    return found


def load_store(folder: Path) -> str:
    """The URL of the database server that has the data of this folder; "" where they are in a file of it."""
    try:
        return (folder / STORE_FILE).read_text("utf-8").strip()
    except FileNotFoundError:
        return ""


def save_store(folder: Path, url: str) -> None:
    """Remember the URL for every process of this folder; it may hold a password, so only the owner can read it."""
    own_folder(folder)
    temporary = folder / f"{STORE_FILE}.new"
    temporary.unlink(missing_ok=True)
    _write(temporary, url + "\n")
    temporary.replace(folder / STORE_FILE)


def leave_file(folder: Path, database: Path, url: str) -> Path:
    """From now on the data of a folder are on a server; the file stays under another name, which is returned."""
    save_store(folder, url)
    kept = database.with_name(f"{database.name}.moved")
    if database.exists():
        database.replace(kept)
    return kept


def leave_server(folder: Path) -> Path:
    """From now on the data of a folder are in its file; the URL stays under another name, which is returned."""
    kept = folder / f"{STORE_FILE}.moved"
    (folder / STORE_FILE).replace(kept)
    return kept


def _write(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
