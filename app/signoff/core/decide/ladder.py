"""Reminders and escalation of an open approval or form (semantics §7): when, to whom, and that each happens once.

All instants are reckoned when people are asked, on working time where the definition says so, and recorded there.
What came due while nothing could fire happens once, late: reminders in a row are one. Nothing happens after the expiry.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.answering import deciders_elsewhere, missing_answers, who_may_answer
from signoff.core.decide.build import Build
from signoff.core.decide.policy import members
from signoff.core.definition import ApprovalConfig, AskingConfig, FormConfig
from signoff.core.quorum import counted, distinct, find_person, same_person, stage_of
from signoff.core.states import ApprovalState, Quota, Rung, StepState
from signoff.core.worktime import WorkTime


def ladder_of(config: AskingConfig, worktime: WorkTime, begun: datetime, expires: datetime | None) -> tuple[Rung, ...]:
    """What will happen to a step that asks people from `begun` on, the next first; a reminder before an escalation.

    Raises:
        ValueError: a duration cannot be read.
    """
    found = []
    if config.reminders:
        at = begun
        for number in range(1, config.reminders.at_most + 1):
            at = worktime.later(at, config.reminders.every)
            found.append(Rung("reminder", number, at))
    for number, rung in enumerate(config.escalation, 1):
        found.append(Rung("escalation", number, worktime.later(begun, rung.after)))
    in_time = [r for r in found if expires is None or r.due < expires]
    return tuple(sorted(in_time, key=lambda r: (r.due, r.kind == "escalation", r.number)))


def climb(build: Build, step_id: str) -> None:
    """Do what the next rung says; the step's timer is due."""
    step = build.state.steps[step_id]
    assert step.approval is not None
    rung = step.approval.ladder[0]
    if rung.kind == "escalation":
        _escalate(build, step_id, rung)
        return
    for later in step.approval.ladder:
        if later.kind != "reminder" or later.due > build.now:
            break
        rung = later
    people = who_may_answer(build.plan, build.state, step_id, build.facts.directory.people)
    build.emit(
        e.ReminderSent(
            at=build.now,
            step=step_id,
            generation=step.generation,
            number=rung.number,
            due=rung.due,
            people=people,
        )
    )


def _escalate(build: Build, step_id: str, rung: Rung) -> None:
    """Ask others as well, or instead where enough are left to settle it without those who were asked."""
    step, config = build.state.steps[step_id], build.plan.steps[step_id].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    assert step.approval is not None
    asked, wanted = step.approval, config.escalation[rung.number - 1]
    directory = build.facts.directory
    added = _who_can(build, step_id, asked, members(build, wanted.groups, wanted.people))
    waiting = who_may_answer(build.plan, build.state, step_id)
    voted = [v.person for v in asked.votes]
    removed = tuple(p for p in asked.roster if not find_person(p, voted)) if added and wanted.hand_over else ()
    roster = (*(p for p in asked.roster if p not in removed), *added)
    quotas = _quotas_after(asked, added, removed)
    if removed and _too_few(build, step, step_id, roster, quotas):
        removed, roster = (), (*asked.roster, *added)
        quotas = _quotas_after(asked, added, ())
    build.emit(
        e.PeopleEscalated(
            at=build.now,
            step=step_id,
            generation=step.generation,
            number=rung.number,
            due=rung.due,
            groups=wanted.groups,
            asked=waiting,
            roster=roster,
            added=added,
            removed=removed,
            directory_version=directory.version,
            quotas=quotas,
        )
    )


def _quotas_after(asked: ApprovalState, added: Sequence[str], removed: Sequence[str]) -> tuple[Quota, ...]:
    """Who comes in by escalation may stand in for every quota that is not filled; in a sequence not for later ones."""
    stage = stage_of(asked) if asked.in_sequence else 0
    found = []
    for i, (q, have) in enumerate(zip(asked.quotas, counted(asked), strict=True)):
        short = i == stage if asked.in_sequence else len(have) < q.required
        left = tuple(p for p in q.people if p not in removed)
        found.append(Quota(q.name, q.required, distinct([*left, *added]) if short else left))
    return tuple(found)


def _who_can(build: Build, step_id: str, asked: ApprovalState, people: Sequence[str]) -> tuple[str, ...]:
    """Those who are not asked yet and may decide: separation of duties holds for whoever comes in."""
    state = build.state
    earlier = (*asked.excluded, *deciders_elsewhere(build.plan, state, step_id, people))
    return tuple(
        p
        for p in people
        if not find_person(p, asked.roster)
        and not find_person(p, [v.human for v in asked.votes])
        and not find_person(p, earlier)
        and (asked.requester_may_decide or not same_person(p, state.started_by))
    )


def _too_few(build: Build, step: StepState, step_id: str, roster: tuple[str, ...], quotas: tuple[Quota, ...]) -> bool:
    assert step.approval is not None
    then = altered(step, approval=altered(step.approval, roster=roster, quotas=quotas))
    state = altered(build.state, steps={**build.state.steps, step_id: then})
    return missing_answers(build.plan, state, step_id, build.facts.directory.people) > 0
