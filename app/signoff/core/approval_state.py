"""Where an approval or a form is: who is asked, who has voted, what is still to come. Part of the state of its step.

`ApprovalState` is copied for every event and has no slots: `altered` copies it in one go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's decision in one round; `values` of the fields that were filled in when deciding.

    `by` is the login of who decided for them, "" where they did so themselves.
    """

    person: str
    name: str
    outcome: str
    comment: str
    at: datetime
    channel: str
    values: dict[str, Any] = field(default_factory=dict)
    by: str = ""

    @property
    def human(self) -> str:
        """Login of who really decided."""
        return self.by or self.person


@dataclass(frozen=True, slots=True)
class Rung:
    """Something that happens to an open approval or form unless it is settled before.

    Attributes:
        kind: `reminder` or `escalation`.
        number: which of its kind, from 1; the definition says who is asked by an escalation.
        due: when, moved by pauses.
    """

    kind: str
    number: int
    due: datetime


@dataclass(frozen=True, slots=True)
class Quota:
    """So many approvals out of these people; frozen when the approval opens.

    Attributes:
        name: what it is called in sentences, usually the group.
        required: how many of them must approve, 1 or more.
        people: who counts for it.
    """

    name: str
    required: int
    people: tuple[str, ...]


@dataclass(frozen=True)
class ApprovalState:
    """An open or settled approval or form: the roster is frozen when it opens.

    Attributes:
        roster: who is asked, each person once.
        required: how many approvals settle it, in all quotas together.
        shown_digest: names exactly what is shown.
        requester_may_decide: False where the person who started the run may not.
        votes: in the order in which they were given.
        excluded: who would be asked, had they not decided an earlier step.
        assigned: who is asked because an operator named them.
        quotas: empty where the whole roster is one.
        groups: those that an expression named when it opened.
        in_sequence: whether a quota is asked only when those before it are filled; the roster has the present one.
        ladder: what is still to come of reminders and escalation, the next first.
        expires: when it expires, where it has or had a ladder; moved by pauses.
        reminded: how many reminders were sent.
        escalated: who is asked because nobody had decided in time.
        released: who was asked until an escalation handed it over.
    """

    roster: tuple[str, ...]
    required: int
    shown_digest: str
    requester_may_decide: bool
    votes: tuple[Vote, ...] = ()
    excluded: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    quotas: tuple[Quota, ...] = ()
    in_sequence: bool = False
    groups: tuple[str, ...] = ()
    ladder: tuple[Rung, ...] = ()
    expires: datetime | None = None
    reminded: int = 0
    escalated: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
