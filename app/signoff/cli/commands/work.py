"""`signoff dead-letter …`: work that failed for good, and replaying it."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff.cli.commands.runs import Reason, RunId, Step, operate
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, connected
from signoff.cli.output import explains_errors, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Work that failed for good and waits for an operator.")


@app.command("list")
@explains_errors
def list_dead_letters(
    definition: Annotated[str, typer.Option("--definition")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List dead letters, the newest first."""
    with connected(data) as signoff:
        page = signoff.queries.list_dead_letters(TENANT, definition=definition, limit=limit)
    if as_json:
        print_json(page)
    else:
        rows = [(x.run_id, x.step, x.title, x.code, x.message, x.attempts, x.since) for x in page.items]
        columns = ("run", "step", "definition", "error", "what happened", "attempts", "since (UTC)")
        print_table(columns, rows, "There are no dead letters.")


@app.command()
@explains_errors
def replay(run_id: RunId, step: Step, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Try a dead letter again, with the same idempotency key."""
    operate("replay_dead_letter", run_id, login, data, reason, step=step)
