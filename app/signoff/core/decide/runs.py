"""Starting a run."""

from __future__ import annotations

from datetime import datetime

from signoff.core.commands import StartRun
from signoff.core.decide.advance import advance
from signoff.core.decide.build import Build
from signoff.core.events import RunStarted
from signoff.core.forms import check_values
from signoff.core.rejection import Rejection


def start(build: Build, command: StartRun) -> Rejection | None:
    """Check the typed input, record the start, begin the first steps."""
    plan = build.plan
    if build.state.sequence:
        return Rejection("already_started", f"Run '{command.run_id}' has already been started.", "Open it.", known=True)
    clean, problems = check_values(plan.definition.input, command.input, what=f"the input of '{plan.definition.title}'")
    if problems:
        return Rejection(
            "invalid_input",
            " ".join(p.sentence for p in problems),
            evidence=False,
            details={"problems": [{"field": p.field, "message": p.message, "remedy": p.remedy} for p in problems]},
        )
    deadline, capped = _deadline(build)
    build.emit(
        RunStarted(
            at=build.now,
            run_id=command.run_id,
            tenant=command.tenant,
            digest=plan.digest,
            definition_version=plan.version,
            actor=command.actor,
            business_key=command.business_key,
            input=clean,
            deadline=deadline,
            parent=command.parent,
            parent_step=command.parent_step,
            parent_generation=command.parent_generation,
            depth=command.depth,
            capped=capped,
        )
    )
    advance(build, plan.steps)
    return None


def _deadline(build: Build) -> tuple[datetime | None, str]:
    """The definition's deadline, or the tenant's limit where that comes first (second: which, in that case)."""
    clock, most = build.plan.worktime, build.facts.limits.run_time
    own = build.plan.definition.policies.deadline
    due = clock.later(build.now, own) if own else None
    end = clock.later(build.now, most) if most else None
    return (end, most) if end and (due is None or end < due) else (due, "")
