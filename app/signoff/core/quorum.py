"""Who counts, how many are needed, and when votes settle an approval (semantics §7). Never clamped."""

from __future__ import annotations

from collections.abc import Sequence

from signoff.core.states import ApprovalState


def usable_roster(roster: tuple[str, ...], requester: str, requester_may_decide: bool) -> tuple[str, ...]:
    """The distinct people who may decide."""
    return roster if requester_may_decide else tuple(p for p in roster if p != requester)


def needed(required: int, usable: Sequence[str]) -> int:
    """The number of approvals that settle it; 0 in the definition means everyone who may decide."""
    return required if required else len(usable)


def settled_outcome(approval: ApprovalState, requester: str) -> str | None:
    """`approved`, `rejected`, or None while it is open.

    A rejection settles as soon as the quorum can no longer be reached by those who have not voted.
    """
    usable = usable_roster(approval.roster, requester, approval.requester_may_decide)
    approvals = {v.person for v in approval.votes if v.outcome == "approved"}
    rejections = {v.person for v in approval.votes if v.outcome == "rejected"}
    if len(approvals) >= approval.required:
        return "approved"
    if len(usable) - len(rejections) < approval.required:
        return "rejected"
    return None
