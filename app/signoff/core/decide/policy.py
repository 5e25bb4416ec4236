"""The policy of an approval as it is when it opens: who is asked, how many, in which order (semantics §7).

Expressions are evaluated once, here; what they gave is recorded, so that replay never evaluates them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from signoff.core.answering import deciders_elsewhere
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig, AskingConfig, QuotaRule, Step
from signoff.core.expression import ExpressionError
from signoff.core.flow import scope_of
from signoff.core.quorum import distinct, find_person, needed, seated, usable_roster
from signoff.core.states import Quota
from signoff.core.wording import listed

MAX_NEEDED = 500
"""More approvals than this are never asked for."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is frozen into the opened approval; `problem` says why the quorum cannot be met, "" where it can.

    Attributes:
        roster: who is asked now; in a sequence those of the first quota.
        required: how many approvals settle it.
        quotas: empty where the whole roster is one.
        groups: those that are asked by name.
        excluded: who would be asked, had they not decided an earlier step.
        reckoned: what the expressions gave.
    """

    roster: tuple[str, ...]
    required: int
    quotas: tuple[Quota, ...]
    groups: tuple[str, ...]
    excluded: tuple[str, ...]
    reckoned: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def members(build: Build, groups: Sequence[str], people: Sequence[str]) -> tuple[str, ...]:
    """Active members of groups, and persons who have an account."""
    directory = build.facts.directory
    found = [m for g in groups for m in directory.groups.get(g, ())]
    return distinct([*found, *(known for p in people if (known := find_person(p, directory.people)))])


def asked_by(build: Build, config: AskingConfig) -> tuple[str, ...]:
    """Whom a form, or an approval without quotas, asks."""
    return members(build, config.groups, config.people)


def policy_of(build: Build, step: Step) -> Policy:
    """Evaluate and freeze the policy.

    Raises:
        ExpressionError: an expression says nothing, or nothing that can be used.
    """
    config = step.config
    assert isinstance(config, ApprovalConfig)
    return _of_quotas(build, step, config) if config.quotas else _of_one(build, step, config)


def _of_one(build: Build, step: Step, config: ApprovalConfig) -> Policy:
    """One number out of one roster."""
    reckoned: dict[str, Any] = {}
    groups, wanted = config.groups, config.required
    if config.groups_by:
        groups = _groups(build, step)
        reckoned["groups"] = list(groups)
    if config.required_by:
        wanted = reckoned["required"] = _number(build, step)
    asked = members(build, groups, config.people)
    excluded = deciders_elsewhere(build.plan, build.state, step.id, asked)
    roster = tuple(p for p in asked if p not in excluded)
    usable = usable_roster(roster, build.state.started_by, config.requester_may_decide)
    required = needed(wanted, usable)
    problem = ""
    if not usable or required > len(usable):
        problem = _why_nobody(build, (*(f"group '{g}'" for g in groups), *config.people), wanted, usable, asked)
    return Policy(roster, required, (), tuple(groups), excluded, reckoned, problem)


def _of_quotas(build: Build, step: Step, config: ApprovalConfig) -> Policy:
    """So many of each, at once or in sequence."""
    conditions = build.plan.policies[step.id].quotas
    scope = scope_of(build.state) if any(conditions) else {}
    holds = [c.decide(scope) if c else True for c in conditions]
    reckoned = {"quotas": holds} if any(conditions) else {}
    rules = [q for q, yes in zip(config.quotas, holds, strict=True) if yes]
    groups = tuple(dict.fromkeys(g for q in rules for g in q.groups))
    everybody = distinct(p for q in rules for p in members(build, q.groups, q.people))
    excluded = deciders_elsewhere(build.plan, build.state, step.id, everybody)
    usable = usable_roster(
        tuple(p for p in everybody if p not in excluded), build.state.started_by, config.requester_may_decide
    )
    quotas = tuple(_frozen(build, q, usable) for q in rules)
    required = sum(q.required for q in quotas)
    roster = tuple(p for p in everybody if p not in excluded)
    if config.in_sequence and quotas:
        roster = quotas[0].people
    problem = _unmet(quotas, usable)
    return Policy(roster, required, quotas, groups, excluded, reckoned, problem)


def _frozen(build: Build, rule: QuotaRule, usable: Sequence[str]) -> Quota:
    people = tuple(p for p in members(build, rule.groups, rule.people) if find_person(p, usable))
    return Quota(quota_name(rule), needed(rule.required, people) or 1, people)


def quota_name(rule: QuotaRule) -> str:
    """What a quota is called in sentences."""
    return listed([*rule.groups, *rule.people]) or "nobody"


def _unmet(quotas: Sequence[Quota], usable: Sequence[str]) -> str:
    if not quotas:
        return "Nobody can approve: no quota of this approval applies here."
    places = seated(quotas, usable)
    short = [
        f"{q.required} of {q.name} (only {len(have)} can be had)"
        for q, have in zip(quotas, places, strict=True)
        if len(have) < q.required
    ]
    return f"The approval needs {listed(short)}, each person once." if short else ""


def _number(build: Build, step: Step) -> int:
    expression = build.plan.policies[step.id].required
    assert expression is not None
    value = expression.evaluate(scope_of(build.state))
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if not whole or not 0 <= value <= MAX_NEEDED:
        raise ExpressionError(f"'{expression.shown}' must give a whole number of approvals from 0 to {MAX_NEEDED}.")
    return int(value)


def _groups(build: Build, step: Step) -> tuple[str, ...]:
    expression = build.plan.policies[step.id].groups
    assert expression is not None
    value = expression.evaluate(scope_of(build.state))
    if not isinstance(value, list) or not all(isinstance(g, str) for g in value):
        raise ExpressionError(f"'{expression.shown}' must give a list of names of groups.")
    return tuple(dict.fromkeys(value))


def _why_nobody(
    build: Build, names: Sequence[str], wanted: int, usable: tuple[str, ...], asked: tuple[str, ...]
) -> str:
    requester = build.state.started_by
    named = ", ".join(names) or "nobody"
    if not asked:
        return f"Nobody can approve: {named} has no active member."
    if not usable:
        barred = f"'{requester}', who started the run," if len(asked) == 1 and find_person(requester, asked) else ""
        barred = barred or "who started the run or decided an earlier step"
        return f"Nobody can approve: {barred} may not, and {named} has no one else."
    return f"The approval needs {wanted} people, but only {len(usable)} of {named} may decide."
