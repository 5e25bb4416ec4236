"""Bodies that the API accepts. Unknown members are refused, so that a misspelt one is noticed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from signoff.core.payload import is_text

MAX_DEPTH = 100
MAX_INTEGER = 2**63 - 1
LONGEST_S = 10 * 366 * 86_400.0


class Body(BaseModel):
    """Common part."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def can_be_answered(cls, body: Any) -> Any:
        """What no store holds and no answer can repeat is refused here, before anything looks at it."""
        _look_at(body, 0)
        return body


def _look_at(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    match value:
        case str():
            if not is_text(value):
                raise ValueError("a text holds half of a character")
        case int():
            if abs(value) > MAX_INTEGER:
                raise ValueError("a whole number is larger than 2^63")
        case dict():
            for name, member in value.items():
                _look_at(name, depth)
                _look_at(member, depth + 1)
        case list():
            for member in value:
                _look_at(member, depth + 1)
        case _:
            pass


ON_BEHALF = Field(default="", max_length=200, description="Login of who is absent and for whom this is answered.")


class NewAbsence(Body):
    """While `person` (oneself, where empty) is absent, `delegate` decides for them. Instants say their offset."""

    delegate: str = Field(max_length=200)
    begins: str = Field(default="", max_length=40, description="Now, where empty.")
    ends: str = Field(max_length=40)
    person: str = Field(default="", max_length=200, description="By administrators: somebody else.")
    reason: str = Field(default="", max_length=1_000)


class SignIn(Body):
    """A local account's login and password."""

    login: str = Field(max_length=200)
    password: str = Field(max_length=1000)


class NewToken(Body):
    """A token for a program; `login` names a service account, by default the caller's own."""

    name: str = Field(min_length=1, max_length=100)
    scopes: list[str] = Field(min_length=1, max_length=100, description="Names that GET /me lists as `may`.")
    days: float = Field(default=90, ge=0.01, le=400)
    login: str = Field(default="", max_length=200)


class SavePerson(Body):
    """An account; what is left out stays as it is."""

    name: str = Field(default="", max_length=200)
    email: str = Field(default="", max_length=200)
    roles: list[str] | None = Field(default=None, max_length=20)
    groups: list[str] | None = Field(default=None, max_length=200)
    password: str = Field(default="", max_length=1000)
    active: bool = True
    kind: str = Field(default="", max_length=20, description="`person` or `service`; only of a new account.")


class NewDraft(Body):
    """A new definition; `document["name"]` is its name."""

    document: dict[str, Any]
    layout: dict[str, Any] = Field(default_factory=dict)


class SaveDraft(NewDraft):
    """The next revision, based on the one that was read."""

    based_on: int = Field(ge=1)


class Publish(Body):
    """Which revision to freeze."""

    revision: int = Field(ge=1)


class Reason(Body):
    """Why, for the audit trail."""

    reason: str = Field(max_length=4000)


class Confirmed(Reason):
    """Why, and the password again: for what cannot be undone."""

    password: str = Field(default="", max_length=1_000, description="Again, unless you signed in a few minutes ago.")


class SetLimits(Reason):
    """Why, and the limits of the tenant in their JSON form."""

    limits: dict[str, Any]


class Hold(Reason):
    """A legal hold with its reason; `hold` false ends it."""

    hold: bool = True


class Retire(Reason):
    """Why, and which version; without one the whole definition is meant."""

    version: int | None = Field(default=None, ge=1)


class Check(Body):
    """A definition to be checked without storing it."""

    document: dict[str, Any]


class TrialRun(Check):
    """A definition to be run in memory. Without an input one is made up; without a script all goes well."""

    input: dict[str, Any] | None = None
    script: dict[str, Any] = Field(default_factory=dict)


class NewRun(Body):
    """What to start. Send an `Idempotency-Key` header so that a repeated call starts one run."""

    definition: str
    version: int | None = Field(default=None, ge=1)
    input: dict[str, Any] = Field(default_factory=dict)
    business_key: str = Field(default="", max_length=200)


class Operate(Reason):
    """An operator command; `seen_sequence` is the run's sequence that the operator was looking at."""

    seen_sequence: int | None = None


class Cancel(Operate):
    """Stop a run; `compensate` undoes completed steps that have a compensation, the last one first."""

    compensate: bool = False


class Retry(Operate):
    """Try a step again; `new_effect` asks for a new idempotency key."""

    step: str
    new_effect: bool = False


class Replay(Operate):
    """Try a dead letter again."""

    step: str


class Skip(Operate):
    """Go past a step, with a substitute output where one is needed."""

    step: str
    output: Any = None


class Resolve(Operate):
    """What became of a call of unknown outcome; `output` where it happened."""

    step: str
    happened: bool
    output: Any = None


class Complete(Operate):
    """An activity that somebody did by hand, and what came of it."""

    step: str
    output: Any = None


class Reassign(Operate):
    """Whom to ask as well and whom no more, by login, at an open approval or form."""

    step: str
    add: list[str] = Field(default_factory=list, max_length=500)
    remove: list[str] = Field(default_factory=list, max_length=500)


class Withdrawal(Body):
    """Take one's own vote back, on the generation that was read."""

    generation: int = Field(ge=1)
    comment: str = Field(default="", max_length=10_000)


class EditInput(Operate):
    """The whole new input."""

    input: dict[str, Any]


class Signal(Body):
    """A message for a step that waits for `key`; `id` is the sender's own, so that a repeated call is one message."""

    key: str = Field(min_length=1, max_length=200)
    payload: dict[str, Any] = Field(default_factory=dict)
    id: str = Field(default="", max_length=200)
    keep: str = Field(default="", max_length=40, description="How long it is kept, such as P30D (the default).")


class Discard(Reason):
    """Which kept message, and why."""

    key: str = Field(min_length=1, max_length=200)
    id: str = Field(min_length=1, max_length=200)


class Submission(Body):
    """Values of a form, by field name, for exactly what `shown_digest` names."""

    values: dict[str, Any]
    generation: int = Field(ge=1)
    shown_digest: str = Field(min_length=1, max_length=200)
    on_behalf_of: str = ON_BEHALF


class Return(Body):
    """Send the work back instead of filling in a form."""

    comment: str = Field(max_length=10_000)
    generation: int = Field(ge=1)
    shown_digest: str = Field(min_length=1, max_length=200)
    to: str = Field(
        default="", max_length=100, description="The step to send the work back to, where there are several."
    )
    on_behalf_of: str = ON_BEHALF


class MigrationPlan(Body):
    """How runs of one version go on under another."""

    target: int = Field(ge=1, description="Number of the version to go to.")
    steps: dict[str, str] | None = Field(default=None, description="Old id to new id; '' lets a step go.")
    input: dict[str, Any] | None = Field(default=None, description="Mapping of new input fields.")
    covers: list[str] | None = Field(default=None, description="Statuses of the runs it is for.")


class Migrate(Operate):
    """Move a run to another version, by a plan given here or by a stored one."""

    plan: MigrationPlan | None = None
    plan_id: str = Field(default="", max_length=60)


class ProposeMigration(Reason):
    """A plan for the runs of a version, and why."""

    definition: str = Field(max_length=63)
    version: int = Field(ge=1, description="Number of the version that runs are on.")
    plan: MigrationPlan


class DecideMigration(Body):
    """Approve or reject a proposed plan; a rejection needs a comment."""

    outcome: Literal["approved", "rejected"]
    comment: str = Field(default="", max_length=4000)


class Which(Body):
    """The runs a bulk command is for; what is left out does not matter. Without a status: all that are not over."""

    definition: str = ""
    version: int | None = Field(default=None, ge=1)
    status: str = ""
    step: str = ""
    error: str = ""
    unchanged_s: float = Field(default=0.0, ge=0, le=LONGEST_S)
    run_ids: list[str] = Field(default_factory=list, max_length=500)


class PreviewBulk(Body):
    """A command and the runs it is for."""

    command: str
    which: Which = Field(default_factory=Which)
    args: dict[str, Any] = Field(default_factory=dict)


class BulkItem(Body):
    """A run as the preview saw it."""

    run_id: str
    sequence: int
    step: str = ""


class Bulk(Reason):
    """A command for exactly the runs of a preview."""

    command: str
    items: list[BulkItem] = Field(min_length=1, max_length=500)
    args: dict[str, Any] = Field(default_factory=dict)


class Decision(Body):
    """A decision about exactly what `shown_digest` names."""

    outcome: str = Field(max_length=40)
    password: str = Field(default="", max_length=1_000, description="Where the approval asks for it again.")
    generation: int = Field(ge=1)
    shown_digest: str = Field(min_length=1, max_length=200)
    comment: str = Field(default="", max_length=10_000)
    to: str = Field(default="", max_length=100, description="With `returned`: the step to send the work back to.")
    values: dict[str, Any] = Field(default={}, description="Of the fields that the approval asks for, by name.")
    on_behalf_of: str = ON_BEHALF


class SetRetention(Confirmed):
    """How long ended runs are kept, in days; {} keeps them for ever."""

    retention: dict[str, Any] = Field(description='{"days": 365, "least": 30, "most": 3650}; each may be left out.')


class PreviewRetention(Body):
    """A rule that somebody thinks of setting."""

    retention: dict[str, Any]


class RotateKeys(Confirmed):
    """A new key, made and used in the background."""

    what: Literal["tenant", "signing"]
