"""Facts about people who are asked: approvals, forms, and work that they send back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from signoff.core.event import Edges, StepEvent
from signoff.core.standing_in import Delegation
from signoff.core.states import Actor, Quota, Rung, SignIn


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalOpened(StepEvent):
    """People were asked. The roster, the quorum and exactly what is shown are frozen here.

    `quotas` are those that apply, `reckoned` is what the expressions of the policy gave, by name. In a sequence the
    roster has those who are asked first.
    """

    wire: ClassVar[str] = "approval.opened"
    generation: int
    round: int
    roster: tuple[str, ...]
    groups: tuple[str, ...]
    required: int
    requester_may_decide: bool
    shown: Any
    shown_digest: str
    directory_version: int
    due: datetime | None = None
    excluded: tuple[str, ...] = ()
    ladder: tuple[Rung, ...] = ()
    quotas: tuple[Quota, ...] = ()
    in_sequence: bool = False
    reckoned: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecorded(StepEvent):
    """One person decided, about exactly what `shown_digest` names; `link` names the link they used, if they did.

    `form_digest` names the buttons, words and fields that were offered, `definition_digest` the version; `zone` is
    the definition's, in which people read the time. `values` are those of the fields, checked. `on_behalf_of` is the
    login of whom `actor` decided for, by the right of `delegation`; `signed_in` says how `actor` was.
    """

    wire: ClassVar[str] = "approval.decision_recorded"
    generation: int
    round: int
    actor: Actor
    outcome: str
    comment: str
    shown_digest: str
    authority: str
    link: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    definition_digest: str = ""
    form_digest: str = ""
    zone: str = ""
    on_behalf_of: str = ""
    delegation: Delegation | None = None
    signed_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteWithdrawn(StepEvent):
    """A person took their vote back while the approval was open; they may vote again."""

    wire: ClassVar[str] = "approval.vote_withdrawn"
    generation: int
    round: int
    actor: Actor
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleReassigned(StepEvent):
    """An operator changed who is asked by an open approval or form; votes so far count on."""

    wire: ClassVar[str] = "people.reassigned"
    generation: int
    actor: Actor
    reason: str
    roster: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    directory_version: int
    quotas: tuple[Quota, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAsked(StepEvent):
    """A quota of a sequence is filled, so the next is asked; `people` are they, `stage` counts from 0."""

    wire: ClassVar[str] = "approval.next_asked"
    generation: int
    stage: int
    name: str
    people: tuple[str, ...]
    roster: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderSent(StepEvent):
    """Those who are asked and have not answered were reminded. Reminders that came due meanwhile are one."""

    wire: ClassVar[str] = "reminder.sent"
    generation: int
    number: int
    due: datetime
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleEscalated(StepEvent):
    """Nobody had decided in time, so others are asked: as well, or (`removed`) instead; votes so far count on.

    `asked` are those who were asked and had not answered. `added` is empty where nobody new could be asked.
    """

    wire: ClassVar[str] = "people.escalated"
    generation: int
    number: int
    due: datetime
    groups: tuple[str, ...]
    asked: tuple[str, ...]
    roster: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    directory_version: int
    quotas: tuple[Quota, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettled(StepEvent):
    """The decisions so far settle the approval as approved or rejected."""

    wire: ClassVar[str] = "approval.settled"
    generation: int
    outcome: str
    output: Any = None
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalExpired(StepEvent):
    """Nobody settled it in time; silence never approves and names no decider."""

    wire: ClassVar[str] = "approval.expired"
    generation: int
    due: datetime
    edges: Edges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalVoided(StepEvent):
    """What was shown is no longer what waits: its votes are void, and people are asked again."""

    wire: ClassVar[str] = "approval.voided"
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOpened(StepEvent):
    """People were asked for values. The roster, what is shown and what is offered are frozen here."""

    wire: ClassVar[str] = "form.opened"
    generation: int
    round: int
    roster: tuple[str, ...]
    groups: tuple[str, ...]
    shown: Any
    shown_digest: str
    directory_version: int
    prefill: dict[str, Any] = field(default_factory=dict)
    due: datetime | None = None
    ladder: tuple[Rung, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FormSubmitted(StepEvent):
    """One person filled in the form; `output` are the checked values."""

    wire: ClassVar[str] = "form.submitted"
    generation: int
    round: int
    actor: Actor
    shown_digest: str
    authority: str
    output: Any = None
    edges: Edges = ()
    link: str = ""
    definition_digest: str = ""
    form_digest: str = ""
    zone: str = ""
    on_behalf_of: str = ""
    delegation: Delegation | None = None
    signed_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormVoided(StepEvent):
    """What was shown is no longer what waits: people are asked again."""

    wire: ClassVar[str] = "form.voided"
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReturned(StepEvent):
    """An approver, or who should have filled in a form, sent the work back: a new round from `to` on.

    `rounds` are (step, new generation, new round) of every step that begins again. `shown_digest` and
    `authority` are set for forms; for approvals the decision before this event says them.
    """

    wire: ClassVar[str] = "work.returned"
    generation: int
    to: str
    actor: Actor
    comment: str
    rounds: tuple[tuple[str, int, int], ...]
    shown_digest: str = ""
    authority: str = ""
    on_behalf_of: str = ""
    delegation: Delegation | None = None
    signed_in: SignIn | None = None
    link: str = ""
