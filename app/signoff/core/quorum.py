"""Who counts, how many are needed, and when votes settle an approval (semantics §7). Never clamped.

A policy is one number of approvals out of a roster, or several quotas, each out of its own people. A person has one
vote and fills one place, whichever quotas they belong to: who counts for what is an assignment of people to places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from signoff.core.states import ApprovalState, Quota


def person_key(login: str) -> str:
    """One key for all spellings of a login: letter case and Unicode composition make nobody a second person."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", login).casefold())


def same_person(one: str, other: str) -> bool:
    """True where two logins name one person."""
    return person_key(one) == person_key(other)


def find_person(login: str, among: Iterable[str]) -> str | None:
    """How `among` spells that person, or None."""
    key = person_key(login)
    return next((p for p in among if person_key(p) == key), None)


def distinct(logins: Iterable[str]) -> tuple[str, ...]:
    """Each person once, in order, in the first spelling."""
    found: dict[str, str] = {}
    for login in logins:
        found.setdefault(person_key(login), login)
    return tuple(found.values())


def usable_roster(roster: tuple[str, ...], requester: str, requester_may_decide: bool) -> tuple[str, ...]:
    """The distinct people who may decide."""
    return roster if requester_may_decide else tuple(p for p in roster if not same_person(p, requester))


def needed(required: int, usable: Sequence[str]) -> int:
    """The number of approvals that settle it; 0 in the definition means everyone who may decide."""
    return required if required else len(usable)


def seated(quotas: Sequence[Quota], people: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Who fills the places of each quota: as many places as these people can fill, each person one.

    Augmenting paths: whoever comes later may move those before to another quota, never out.
    """
    members = [frozenset(map(person_key, q.people)) for q in quotas]
    places = [i for i, q in enumerate(quotas) for _ in range(q.required)]
    taken: dict[int, str] = {}

    def seat(person: str, tried: set[int]) -> bool:
        for place, quota in enumerate(places):
            if place in tried or person_key(person) not in members[quota]:
                continue
            tried.add(place)
            if place not in taken or seat(taken[place], tried):
                taken[place] = person
                return True
        return False

    for person in distinct(people):
        seat(person, set())
    return tuple(tuple(p for place, p in sorted(taken.items()) if places[place] == i) for i in range(len(quotas)))


def counted(approval: ApprovalState) -> tuple[tuple[str, ...], ...]:
    """Who counts for each quota so far; in a sequence a vote counts for the quota that was asked when it was given."""
    approvals = [v.person for v in approval.votes if v.outcome == "approved"]
    if not approval.in_sequence:
        return seated(approval.quotas, approvals)
    found: list[tuple[str, ...]] = []
    for quota in approval.quotas:
        found.append(tuple(approvals[: quota.required]))
        approvals = approvals[quota.required :]
    return tuple(found)


def given(approval: ApprovalState) -> int:
    """How many approvals count so far; `required` of them settle it."""
    if approval.quotas:
        return sum(map(len, counted(approval)))
    return len(distinct(v.person for v in approval.votes if v.outcome == "approved"))


def upcoming(quotas: Sequence[Quota], roster: Sequence[str]) -> tuple[str, ...]:
    """Those of a sequence who are not on its roster: their turn has not come, or is over."""
    return tuple(p for p in distinct(p for q in quotas for p in q.people) if find_person(p, roster) is None)


def stage_of(approval: ApprovalState) -> int:
    """The quota of a sequence that is asked now; their number where all are filled."""
    filled = (len(c) >= q.required for q, c in zip(approval.quotas, counted(approval), strict=True))
    return next((i for i, full in enumerate(filled) if not full), len(approval.quotas))


def lacking(approval: ApprovalState, able: Sequence[str]) -> int:
    """How many approvals would be missing if everybody in `able` (who have not voted) approved; 0 or less: none."""
    if not approval.quotas:
        return approval.required - given(approval) - len(able)
    if approval.in_sequence:
        stage, before = stage_of(approval), counted(approval)
        left = approval.quotas[stage:]
        if not left:
            return 0
        now = Quota(left[0].name, left[0].required - len(before[stage]), left[0].people)
        rest = (now, *left[1:])
        return sum(q.required for q in rest) - sum(map(len, seated(rest, able)))
    approvals = [v.person for v in approval.votes if v.outcome == "approved"]
    return sum(q.required for q in approval.quotas) - sum(map(len, seated(approval.quotas, [*approvals, *able])))


def settled_outcome(approval: ApprovalState, requester: str, *, at_first_rejection: bool = False) -> str | None:
    """`approved`, `rejected`, or None while it is open.

    A rejection settles at once where `at_first_rejection` says so, else as soon as the quorum can no longer
    be reached by those who have not voted.
    """
    if given(approval) >= approval.required:
        return "approved"
    votes = {person_key(p) for v in approval.votes for p in (v.person, v.human)}
    rejected = any(v.outcome == "rejected" for v in approval.votes)
    people = distinct([*approval.roster, *(p for q in approval.quotas for p in q.people)])
    usable = usable_roster(people, requester, approval.requester_may_decide)
    able = [p for p in usable if person_key(p) not in votes]
    return "rejected" if rejected and (at_first_rejection or lacking(approval, able) > 0) else None
