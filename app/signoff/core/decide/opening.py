"""Opening an approval or a form: the roster, the quorum and what is shown are frozen at this moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from signoff.core.decide.build import Build
from signoff.core.decide.ladder import ladder_of
from signoff.core.decide.policy import asked_by, policy_of
from signoff.core.definition import ApprovalConfig, AskingConfig, FormConfig, Step
from signoff.core.events import ApprovalOpened, FormOpened
from signoff.core.flow import scope_of
from signoff.core.quorum import distinct, find_person
from signoff.core.showing import refuse_too_large, shown_digest, shown_of
from signoff.core.states import ErrorInfo


def open_approval(build: Build, step: Step, fail: Callable[[Build, str, ErrorInfo], None]) -> None:
    """Ask people, or fail as `no_approver` where the quorum could not be met."""
    config = step.config
    assert isinstance(config, ApprovalConfig)
    state, policy = build.state, policy_of(build, step)
    if policy.problem:
        fail(build, step.id, ErrorInfo("no_approver", policy.problem, False))
        return
    shown = shown_of(build.plan, state, step.id)
    due = _due(build, config)
    build.emit(
        ApprovalOpened(
            at=build.now,
            step=step.id,
            generation=state.steps[step.id].generation,
            round=state.steps[step.id].round,
            roster=policy.roster,
            groups=policy.groups,
            required=policy.required,
            requester_may_decide=config.requester_may_decide,
            shown=shown,
            shown_digest=shown_digest(state, step.id, shown),
            directory_version=build.facts.directory.version,
            due=due,
            excluded=policy.excluded,
            ladder=ladder_of(config, build.plan.worktime, build.now, due),
            quotas=policy.quotas,
            in_sequence=bool(policy.quotas) and config.in_sequence,
            reckoned=policy.reckoned,
        )
    )


def open_form(build: Build, step: Step, fail: Callable[[Build, str, ErrorInfo], None]) -> None:
    """Ask people for values, or fail as `no_approver` where nobody is there to be asked."""
    config = step.config
    assert isinstance(config, FormConfig)
    state, directory = build.state, build.facts.directory
    requester = find_person(state.started_by, directory.people) if config.requester else None
    roster = distinct([*asked_by(build, config), *((requester,) if requester else ())])
    if not roster:
        named = [*(f"group '{g}'" for g in config.groups), *config.people]
        named += [f"'{state.started_by}', who started the run"] if config.requester else []
        message = f"Nobody can fill it in: {', '.join(named)} has no active account."
        fail(build, step.id, ErrorInfo("no_approver", message, False))
        return
    shown = shown_of(build.plan, state, step.id)
    due = _due(build, config)
    build.emit(
        FormOpened(
            at=build.now,
            step=step.id,
            generation=state.steps[step.id].generation,
            round=state.steps[step.id].round,
            roster=roster,
            groups=config.groups,
            shown=shown,
            shown_digest=shown_digest(state, step.id, shown),
            directory_version=directory.version,
            prefill=_prefill(build, step.id, config),
            due=due,
            ladder=ladder_of(config, build.plan.worktime, build.now, due),
        )
    )


def _prefill(build: Build, step_id: str, config: FormConfig) -> dict[str, Any]:
    """First values of the fields; what was submitted in the round before comes first."""
    offered = build.plan.templates[step_id](scope_of(build.state))["prefill"] if config.prefill else {}
    before = build.state.outputs.get(step_id) if build.state.steps[step_id].round > 1 else None
    values = {**offered, **(before if isinstance(before, dict) else {})}
    refuse_too_large(values, f"what '{build.plan.label(step_id)}' offers for its fields")
    return values


def _due(build: Build, config: AskingConfig) -> datetime | None:
    return build.plan.worktime.later(build.now, config.expires) if config.expires else None
