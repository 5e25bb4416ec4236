"""`signoff absence …`: who decides for whom while they are absent."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected
from signoff.cli.output import explains_errors, print_json, print_table, say

app = typer.Typer(no_args_is_help=True, help="While somebody is absent, another decides for them.")
Instant = Annotated[str, typer.Option("--from", help="ISO 8601 with its offset; now, where left out.")]


@app.command("set")
@explains_errors
def set_absence(
    delegate: Annotated[str, typer.Option("--delegate", help="Login of who decides meanwhile.")],
    ends: Annotated[str, typer.Option("--until", help="ISO 8601 with its offset, such as 2027-01-15T17:00:00+01:00.")],
    begins: Instant = "",
    person: Annotated[str, typer.Option("--person", help="By administrators: who is absent; yourself otherwise.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Needed for somebody else.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Record an absence."""
    given = {"delegate": delegate, "ends": ends, "begins": begins, "person": person, "reason": reason}
    with connected(data) as signoff:
        made = signoff.do("set_absence", actor(login), TENANT, **{n: v for n, v in given.items() if v})
    if as_json:
        print_json(made)
        return
    say(f"Absence {made['id']}: {made['delegate']} decides for {made['person']} until {made['ends']}.")


@app.command("list")
@explains_errors
def list_absences(
    person: Annotated[str, typer.Option("--person", help="Of one person.")] = "",
    everything: Annotated[bool, typer.Option("--everything", help="Also those that are over or were revoked.")] = False,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List absences."""
    with connected(data) as signoff:
        found = signoff.queries.list_absences(TENANT, person=person, everything=everything)
    if as_json:
        print_json(found)
        return
    rows = [(a.id, a.person, a.delegate, a.begins, a.ends, a.status, a.set_by, a.reason) for a in found]
    columns = ("absence", "person", "who decides", "from (UTC)", "until (UTC)", "status", "set by", "reason")
    print_table(columns, rows, "There are no absences.")


@app.command()
@explains_errors
def revoke(
    number: Annotated[int, typer.Argument(help="Number of the absence.")],
    reason: Annotated[str, typer.Option("--reason", help="Needed for somebody else.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """End an absence before its time; what was decided meanwhile stands."""
    with connected(data) as signoff:
        answer = signoff.do("revoke_absence", actor(login), TENANT, id=number, reason=reason)
    say(f"Absence {number} is {'revoked' if answer['revoked'] else 'over already'}.")
