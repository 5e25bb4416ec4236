"""`signoff audit retention …`: how long ended runs are kept, and what is left of those that were removed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.core.retention import write_retention
from signoff.engine.retention_queries import DueView, preview_document, rule_document, tombstone_document

app = typer.Typer(no_args_is_help=True, help="How long ended runs are kept.")
Days = Annotated[int | None, typer.Option("--days", help="Days after the end, where a definition asks for nothing.")]
Least = Annotated[int | None, typer.Option("--least", help="No definition has its runs removed earlier.")]
Most = Annotated[int | None, typer.Option("--most", help="No definition has its runs kept longer.")]
_COLUMNS = ("definition", "version", "kept", "due now", "on hold", "oldest (UTC)")


def _rows(found: list[DueView]) -> list[tuple[object, ...]]:
    return [(x.definition, x.version, x.policy, x.due - x.held, x.held, x.oldest) for x in found]


@app.command()
@explains_errors
def show(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Show the rule, and what it removes at the next look, at most ten minutes from now."""
    with connected(data) as signoff:
        queries = signoff.queries.retention
        told, rule, found = rule_document(queries, TENANT), queries.of(TENANT), queries.preview(TENANT)
    if as_json:
        print_json(told)
        return
    say(", ".join(f"{name}: {days} days" for name, days in write_retention(rule).items()) or "Runs are kept for ever.")
    print_table(_COLUMNS, _rows(found), "There are no definitions.")
    say(f"{told['pruned']} runs were removed so far.")


@app.command("set")
@explains_errors
def set_rule(
    days: Days = None,
    least: Least = None,
    most: Most = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what it would remove now.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Replace the rule, as an administrator; without --days runs are kept for ever. Begin with --dry-run."""
    given = {"days": days, "least": least, "most": most}
    document: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with connected(data) as signoff:
        found = signoff.queries.retention.preview(TENANT, document)
        if not dry_run:
            signoff.do("set_retention", actor(login), TENANT, retention=document, reason=reason)
    if as_json:
        print_json({"retention": document, "set": not dry_run, "preview": preview_document(found)})
        return
    print_table(_COLUMNS, _rows(found), "There are no definitions.")
    say("Nothing was changed." if dry_run else "The rule is set; what is due is removed within ten minutes.")


@app.command()
@explains_errors
def tombstones(
    limit: Annotated[int, typer.Option("--limit", help="At most so many.")] = 50,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List runs that were removed, the newest first."""
    with connected(data) as signoff:
        page = signoff.queries.retention.list_tombstones(TENANT, limit=limit)
    if as_json:
        print_json({"items": [tombstone_document(x) for x in page.items]})
        return
    rows = [
        (x.run_id, x.told.get("definition"), x.told.get("status"), str(x.told.get("ended_at"))[:10],
         str(x.told.get("at"))[:10], x.told.get("policy"))
        for x in page.items
    ]  # fmt: skip
    print_table(("run", "definition", "ended as", "on", "removed", "policy"), rows, "No run was removed.")
