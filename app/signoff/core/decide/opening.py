"""Opening an approval: the roster, the quorum and what is shown are frozen at this moment."""

from __future__ import annotations

from collections.abc import Callable

from signoff.core.calendar import add_duration, parse_duration
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig, Step
from signoff.core.events import ApprovalOpened
from signoff.core.quorum import distinct, find_person, needed, usable_roster
from signoff.core.showing import shown_digest, shown_of
from signoff.core.states import ErrorInfo


def open_approval(build: Build, step: Step, fail: Callable[[Build, str, ErrorInfo], None]) -> None:
    """Ask people, or fail as `no_approver` where the quorum could not be met."""
    config = step.config
    assert isinstance(config, ApprovalConfig)
    state, directory = build.state, build.facts.directory
    members = [m for g in config.groups for m in directory.groups.get(g, ())]
    named = [known for p in config.people if (known := find_person(p, directory.people))]
    asked = distinct([*members, *named])
    excluded = deciders_elsewhere(build, step.id, asked)
    roster = tuple(p for p in asked if p not in excluded)
    usable = usable_roster(roster, state.started_by, config.requester_may_decide)
    required = needed(config.required, usable)
    if not usable or required > len(usable):
        fail(build, step.id, ErrorInfo("no_approver", _why_nobody(config, usable, asked, state.started_by), False))
        return
    shown = shown_of(build.plan, state, step.id)
    due = add_duration(build.now, parse_duration(config.expires), build.plan.zone) if config.expires else None
    build.emit(
        ApprovalOpened(
            at=build.now,
            step=step.id,
            generation=state.steps[step.id].generation,
            round=state.steps[step.id].round,
            roster=roster,
            groups=config.groups,
            required=required,
            requester_may_decide=config.requester_may_decide,
            shown=shown,
            shown_digest=shown_digest(state, step.id, shown),
            directory_version=directory.version,
            due=due,
            excluded=excluded,
        )
    )


def deciders_elsewhere(build: Build, step_id: str, among: tuple[str, ...]) -> tuple[str, ...]:
    """Those who have decided, by now, an approval whose deciders must differ from those of this step."""
    others = must_differ(build, step_id)
    votes = [v for i in others if (approval := build.state.steps[i].approval) for v in approval.votes]
    return tuple(p for p in among if find_person(p, [v.person for v in votes]))


def must_differ(build: Build, step_id: str) -> list[str]:
    """Approvals that this one must differ from, and those that must differ from it: they may be open together."""
    config = build.plan.steps[step_id].config
    assert isinstance(config, ApprovalConfig)
    return [
        i
        for i, other in build.plan.steps.items()
        if isinstance(other.config, ApprovalConfig)
        and (i in config.deciders_differ_from or step_id in other.config.deciders_differ_from)
    ]


def _why_nobody(config: ApprovalConfig, usable: tuple[str, ...], asked: tuple[str, ...], requester: str) -> str:
    named = ", ".join([*(f"group '{g}'" for g in config.groups), *config.people])
    if not asked:
        return f"Nobody can approve: {named} has no active member."
    if not usable:
        barred = f"'{requester}', who started the run," if len(asked) == 1 and find_person(requester, asked) else ""
        barred = barred or "who started the run or decided an earlier step"
        return f"Nobody can approve: {barred} may not, and {named} has no one else."
    return f"The approval needs {config.required} people, but only {len(usable)} of {named} may decide."
