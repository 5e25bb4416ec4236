"""`signoff limits …`: what the tenant may have and use, and what it uses."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer

from signoff.cli.commands.runs import Reason
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, read_json
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.core.limits import Limits, write_limits
from signoff.engine.limit_queries import limits_document

app = typer.Typer(no_args_is_help=True, help="Limits: open runs, calls at once, rates, history, time.")


@app.command()
@explains_errors
def show(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Show the limits and what is used of them."""
    with connected(data) as signoff:
        view = signoff.queries.limits.view(TENANT)
    if as_json:
        print_json(limits_document(view))
        return
    used = {"open_runs": view.open_runs, "armed_timers": view.armed_timers}
    rows = []
    for f in fields(Limits):
        value = getattr(view.limits, f.name)
        words = write_limits(Limits(**{f.name: value})).get(f.name, value) if f.name in _NESTED else value
        rows.append((f.name, "no limit" if words in (None, "", {}) or (f.name in _NESTED and not words) else words,
                     used.get(f.name)))  # fmt: skip
    print_table(("limit", "allowed", "used now"), rows, "")
    calls = [(c.pool, c.connector, c.under_way, c.waiting, c.waiting_since) for c in view.calls]
    columns = ("pool", "connector", "under way", "waiting", "since (UTC)")
    print_table(columns, calls, "No calls are waiting or under way.")


_NESTED = frozenset({"activities", "pools", "connectors"})


@app.command("set")
@explains_errors
def set_limits(
    limits: Annotated[str, typer.Argument(help="JSON object, @FILE or -; what is not named goes to its default.")],
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Replace the limits, as an administrator."""
    document = read_json(limits, "The limits")
    with connected(data) as signoff:
        signoff.do("set_limits", actor(login), TENANT, limits=document, reason=reason)
    say("The limits are set.")
