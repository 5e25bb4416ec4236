"""`signoff token …` and `signoff sessions`: credentials of programs, and ending sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected
from signoff.cli.output import explains_errors, print_json, print_table, say

app = typer.Typer(no_args_is_help=True, help="Tokens with which programs use the REST API.")


@app.command()
@explains_errors
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[list[str], typer.Option("--scope", help="What it may do, such as start_run; may be repeated.")],
    service: Annotated[str, typer.Option("--for", help="A service account; yourself if none is named.")] = "",
    days: Annotated[float, typer.Option("--days", help="How long it is good.", min=0.01, max=400)] = 90,
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Make a token. Its secret is shown now and never again."""
    with connected(data) as signoff:
        made = signoff.do("create_token", actor(login), TENANT, name=name, scopes=scope, days=days, login=service)
    if as_json:
        print_json(made)
        return
    say(made["token"])
    say(f"Token {made['id']} of {made['login']}, good until {made['expires_at']}. It is not shown again.")


@app.command("list")
@explains_errors
def list_tokens(
    service: Annotated[str, typer.Option("--for", help="Of one account.")] = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List tokens, without their secrets."""
    with connected(data) as signoff:
        found = signoff.queries.list_tokens(TENANT, service.casefold())
    if as_json:
        print_json(found)
        return
    rows = [(t.id, t.login, t.name, t.status, " ".join(t.scopes), t.used_at, t.expires_at, t.created_by) for t in found]
    columns = ("token", "account", "name", "status", "scopes", "last used (UTC)", "until (UTC)", "made by")
    print_table(columns, rows, "There are no tokens.")


@app.command()
@explains_errors
def revoke(
    number: Annotated[int, typer.Argument(help="Number of the token.")], login: As = "", data: Data = DEFAULT_DATA
) -> None:
    """End a token: your own, or as an administrator anybody's."""
    with connected(data) as signoff:
        signoff.do("revoke_token", actor(login), TENANT, id=number)
    say(f"Token {number} is revoked.")


@explains_errors
def sessions(
    end: Annotated[bool, typer.Option("--end", help="Sign out everywhere.")] = False,
    of: Annotated[str, typer.Option("--of", help="By administrators: whose sessions to end.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Show where you are signed in, or sign out everywhere."""
    who = actor(login)
    with connected(data) as signoff:
        if end:
            ended = signoff.do("end_sessions", who, TENANT, login=of)["ended"]
            say(f"{ended} session{'' if ended == 1 else 's'} ended.")
            return
        person = next((p for p in signoff.queries.list_people(TENANT) if p.login == who.id), None)
        found = signoff.queries.list_sessions(person) if person else []
    if as_json:
        print_json(found)
        return
    rows = [(s.id, s.created_at, s.expires_at, s.address, s.agent) for s in found]
    print_table(("session", "since (UTC)", "until (UTC)", "from", "with"), rows, "You are signed in nowhere.")
