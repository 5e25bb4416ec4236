"""From the JSON of a migration plan to the command; steps are proposed where none are given."""

from __future__ import annotations

from typing import Any

from signoff.core.commands import MigrateRun
from signoff.core.migration import COVERED, MigrationPlan, propose
from signoff.core.plan import Plan
from signoff.core.states import Actor, RunStatus
from signoff.errors import InvalidInput


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


def move_command(actor: Actor, args: dict[str, Any], source: Plan, target: Plan) -> MigrateRun:
    """The command for one run on `source`."""
    plan, seen = args.get("plan") or {}, args.get("seen_sequence")
    return MigrateRun(
        actor=actor,
        reason=str(args.get("reason") or ""),
        seen_sequence=seen if isinstance(seen, int) else None,
        migration=migration_of(plan, source, target),
        target=target,
    )
