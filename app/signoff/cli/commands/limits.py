"""`signoff limits …`: what the tenant may have and use, and what it uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated

import typer

from signoff.cli.commands.runs import Reason
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, read_json
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.core.limits import Limits, Share
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
    rows = [(f.name, _words(getattr(view.limits, f.name)), used.get(f.name)) for f in fields(Limits)]
    print_table(("limit", "allowed", "used now"), rows, "")
    calls = [(c.pool, c.connector, c.under_way, c.waiting, c.waiting_since) for c in view.calls]
    columns = ("pool", "connector", "under way", "waiting", "since (UTC)")
    print_table(columns, calls, "No calls are waiting or under way.")


def _words(value: object) -> str:
    """What a limit allows, e.g. `3 at once, 30 a minute` or `ml: 2 at once`."""
    match value:
        case Share(at_once=at_once, per_minute=per_minute):
            both = ((at_once, "at once"), (per_minute, "a minute"))
            return ", ".join(f"{n} {words}" for n, words in both if n is not None) or "no limit"
        case Mapping():
            return "; ".join(f"{name}: {_words(share)}" for name, share in sorted(value.items())) or "no limit"
        case None | "":
            return "no limit"
        case _:
            return str(value)


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
