"""Quotas of an approval: somebody for each, places that distinct people can fill, nothing said twice."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.core.checks.ladder import check_people
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import ApprovalConfig, QuotaRule, Step
from signoff.core.problem import Problem
from signoff.core.quorum import seated
from signoff.core.states import Quota

MAX_QUOTAS = 10
MAX_REQUIRED = 100


def check_quotas(s: Step, c: ApprovalConfig, around: Surroundings) -> Iterator[Problem]:
    """Everything about the quotas of one approval."""
    if c.groups or c.people or c.required != 1 or c.required_by or c.groups_by:
        message = f"'{s.label}' has quotas, and says beside them whom it asks or how many."
        yield Problem("mixed_policy", message, "Say everything in the quotas, or take them away.", s.id)
    if len(c.quotas) > MAX_QUOTAS:
        message = f"'{s.label}' has {len(c.quotas)} quotas; at most {MAX_QUOTAS} are allowed."
        yield Problem("too_many_quotas", message, "Put some of them into an approval of their own.", s.id)
    for number, q in enumerate(c.quotas, 1):
        yield from _one(s, number, q, around)
    if not any(q.groups or q.required == 0 or q.when for q in c.quotas):
        yield from _named(s, c)


def _one(s: Step, number: int, q: QuotaRule, around: Surroundings) -> Iterator[Problem]:
    if not q.groups and not q.people:
        message = f"Quota {number} of '{s.label}' asks nobody."
        yield Problem("no_approvers", message, "Name a group or people.", s.id)
    yield from check_people(s, q.groups, q.people, around)
    if not 0 <= q.required <= MAX_REQUIRED:
        message = f"Quota {number} of '{s.label}' must need between 0 and {MAX_REQUIRED} approvals."
        yield Problem("bad_quorum", message, "Use 1 or more; 0 means all of them.", s.id)
    sizes = [around.group_sizes.get(g) for g in q.groups]
    most = sum(n or 0 for n in sizes) + len(q.people)
    if None not in sizes and (q.groups or q.people) and q.required > most:
        message = f"Quota {number} of '{s.label}' needs {q.required} approvals, but asks only {most} people."
        yield Problem("quorum_unreachable", message, "Ask more people or need fewer approvals.", s.id)


def _named(s: Step, c: ApprovalConfig) -> Iterator[Problem]:
    """Where only persons are named: each fills one place, whichever quotas name them."""
    quotas = [Quota(f"quota {n}", min(q.required, MAX_REQUIRED), q.people) for n, q in enumerate(c.quotas, 1)]
    places = seated(quotas, [p for q in c.quotas for p in q.people])
    for q, have in zip(quotas, places, strict=True):
        if q.people and len(have) < q.required <= len(q.people):
            message = f"'{s.label}' can never fill {q.name}: the people it names are needed for other quotas too."
            yield Problem("quorum_unreachable", message, "Name more people; each counts once.", s.id)
