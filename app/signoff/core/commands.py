"""What anyone can ask of a run. Imperative and frozen; the core answers with events or a Rejection."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from signoff.core.migration import MigrationPlan
from signoff.core.plan import Plan
from signoff.core.states import Actor, ErrorInfo, SignIn, TimerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Common part. `actor` is established by the server from a session, token or worker connection."""

    actor: Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun(Command):
    """Begin a run of the version whose plan is given. A child names the run and step that start it."""

    run_id: str
    tenant: str
    input: dict[str, Any] = field(default_factory=dict)
    business_key: str = ""
    parent: str = ""
    parent_step: str = ""
    parent_generation: int = 0
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimActivity(Command):
    """A worker takes the attempt that is scheduled."""

    step: str
    generation: int
    attempt: int
    item: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome(Command):
    step: str
    generation: int
    attempt: int
    fence: int
    item: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteActivity(_Outcome):
    """A worker reports success. `digest` is the definition the worker executed, "" if it does not say."""

    output: Any = None
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailActivity(_Outcome):
    """A worker reports failure."""

    error: ErrorInfo
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireLease(_Outcome):
    """The rescuer found that the lease of this claim ran out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FireTimer(Command):
    """The timer pump found a due timer."""

    step: str
    timer: TimerKind
    generation: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(Command):
    """A person decides an open approval. `shown_digest` names what they were looking at.

    `outcome` is `approved`, `rejected` or `returned`; `to` names the step to return to where there are several.
    `link` names the link that was used, "" where there was none.
    `values` are those of the fields that are filled in when deciding. `on_behalf_of` is the login of whom the actor
    decides for; `signed_in` is what the server knows of how they are signed in.
    """

    step: str
    generation: int
    outcome: str
    comment: str = ""
    shown_digest: str = ""
    to: str = ""
    link: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    on_behalf_of: str = ""
    signed_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawVote(Command):
    """A person takes their own vote back while the approval is open."""

    step: str
    generation: int
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitForm(Command):
    """A person fills in an open form. `shown_digest` names what they were looking at."""

    step: str
    generation: int
    values: dict[str, Any]
    shown_digest: str = ""
    link: str = ""
    on_behalf_of: str = ""
    signed_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnForm(Command):
    """A person sends the work back instead of filling in a form; `to` as in `Decide`."""

    step: str
    generation: int
    comment: str
    shown_digest: str = ""
    to: str = ""
    link: str = ""
    on_behalf_of: str = ""
    signed_in: SignIn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveSignal(Command):
    """A message for a waiting step, sent on by the engine; `actor` is who sent it.

    `kept` says that it came before the step waited, so that nobody is there to be told what is wrong with it.
    """

    step: str
    generation: int
    name: str
    key: str
    message: str
    payload: dict[str, Any]
    sent_at: datetime
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSubflow(Command):
    """The child run of a step ended (or could not be started). Sent by the engine."""

    step: str
    generation: int
    child: str
    outcome: str
    reason: str = ""
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckApprovers(Command):
    """People were deactivated: see whether an open approval or form can still be settled. Sent by the engine."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCommand(Command):
    """Common part of administrative commands: a reason and the sequence the operator was looking at."""

    reason: str
    seen_sequence: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRun(OperatorCommand):
    """Stop claims and clocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRun(OperatorCommand):
    """Let claims and clocks go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun(OperatorCommand):
    """Stop what has not started, await what is under way, undo completed steps if so wanted, then end as cancelled."""

    compensate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateRun(OperatorCommand):
    """End at once; answers still under way become evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryStep(OperatorCommand):
    """Begin a new generation of a failed or expired step."""

    step: str
    new_effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDeadLetter(OperatorCommand):
    """Begin a new generation of work that stands in the dead-letter list."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipStep(OperatorCommand):
    """Go past a step, with a substitute output where it declares one."""

    step: str
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveOutcome(OperatorCommand):
    """Say whether a call of unknown outcome took effect; `output` only where it `happened`."""

    step: str
    happened: bool
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteByHand(OperatorCommand):
    """Say that an activity was done by hand, and what came of it."""

    step: str
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignStep(OperatorCommand):
    """Ask other people: logins to add to and to remove from those asked by an open approval or form."""

    step: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditInput(OperatorCommand):
    """Mend the run's input so that a mapping or condition can be evaluated; then retry the step."""

    input: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateRun(OperatorCommand):
    """Go on under another version of the definition; `target` is its compiled plan, `version_id` the store's key.

    `plan_id` and `approved_by` are those of the stored plan with the digest of `migration` that was approved.
    """

    migration: MigrationPlan
    target: Plan
    version_id: int = 0
    plan_id: str = ""
    approved_by: str = ""


ALL_COMMANDS: tuple[type[Command], ...] = (
    StartRun,
    ClaimActivity,
    CompleteActivity,
    FailActivity,
    ExpireLease,
    FireTimer,
    Decide,
    WithdrawVote,
    SubmitForm,
    ReturnForm,
    ReceiveSignal,
    EndSubflow,
    CheckApprovers,
    PauseRun,
    ResumeRun,
    CancelRun,
    TerminateRun,
    RetryStep,
    ReplayDeadLetter,
    SkipStep,
    ResolveOutcome,
    CompleteByHand,
    ReassignStep,
    EditInput,
    MigrateRun,
)
