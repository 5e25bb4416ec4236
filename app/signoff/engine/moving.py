"""From the JSON of a migration plan to the command; steps are proposed where none are given."""

from __future__ import annotations

from typing import Any

from signoff.core.commands import MigrateRun
from signoff.core.migration import COVERED, MigrationPlan, propose
from signoff.core.plan import Plan
from signoff.core.states import Actor, RunStatus
from signoff.errors import InvalidInput, NotFound
from signoff.store.migration_plans import Rows, find_plan, find_with_digest


def target_of(args: dict[str, Any]) -> int:
    """The number of the version that runs go to.

    Raises:
        InvalidInput: the plan does not say.
    """
    target = args.get("target")
    if not isinstance(target, int) or isinstance(target, bool):
        raise InvalidInput("The migration plan names no target version.", remedy="Give its number as 'target'.")
    return target


def migration_of(args: dict[str, Any], source: Plan, target: Plan) -> MigrationPlan:
    """The plan for runs on `source`.

    Args:
        args: "steps" (old id to new id, "" lets a step go; absent: proposed), "input" (a mapping or absent) and
            "covers" (statuses of runs).
        source: the version a run is on.
        target: the version it goes to.

    Raises:
        InvalidInput: a part has the wrong form.
    """
    steps, mapping, covers = args.get("steps"), args.get("input"), args.get("covers") or [str(s) for s in COVERED]
    if steps is not None and not (
        isinstance(steps, dict) and all(isinstance(x, str) for pair in steps.items() for x in pair)
    ):
        raise InvalidInput("'steps' of the migration plan must map step ids to step ids.", remedy="Correct the plan.")
    if mapping is not None and not isinstance(mapping, dict):
        raise InvalidInput("'input' of the migration plan must be an object.", remedy="Correct the plan.")
    if not isinstance(covers, list) or not set(covers) <= {str(s) for s in RunStatus}:
        known = ", ".join(str(s) for s in COVERED)
        raise InvalidInput("'covers' of the migration plan must list statuses of runs.", remedy=f"Use {known}.")
    return MigrationPlan(
        source.digest,
        target.digest,
        propose(source, target).steps if steps is None else dict(steps),
        mapping,
        tuple(RunStatus(s) for s in covers),
    )


def document_of(migration: MigrationPlan, target: int) -> dict[str, Any]:
    """The JSON form of a plan, with everything written out; `migration_of` reads it."""
    return {
        "target": target,
        "steps": dict(migration.steps),
        "input": None if migration.input is None else dict(migration.input),
        "covers": [str(s) for s in migration.covers],
    }


def plan_args(rows: Rows, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
    """The JSON of the plan that a request means: its own "plan", or the stored one named by "plan_id".

    Raises:
        InvalidInput: it names none, or one that was not approved.
        NotFound: there is none with that id.
    """
    plan_id = args.get("plan_id")
    if not plan_id:
        plan = args.get("plan")
        if not isinstance(plan, dict):
            raise InvalidInput("The request holds no migration plan.", remedy="Give 'plan' or 'plan_id'.")
        return plan
    stored = find_plan(rows, tenant, str(plan_id))
    if stored is None:
        raise NotFound(f"There is no migration plan '{str(plan_id)[:60]}'.", remedy="Check the id.")
    if stored.status in ("rejected", "withdrawn"):
        message = f"The migration plan '{stored.plan_id}' was {stored.status}."
        raise InvalidInput(message, code="plan_settled", remedy="Propose another one.")
    return stored.document


def move_command(
    rows: Rows, tenant: str, actor: Actor, args: dict[str, Any], plan: dict[str, Any], source: Plan, target: Plan
) -> MigrateRun:
    """The command for one run on `source`, with the approval of the stored plan of the same content, if any."""
    seen, migration = args.get("seen_sequence"), migration_of(plan, source, target)
    approved = find_with_digest(rows, tenant, migration.digest, "approved")
    return MigrateRun(
        actor=actor,
        reason=str(args.get("reason") or ""),
        seen_sequence=seen if isinstance(seen, int) else None,
        migration=migration,
        target=target,
        plan_id=approved.plan_id if approved else "",
        approved_by=approved.decided_by if approved else "",
    )
