"""Options that all commands share: the data folder and who acts."""

from __future__ import annotations

import json
import mimetypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.errors import ConfigurationFault, InvalidInput
from signoff.runtime.folder import load_store, own_folder, save_store
from signoff.store.database import is_server
from signoff.wiring import Settings, open_remote

TENANT = "default"
Data = Annotated[
    Path, typer.Option("--data", envvar="SIGNOFF_DATA", help="Data folder of the installation.", show_default=True)
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="SIGNOFF_STORE",
        help="URL of a PostgreSQL database; remembered in the data folder.",
        show_envvar=True,
    ),
]
As = Annotated[str, typer.Option("--as", envvar="SIGNOFF_USER", help="Login of the person who acts.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Files = Annotated[
    list[str] | None, typer.Option("--file", help="NAME=PATH: a file for the field NAME; may be given several times.")
]
DEFAULT_DATA = Path(".signoff")
CHUNK_BYTES = 262_144


def settings_file(folder: Path) -> Path:
    """Where `up` and `demo` leave the settings for the other processes."""
    return folder / "settings.json"


def save_settings(settings: Settings) -> None:
    """Write the settings beside the database."""
    own_folder(settings.folder)
    content = {
        "modules": list(settings.modules),
        "allowed_hosts": list(settings.allowed_hosts),
        "demo_address": settings.demo_address,
        "keys": str(settings.keys or ""),
        "checkpoints": str(settings.checkpoints or ""),
    }
    temporary = settings_file(settings.folder).with_suffix(".new")
    temporary.write_text(json.dumps(content), "utf-8")
    temporary.replace(settings_file(settings.folder))


def load_settings(folder: Path) -> Settings:
    """The settings of a data folder.

    Raises:
        ConfigurationFault: the folder was never set up.
    """
    path = settings_file(folder)
    if not path.exists():
        raise ConfigurationFault(
            f"'{folder}' is not a data folder of Signoff.", remedy="Start `signoff up` or name another with --data."
        )
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ConfigurationFault(
            f"'{path}' cannot be read: {error}", remedy="Start `signoff up` with its options; it is written anew."
        ) from None
    return Settings(
        folder,
        tuple(content.get("modules", ())),
        tuple(content.get("allowed_hosts", ())),
        str(content.get("demo_address", "")),
        _path(content.get("keys")),
        _path(content.get("checkpoints")),
    )


def choose_store(data: Path, store: str) -> None:
    """Remember on which server the data of a folder are.

    Raises:
        ConfigurationFault: it is no URL of PostgreSQL, or the data are in a file already.
    """
    if not store or store == load_store(data):
        return
    if not is_server(store):
        raise ConfigurationFault(
            f"'{store}' is not the URL of a PostgreSQL database.",
            remedy="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; without --store the data are in a file.",
        )
    if Settings(data).database.exists():
        raise ConfigurationFault(
            f"The data of '{data}' are in a file.",
            code="store_chosen",
            remedy=f"Move them with: signoff migrate-store URL --data {data}",
        )
    save_store(data, store)


def _path(text: object) -> Path | None:
    return Path(str(text)) if text else None


@contextmanager
def connected(folder: Path) -> Iterator[Signoff]:
    """The engine of a data folder, for one command."""
    signoff, client = open_remote(load_settings(folder))
    try:
        yield signoff
    finally:
        client.close()
        signoff.queries.close()


def actor(login: str) -> Actor:
    """The acting person; the engine checks the account and its roles.

    Raises:
        InvalidInput: nobody was named.
    """
    if not login:
        raise InvalidInput("Nobody was named as the one who acts.", remedy="Use --as LOGIN or set SIGNOFF_USER.")
    return Actor("person", login.casefold(), channel="cli")


def read_json(text: str, what: str) -> dict[str, Any]:
    """A JSON object given inline, as @FILE, or as - for standard input.

    Raises:
        InvalidInput: it is no JSON object.
    """
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text("utf-8")
        elif text == "-":
            text = typer.get_text_stream("stdin").read()
        value = json.loads(text)
    except OSError as error:
        raise InvalidInput(f"{what} cannot be read: {error.strerror}.", remedy="Check the file name.") from None
    except ValueError as error:
        raise InvalidInput(f"{what} is not JSON: {error}", remedy="Write it as an object in braces.") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be a JSON object.", remedy="Write it as an object in braces.")
    return value


def with_files(signoff: Signoff, who: Actor, values: dict[str, Any], files: Sequence[str] | None) -> dict[str, Any]:
    """The values with the files of `--file NAME=PATH`, stored as this person's uploads.

    Raises:
        InvalidInput: one cannot be read, is too large, or is given twice.
    """
    found = dict(values)
    for given in files or ():
        name, _, path = given.partition("=")
        if not name or not path:
            raise InvalidInput(f"'{given}' names no field and file.", remedy="Write it as NAME=PATH.")
        if name in found:
            raise InvalidInput(f"'{name}' is given twice.", remedy="Give it once, as a value or as a file.")
        try:
            kept = signoff.queries.files.add(TENANT, _chunks(Path(path)))
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be read: {error.strerror}.", remedy="Check its name.") from None
        media = mimetypes.guess_type(path)[0] or "application/octet-stream"
        found[name] = signoff.add_file(who, TENANT, kept, Path(path).name, media)
    return found


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    return host in ("127.0.0.1", "localhost", "::1")


def machine_name() -> str:
    """A name for this machine's workers."""
    return os.uname().nodename.split(".")[0][:40]
