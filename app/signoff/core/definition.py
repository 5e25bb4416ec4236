"""What a definition is: typed, frozen, and free of anything that only matters to the canvas.

`document.py` reads and writes the JSON form; `validate.py` says everything that is wrong with one;
`plan.py` compiles a valid one for execution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from signoff.core.asking_rules import Escalation as Escalation
from signoff.core.asking_rules import QuotaRule as QuotaRule
from signoff.core.asking_rules import Reminders as Reminders
from signoff.core.calls import MAX_ITEMS as MAX_ITEMS
from signoff.core.calls import MAX_PARALLEL as MAX_PARALLEL
from signoff.core.calls import USUAL_RETRY, USUAL_TIMEOUTS
from signoff.core.calls import Compensation as Compensation
from signoff.core.calls import EffectContract as EffectContract
from signoff.core.calls import ForEach as ForEach
from signoff.core.calls import Poll as Poll
from signoff.core.calls import Probe as Probe
from signoff.core.calls import RetryPolicy as RetryPolicy
from signoff.core.calls import Timeouts as Timeouts
from signoff.core.policies import BusinessCalendar as BusinessCalendar
from signoff.core.policies import DeadlinePolicy as DeadlinePolicy
from signoff.core.policies import FailurePolicy as FailurePolicy
from signoff.core.policies import Policies as Policies

MAX_STEPS = 20
"""A definition has at most this many steps (requirement W1)."""


class StepKind(StrEnum):
    """The kinds of semantics §2."""

    ACTIVITY = "activity"
    APPROVAL = "approval"
    FORM = "form"
    WAIT = "wait"
    SIGNAL = "signal"
    SUBFLOW = "subflow"


class Outcome(StrEnum):
    """How a step can end, as far as edges are concerned."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    EXPIRED = "expired"
    ELAPSED = "elapsed"
    SUBMITTED = "submitted"
    RECEIVED = "received"
    SKIPPED = "skipped"


OUTCOMES: dict[StepKind, tuple[Outcome, ...]] = {
    StepKind.ACTIVITY: (Outcome.SUCCEEDED, Outcome.FAILED),
    StepKind.APPROVAL: (Outcome.APPROVED, Outcome.REJECTED, Outcome.EXPIRED),
    StepKind.WAIT: (Outcome.ELAPSED,),
    StepKind.FORM: (Outcome.SUBMITTED, Outcome.EXPIRED),
    StepKind.SIGNAL: (Outcome.RECEIVED, Outcome.EXPIRED),
    StepKind.SUBFLOW: (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.REJECTED, Outcome.EXPIRED),
}
"""Outcomes that edges can follow, by kind; the first is the good one. Kinds not listed are not executable yet.

Work that an approval or a form sends back leaves by no edge: it begins a new round (semantics §5).
"""

GOOD_OUTCOMES = frozenset({kinds[0] for kinds in OUTCOMES.values()} | {Outcome.SKIPPED})


class Join(StrEnum):
    """When a step with several incoming edges may begin (semantics §3)."""

    ALL = "all"
    ANY = "any"
    CANCEL_REST = "cancel_rest"


class RejectionRule(StrEnum):
    """When a rejection settles an approval.

    By default the first answer counts where one approval is needed ("first to respond"), of each quota where
    there are several; where more are needed, a rejection counts once the rest cannot reach the quorum.
    """

    DEFAULT = "default"
    AT_ONCE = "at_once"
    WHEN_UNREACHABLE = "when_unreachable"


class FieldType(StrEnum):
    """Types of form fields and of step outputs."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    CHOICE = "choice"
    LIST = "list"
    OBJECT = "object"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Field:
    """One typed value of a form or of a step's output.

    Of a file, `options` are the allowed endings of its name, and `maximum` the most bytes.
    """

    name: str
    label: str = ""
    type: FieldType = FieldType.TEXT
    required: bool = True
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    help: str = ""
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class ActivityConfig:
    """Calls a connector through a worker. `input` is JSON in which texts beginning with `=` are CEL."""

    connector: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    output: tuple[Field, ...] = ()
    effect: EffectContract = EffectContract.IDEMPOTENT
    retry: RetryPolicy = USUAL_RETRY
    timeouts: Timeouts = USUAL_TIMEOUTS
    pool: str = "default"
    priority: int = 0
    probe: Probe | None = None
    poll: Poll | None = None
    for_each: ForEach | None = None
    compensation: Compensation | None = None


@dataclass(frozen=True, slots=True)
class ApprovalConfig:
    """Asks people for a decision.

    Attributes:
        groups: groups whose members may decide.
        people: further persons, by login.
        required: how many distinct approvals settle it as approved; 0 means everyone on the roster.
        required_by: an expression that gives that number instead, for example by amount.
        groups_by: an expression that gives the names of the groups instead of `groups`.
        quotas: so many of each instead of one number of all; then `groups`, `people` and `required` stay empty.
        in_sequence: the quotas are asked one after another, the next when the one before has approved.
        fields: what is filled in when deciding; the values are part of the output.
        shows: what an approver sees, a mapping of label to expression or literal; empty shows the whole
            run input.
        expires: ISO 8601 duration after which the outcome is `expired`; empty waits for ever.
        requester_may_decide: False (default) refuses the person who started the run, on every route.
        deciders_differ_from: ids of earlier approvals; who voted there may not decide here.
        returns_to: ids of earlier steps to which an approver may send the work back; empty offers it not.
        max_rounds: how often the work may come here, the first time included.
        rejection: when a rejection settles it; see `RejectionRule`.
        reminders: those who have not answered hear of it again; None sends none.
        escalation: who is asked when nothing was decided in time, the earliest rung first.
        reauthenticate: a duration; whoever decides must have given their credential within it. Empty asks for nothing.
    """

    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    required: int = 1
    required_by: str = ""
    groups_by: str = ""
    quotas: tuple[QuotaRule, ...] = ()
    in_sequence: bool = False
    fields: tuple[Field, ...] = ()
    instructions: str = ""
    shows: dict[str, Any] = field(default_factory=dict)
    expires: str = ""
    requester_may_decide: bool = False
    comment_required_on: tuple[str, ...] = ("rejected",)
    deciders_differ_from: tuple[str, ...] = ()
    returns_to: tuple[str, ...] = ()
    max_rounds: int = 3
    rejection: RejectionRule = RejectionRule.DEFAULT
    reminders: Reminders | None = None
    escalation: tuple[Escalation, ...] = ()
    reauthenticate: str = ""

    @property
    def asked_groups(self) -> tuple[str, ...]:
        """Groups that it asks by name, in every quota."""
        return tuple(dict.fromkeys([*self.groups, *(g for q in self.quotas for g in q.groups)]))

    @property
    def asked_people(self) -> tuple[str, ...]:
        """Persons that it asks by login, in every quota."""
        return tuple(dict.fromkeys([*self.people, *(p for q in self.quotas for p in q.people)]))


@dataclass(frozen=True, slots=True)
class WaitConfig:
    """A durable timer: exactly one of a duration (ISO 8601) or a local date-time; either may be an `=expression`."""

    duration: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class FormConfig:
    """Asks people for typed input. The first valid submission settles it.

    Attributes:
        groups: groups whose members may fill it in.
        people: further persons, by login.
        requester: whether the person who started the run is asked too.
        fields: what is asked; the values are the step's output.
        prefill: field name to expression or literal, offered as a first value; after a send-back the values
            of the round before come first.
        shows: what people see above the fields, as in `ApprovalConfig`.
        expires: ISO 8601 duration after which the outcome is `expired`; empty waits for ever.
        returns_to: ids of earlier steps to which the work may be sent back instead; empty offers it not.
        max_rounds: how often the work may come here, the first time included.
        reminders, escalation: as in `ApprovalConfig`.
    """

    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    requester: bool = False
    fields: tuple[Field, ...] = ()
    prefill: dict[str, Any] = field(default_factory=dict)
    instructions: str = ""
    shows: dict[str, Any] = field(default_factory=dict)
    expires: str = ""
    returns_to: tuple[str, ...] = ()
    max_rounds: int = 3
    reminders: Reminders | None = None
    escalation: tuple[Escalation, ...] = ()


@dataclass(frozen=True, slots=True)
class SignalConfig:
    """Waits for one message from outside; one that came early is kept and used.

    Attributes:
        signal: the name of the message.
        key: which message of that name, a literal or `=expression`; empty means the run's business key, or
            its id where it has none.
        payload: what the message must carry; the values are the step's output. Empty takes any object.
        expires: ISO 8601 duration after which the outcome is `expired`; empty waits for ever.
    """

    signal: str = ""
    key: str = ""
    payload: tuple[Field, ...] = ()
    expires: str = ""


@dataclass(frozen=True, slots=True)
class SubflowConfig:
    """Starts a run of another definition and waits for its end.

    Its output is an object with the output of each end step of the child (a step without outgoing edges)
    that was done, by step id.

    Attributes:
        definition: name of the other definition.
        version: its number; None in a draft means the newest, which publishing then pins.
        digest: of that version; publishing sets it.
        input: the child's input, JSON in which texts beginning with `=` are CEL.
        expires: duration after which the step is `expired` and its child cancelled; empty waits for ever.
    """

    definition: str = ""
    version: int | None = None
    digest: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    expires: str = ""


StepConfig = ActivityConfig | ApprovalConfig | WaitConfig | FormConfig | SignalConfig | SubflowConfig
AskingConfig = ApprovalConfig | FormConfig
"""Steps that ask people and wait for them."""


@dataclass(frozen=True, slots=True)
class SkipRule:
    """Whether an operator may skip the step, and whether a substitute output is needed.

    `allowed` None means the kind's default: approvals may not be skipped, all other kinds may.
    """

    allowed: bool | None = None
    needs_output: bool = False
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: an identifier used in expressions, a label people read, and its kind's configuration."""

    id: str
    label: str
    config: StepConfig
    join: Join = Join.ALL
    skip: SkipRule = SkipRule()

    @property
    def kind(self) -> StepKind:
        """The kind, which follows from the configuration."""
        match self.config:
            case ActivityConfig():
                return StepKind.ACTIVITY
            case ApprovalConfig():
                return StepKind.APPROVAL
            case WaitConfig():
                return StepKind.WAIT
            case FormConfig():
                return StepKind.FORM
            case SignalConfig():
                return StepKind.SIGNAL
            case SubflowConfig():
                return StepKind.SUBFLOW

    @property
    def is_skippable(self) -> bool:
        """Whether an operator may skip it at all."""
        return self.kind is not StepKind.APPROVAL if self.skip.allowed is None else self.skip.allowed

    @property
    def good_outcome(self) -> Outcome:
        """The outcome that a plain edge follows."""
        return OUTCOMES[self.kind][0]

    @property
    def output(self) -> tuple[Field, ...]:
        """The declared fields of its output; empty where any output will do."""
        match self.config:
            case ActivityConfig(output=fields) | FormConfig(fields=fields) | SignalConfig(payload=fields):
                return fields
            case _:
                return ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection. `on` is an outcome of the source, or `any`; empty means the good outcome."""

    source: str
    target: str
    on: str = ""
    when: str = ""
    otherwise: bool = False

    @property
    def key(self) -> str:
        """Identifies the edge inside its definition, e.g. `check>pay` or `check:failed>mend`."""
        return f"{self.source}:{self.on}>{self.target}" if self.on else f"{self.source}>{self.target}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A process of 1 to 20 steps: a DAG with a typed input form."""

    name: str
    title: str
    input: tuple[Field, ...] = ()
    steps: tuple[Step, ...] = ()
    edges: tuple[Edge, ...] = ()
    policies: Policies = field(default_factory=Policies)
    description: str = ""

    def find_step(self, step_id: str) -> Step | None:
        """The step with that id, or None."""
        return next((s for s in self.steps if s.id == step_id), None)
