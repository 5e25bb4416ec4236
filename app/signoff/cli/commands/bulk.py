"""`signoff run bulk` and `signoff run migrate`: a preview first, then exactly the runs that were previewed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, read_json
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.engine.bulk_queries import Preview, RunFilter
from signoff.errors import InvalidInput

SHORT = {
    "retry": "retry_step",
    "skip": "skip_step",
    "complete": "complete_step",
    "replay": "replay_dead_letter",
    "happened": "confirm_effect",
    "not-happened": "deny_effect",
    "reassign": "reassign_step",
    "edit-input": "edit_input",
}
COMMANDS = ("pause", "resume", "cancel", "terminate", *SHORT, "migrate")
Reason = Annotated[str, typer.Option("--reason", help="Why; it goes into the audit trail.")]
To = Annotated[int | None, typer.Option("--to", help="Version to move to.")]
Steps = Annotated[
    list[str] | None, typer.Option("--map", help="OLD=NEW id of a step, OLD= lets it go; proposed where absent.")
]
Mapping = Annotated[str, typer.Option("--input", help="Mapping of new input fields: JSON object, @FILE or -.")]


@explains_errors
def bulk(
    command: Annotated[str, typer.Argument(help=" · ".join(COMMANDS))],
    definition: Annotated[str, typer.Option("--definition")] = "",
    version: Annotated[int | None, typer.Option("--version")] = None,
    status: Annotated[str, typer.Option("--status", help="Without one: all that are not over.")] = "",
    step: Annotated[str, typer.Option("--step", help="Id of a step; without one it is found.")] = "",
    error: Annotated[str, typer.Option("--error", help="Code of a step's error.")] = "",
    unchanged_min: Annotated[float, typer.Option("--unchanged-min", help="Nothing happened for so long.")] = 0.0,
    to: To = None,
    steps: Steps = None,
    mapping: Mapping = "",
    more: Annotated[
        str, typer.Option("--with", help='What the command takes besides, JSON: {"output": …}, {"add": […]}.')
    ] = "",
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without this nothing is changed.")] = False,
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Preview one command on many runs; with --apply carry it out on exactly those that can."""
    if command not in COMMANDS:
        raise InvalidInput(
            f"'{command[:40]}' cannot be sent to many runs.", remedy=f"Use one of: {', '.join(COMMANDS)}."
        )
    name = SHORT.get(command, f"{command}_run")
    args = {"plan": migration_plan(to, steps, mapping)} if command == "migrate" else {}
    if more:
        args |= read_json(more, "What the command takes")
    which = RunFilter(definition, version, status, step, error, unchanged_min * 60)
    preview_and_apply(name, which, args, apply, reason, login, data, as_json)


@explains_errors
def migrate(
    run_id: Annotated[str, typer.Argument(help="Id of the run, r-….")],
    to: To = None,
    steps: Steps = None,
    mapping: Mapping = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it can, or why not.")] = False,
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Move a run to another published version of its definition."""
    which, args = RunFilter(run_ids=(run_id,)), {"plan": migration_plan(to, steps, mapping)}
    preview_and_apply("migrate_run", which, args, not dry_run, reason, login, data, as_json)


def migration_plan(to: int | None, steps: list[str] | None, mapping: str) -> dict[str, Any]:
    """The JSON of a plan from the options of a command."""
    plan: dict[str, Any] = {"target": to}
    if steps:
        pairs = [x.partition("=") for x in steps]
        if not all(sep for _, sep, _ in pairs):
            raise InvalidInput("A step is mapped as OLD=NEW.", remedy="Write for example --map check=review.")
        plan["steps"] = {old: new for old, _, new in pairs}
    if mapping:
        plan["input"] = read_json(mapping, "The input mapping")
    return plan


def preview_and_apply(
    name: str,
    which: RunFilter,
    args: dict[str, Any],
    apply: bool,
    reason: str,
    login: str,
    data: Path,
    as_json: bool,
) -> None:
    """Show what a command would do to each run, or do exactly that."""
    who = actor(login)
    with connected(data) as signoff:
        found = signoff.queries.bulk.preview(TENANT, who, name, which, args)
        if not apply or not found.sendable:
            _show(found, as_json)
            if apply:
                raise typer.Exit(1)
            return
        answer = signoff.bulk(who, TENANT, name, found.sendable, reason=reason, args=args)
    if as_json:
        print_json({"preview": found, **answer})
    else:
        rows = [(x["run_id"], "done" if x["done"] else "refused", x["status"], x["message"]) for x in answer["results"]]
        print_table(("run", "", "status", "why not"), rows, "No run fits.")
        say(f"{answer['done']} done, {answer['refused']} refused, recorded as {answer['bulk_id']}.")
    if answer["refused"]:
        raise typer.Exit(1)


def _show(found: Preview, as_json: bool) -> None:
    if as_json:
        print_json({"preview": found, "sendable": found.sendable})
        return
    rows = [
        (i.run_id, i.status, "can" if i.can else "cannot", " ".join((i.sentence, *i.following))) for i in found.items
    ]
    print_table(("run", "status", "", "what would happen"), rows, "No run fits.")
    more = "; there are more" if found.more else ""
    say(f"{len(found.sendable)} of {len(found.items)} can{more}. Nothing was changed.")
