"""Who counts, how many are needed, and when votes settle an approval (semantics §7). Never clamped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from signoff.core.states import ApprovalState


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


def settled_outcome(approval: ApprovalState, requester: str, *, at_first_rejection: bool = False) -> str | None:
    """`approved`, `rejected`, or None while it is open.

    A rejection settles at once where `at_first_rejection` says so, else as soon as the quorum can no longer
    be reached by those who have not voted.
    """
    usable = usable_roster(approval.roster, requester, approval.requester_may_decide)
    approvals = {v.person for v in approval.votes if v.outcome == "approved"}
    rejections = {v.person for v in approval.votes if v.outcome == "rejected"}
    if len(approvals) >= approval.required:
        return "approved"
    if (rejections and at_first_rejection) or len(usable) - len(rejections) < approval.required:
        return "rejected"
    return None
