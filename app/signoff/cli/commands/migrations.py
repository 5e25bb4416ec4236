"""`signoff migration …`: plans for moving runs to another version, proposed by one and approved by another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from signoff.cli.commands.bulk import Mapping, Reason, Steps, migration_plan, preview_and_apply
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.engine.bulk_queries import RunFilter

app = typer.Typer(no_args_is_help=True, help="Plans for moving runs to another version.")
PlanId = Annotated[str, typer.Argument(help="Id of the plan, p-…")]


@app.command("list")
@explains_errors
def list_plans(
    definition: Annotated[str, typer.Option("--definition")] = "", data: Data = DEFAULT_DATA, as_json: Json = False
) -> None:
    """List plans, the newest first."""
    with connected(data) as signoff:
        page = signoff.queries.plans.list(TENANT, definition=definition)
    if as_json:
        print_json(page)
        return
    rows = [
        (p.plan_id, p.definition, f"{p.source_version} → {p.target_version}", p.status, p.proposed_by, p.decided_by,
         p.reason)
        for p in page.items
    ]  # fmt: skip
    columns = ("plan", "definition", "versions", "status", "proposed by", "decided by", "reason")
    print_table(columns, rows, "There are no migration plans.")


@app.command()
@explains_errors
def propose(
    definition: Annotated[str, typer.Argument(help="Name of the definition.")],
    version: Annotated[int, typer.Option("--from", help="Version that runs are on.")],
    to: Annotated[int, typer.Option("--to", help="Version they go to.")],
    steps: Steps = None,
    mapping: Mapping = "",
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Propose a plan."""
    plan = migration_plan(to, steps, mapping)
    answer = _do(data, login, "propose_migration", definition=definition, version=version, plan=plan, reason=reason)
    say(f"The plan {answer['plan_id']} is {answer['status']}: {answer['digest']}.")


@app.command()
@explains_errors
def approve(
    plan_id: PlanId,
    comment: Annotated[str, typer.Option("--comment")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Approve a plan that somebody else proposed."""
    _do(data, login, "decide_migration", plan_id=plan_id, outcome="approved", comment=comment)
    say(f"The plan {plan_id} is approved.")


@app.command()
@explains_errors
def reject(
    plan_id: PlanId,
    comment: Annotated[str, typer.Option("--comment", help="Why.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Reject a plan that somebody else proposed."""
    _do(data, login, "decide_migration", plan_id=plan_id, outcome="rejected", comment=comment)
    say(f"The plan {plan_id} is rejected.")


@app.command()
@explains_errors
def withdraw(plan_id: PlanId, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Let a plan go: no run is moved by it any more."""
    _do(data, login, "withdraw_migration", plan_id=plan_id, reason=reason)
    say(f"The plan {plan_id} is withdrawn.")


@app.command("dry-run")
@explains_errors
def dry_run(plan_id: PlanId, login: As = "", data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Say for each open run of the plan's version whether it can move, or why not; nothing is changed."""
    _apply(plan_id, False, "", login, data, as_json)


@app.command()
@explains_errors
def apply(
    plan_id: PlanId, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA, as_json: Json = False
) -> None:
    """Move every open run of the plan's version that can."""
    _apply(plan_id, True, reason, login, data, as_json)


def _apply(plan_id: str, do: bool, reason: str, login: str, data: Any, as_json: bool) -> None:
    with connected(data) as signoff:
        view = signoff.queries.plans.get(TENANT, plan_id)
    which = RunFilter(definition=view.definition, version=view.source_version)
    preview_and_apply("migrate_run", which, {"plan_id": plan_id}, do, reason, login, data, as_json)


def _do(data: Any, login: str, what: str, **args: Any) -> dict[str, Any]:
    with connected(data) as signoff:
        return signoff.do(what, actor(login), TENANT, **args)
