"""What queries answer: frozen rows for readers, never ORM objects, never secrets. Times are aware UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from signoff.core.definition import Definition, Field
from signoff.core.explain import RunExplanation
from signoff.core.limits import Limits
from signoff.core.plan import Plan
from signoff.core.problem import Problem
from signoff.core.progress import Progress
from signoff.core.states import RunState
from signoff.engine.permissions import permitted


@dataclass(frozen=True, slots=True)
class Page[T]:
    """One page of a list; `next_cursor` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """A signed-in or listed account. `roles` are those of `signoff.engine.permissions`.

    `scopes` and `token` are set where a program came with a token instead of a session; `signed_in` is the session's
    method, `password` or `oidc`.
    """

    tenant: str
    login: str
    name: str
    email: str = ""
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    active: bool = True
    session_id: str = ""
    kind: str = "person"
    scopes: tuple[str, ...] | None = None
    token: int = 0
    signed_in: str = ""

    @property
    def may(self) -> frozenset[str]:
        """Requests that the roles permit, and, where a program's token was given, its scopes as well."""
        allowed = permitted(self.roles)
        return allowed if self.scopes is None else allowed & set(self.scopes)


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """One line of the definitions list."""

    name: str
    title: str
    draft_revision: int | None
    draft_by: str
    draft_at: datetime | None
    latest_version: int | None
    latest_digest: str
    published_at: datetime | None
    open_runs: int = 0
    archived: bool = False


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as stored. `document` may be invalid; `layout` maps step id to {"x", "y"}."""

    name: str
    revision: int
    document: dict[str, Any]
    layout: dict[str, Any]
    saved_by: str
    saved_at: datetime
    definition: Definition | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class VersionView:
    """A published, frozen version."""

    name: str
    version: int
    digest: str
    document: dict[str, Any]
    layout: dict[str, Any]
    definition: Definition
    published_by: str
    published_at: datetime
    archived: bool = False


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the runs list."""

    run_id: str
    definition: str
    title: str
    version: int
    status: str
    business_key: str
    started_by: str
    started_at: datetime
    changed_at: datetime
    reason: str
    sequence: int


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything a run page shows."""

    row: RunRow
    digest: str
    state: RunState
    plan: Plan
    layout: dict[str, Any]
    explanation: RunExplanation


@dataclass(frozen=True, slots=True)
class EventView:
    """One fact of a history. `sentence` is for people, `data` for machines."""

    sequence: int
    at: datetime
    type: str
    step: str
    actor: str
    sentence: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt of an activity."""

    step: str
    generation: int
    attempt: int
    status: str
    fence: int
    worker: str
    key: str
    lease_until: datetime | None
    created_at: datetime
    changed_at: datetime
    item: int = -1
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Work that failed for good: what, where, why, how often it was tried, since when."""

    run_id: str
    definition: str
    title: str
    business_key: str
    run_status: str
    sequence: int
    step: str
    label: str
    generation: int
    code: str
    message: str
    attempts: int
    since: datetime


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An approval or a form as a person sees it; where `may_decide` is False, `why_not` says why.

    `kind` is `approval` or `form`; both can have `fields` to fill in, a form also `prefill`, first values by field
    name. `quotas` are (name, given, required) where so many of each are needed; `in_sequence` says that in this order.
    `on_behalf_of` is the login of the absent person for whom it is answered, with their name.
    `returns_to` are (step id, label) to which the work may be sent back. `may_withdraw`: the person's vote on it
    can be taken back.
    """

    run_id: str
    definition: str
    title: str
    step: str
    label: str
    generation: int
    round: int
    instructions: str
    shown: dict[str, Any]
    shown_digest: str
    required: int
    given: int
    started_by: str
    opened_at: datetime
    due: datetime | None
    status: str
    may_decide: bool
    why_not: str = ""
    version: int = 0
    digest: str = ""
    business_key: str = ""
    returns_to: tuple[tuple[str, str], ...] = ()
    comment_required_on: tuple[str, ...] = ()
    kind: str = "approval"
    fields: tuple[Field, ...] = ()
    prefill: dict[str, Any] = field(default_factory=dict)
    may_withdraw: bool = False
    on_behalf_of: str = ""
    reauthenticate: str = ""
    on_behalf_of_name: str = ""
    quotas: tuple[tuple[str, int, int], ...] = ()
    in_sequence: bool = False


@dataclass(frozen=True, slots=True)
class AbsenceView:
    """While `person` is absent, `delegate` decides for them. `status` is upcoming, now, over or revoked."""

    id: int
    person: str
    delegate: str
    begins: datetime
    ends: datetime
    reason: str
    set_by: str
    set_at: datetime
    status: str
    revoked_by: str = ""
    revoked_reason: str = ""


@dataclass(frozen=True, slots=True)
class SignalView:
    """A message from outside: `status` is kept, used, refused, discarded or expired."""

    name: str
    key: str
    message_id: str
    status: str
    payload: dict[str, Any]
    sender: str
    received_at: datetime
    expires_at: datetime
    run_id: str
    step: str
    note: str


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """What live pages are told after a commit: which run changed and how.

    `steps` maps the changed steps to their status; `run_status` is the run's status after the commit. An event
    without a run says that some may have been missed: whoever follows anything should look again.
    """

    tenant: str
    run_id: str
    sequence: int
    run_status: str
    steps: dict[str, str]
    at: datetime

    @property
    def is_resync(self) -> bool:
        """True where the connection to the engine was renewed and news may have been missed."""
        return not self.run_id


def resync(at: datetime) -> FeedEvent:
    """The event that tells listeners to look again."""
    return FeedEvent("", "", 0, "", {}, at)


@dataclass(frozen=True, slots=True)
class LinkView:
    """What a link is for and what has become of it: `open`, `used`, `revoked` or `expired`."""

    run_id: str
    step: str
    generation: int
    login: str
    actions: tuple[str, ...]
    shown_digest: str
    status: str
    expires_at: datetime
    used_at: datetime | None = None
    outcome: str = ""
    on_behalf_of: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A letter to a person (`login`) or a chat tool: `pending`, `sent`, `moot` (not needed any more) or `dead`."""

    id: int
    run_id: str
    step: str
    topic: str
    sink: str
    login: str
    status: str
    tries: int
    error: str
    due: datetime
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class SessionView:
    """One of a person's own sessions; `is_this` is the one that asks."""

    id: str
    created_at: datetime
    expires_at: datetime
    confirmed_at: datetime
    address: str
    agent: str
    method: str
    is_this: bool = False


@dataclass(frozen=True, slots=True)
class TokenView:
    """A program's token, without its secret: `good`, `expired`, `revoked`, or `closed` with its account."""

    id: int
    login: str
    name: str
    scopes: tuple[str, ...]
    status: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CallsView:
    """Calls of one connector in one pool: how many are under way, how many wait, and since when the first."""

    pool: str
    connector: str
    under_way: int
    waiting: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True)
class LimitsView:
    """What a tenant may have and use, as set (`document`) and with the defaults (`limits`), and what it uses now."""

    limits: Limits
    document: dict[str, Any]
    open_runs: int
    armed_timers: int | None
    calls: tuple[CallsView, ...]


@dataclass(frozen=True, slots=True)
class MigrationPlanView:
    """A plan for moving runs of a version: `proposed`, `approved`, `rejected` or `withdrawn`.

    `plan` is what a request gives: "target", "steps" (old id to new id, "" lets a step go), "input", "covers".
    """

    plan_id: str
    definition: str
    source_version: int
    target_version: int
    digest: str
    plan: dict[str, Any]
    status: str
    reason: str
    proposed_by: str
    proposed_at: datetime
    decided_by: str
    decided_at: datetime | None
    comment: str
