"""`signoff person …`: accounts of an installation, by whoever owns its data folder."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import typer

from signoff.cli.context import (
    DEFAULT_DATA,
    TENANT,
    As,
    Data,
    Json,
    Store,
    actor,
    choose_store,
    connected,
    load_settings,
    save_settings,
    settings_file,
)
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.engine.permissions import ROLES
from signoff.errors import Unavailable
from signoff.runtime.lock import EngineLock
from signoff.wiring import Settings, start_engine

app = typer.Typer(no_args_is_help=True, help="Accounts, roles and groups.")


@app.command("list")
@explains_errors
def list_people(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """List accounts."""
    with connected(data) as signoff:
        people = signoff.queries.list_people(TENANT)
    if as_json:
        print_json(people)
    else:
        rows = [
            (p.login, p.name, p.kind, " ".join(p.roles), " ".join(p.groups), "" if p.active else "disabled")
            for p in people
        ]
        print_table(("login", "name", "kind", "roles", "groups", ""), rows, "There are no accounts.")


@app.command()
@explains_errors
def add(
    login: Annotated[str, typer.Argument(help="Login, lower case.")],
    name: Annotated[str, typer.Option("--name", help="Name that people see.")] = "",
    role: Annotated[list[str] | None, typer.Option("--role", help=f"One of: {', '.join(ROLES)}.")] = None,
    group: Annotated[list[str] | None, typer.Option("--group", help="Group of approvers.")] = None,
    email: Annotated[str, typer.Option("--email", help="Address for mail.")] = "",
    service: Annotated[bool, typer.Option("--service", help="A program: no password, only tokens.")] = False,
    disable: Annotated[bool, typer.Option("--disable", help="Close the account and its sessions.")] = False,
    login_as: As = "",
    data: Data = DEFAULT_DATA,
    store: Store = "",
) -> None:
    """Create or change an account; what is not given stays as it is. Asks for the password.

    Works on a new data folder too. While the engine runs, --as names an administrator.
    """
    choose_store(data, store)
    password = (
        ""
        if disable or service
        else typer.prompt(
            "Password (empty keeps the old one)",
            hide_input=True,
            confirmation_prompt=True,
            default="",
            show_default=False,
        )
    )
    if not settings_file(data).exists():
        save_settings(Settings(data))
    given = {"name": name, "email": email, "roles": role, "groups": group, "active": not disable}
    given |= {"password": password, "kind": "service" if service else ""}
    _save(load_settings(data), login, login_as, given)
    say(f"Account '{login}' is saved.")


def _save(settings: Settings, login: str, login_as: str, given: dict[str, Any]) -> None:
    """Through the running engine as an administrator, or by the installation itself while nothing runs."""
    lock = EngineLock(settings.folder)
    try:
        lock.acquire(0.0, threading.Event())
    except Unavailable:
        with connected(settings.folder) as signoff:
            signoff.do("save_person", actor(login_as), TENANT, login=login, **given)
        return
    running = start_engine(settings, services=False)
    try:
        running.save_person(login, **given)
    finally:
        running.close()
        lock.release()
