"""Runs and everything that belongs to one. Times are integer microseconds since 1970 UTC.

Hot tables have integer keys; public ids are text, mapped once. Bodies above a limit live in `payload`.
"""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from signoff.core.effects import AttemptStatus
from signoff.core.states import RunStatus, TimerKind


def _one_of(column: str, words: type) -> str:
    listed = ", ".join(f"'{w}'" for w in words)  # type: ignore[attr-defined]
    return f"{column} IN ({listed})"


class RunTable(SQLModel, table=True):
    """W5 WorkflowRun. `snapshot` holds statuses and counters, never input or outputs.

    `parent` is the id of the run that started it, "" where none did, and NULL in rows of a release that did not
    write it.
    """

    __tablename__ = "run"
    __table_args__ = (
        CheckConstraint(_one_of("status", RunStatus)),
        Index("run_by_change", "tenant", "changed_at", "id"),
        Index("run_by_status", "tenant", "status", "changed_at", "id"),
        Index("run_by_version", "version_id", "status", "changed_at", "id"),
        Index("run_by_parent", "parent", sqlite_where=text("parent <> ''"), postgresql_where=text("parent <> ''")),
    )

    id: int = Field(primary_key=True)
    public_id: str = Field(unique=True)
    tenant: str
    version_id: int = Field(foreign_key="definition_version.id")
    status: str
    sequence: int
    snapshot: bytes
    business_key: str
    started_by: str
    started_at: int
    changed_at: int
    reason: str
    parent: str | None = None


class EventTable(SQLModel, table=True):
    """W5 Event: the append-only source of truth. `id` is the feed cursor on SQLite.

    `actor` (people by a pseudonym), `commitment` and `hash` are the run's chain, see `signoff.store.ledger`.
    """

    __tablename__ = "event"
    __table_args__ = (UniqueConstraint("run", "seq"),)

    id: int | None = Field(default=None, primary_key=True)
    run: int
    seq: int
    type: str
    version: int
    step: str
    at: int
    data: bytes | None
    payload_id: int | None = None
    actor: str | None = None
    commitment: bytes | None = None
    hash: bytes | None = None


class PayloadTable(SQLModel, table=True):
    """Bodies too large to stand in an event row."""

    __tablename__ = "payload"

    id: int = Field(primary_key=True)
    data: bytes


class AttemptTable(SQLModel, table=True):
    """W5 ActivityAttempt. Its input is in the event numbered `scheduled_seq`.

    `rank` orders what waits, the least first: the microsecond at which it was scheduled, less a minute for each point
    of priority, so that priority counts and nothing waits for ever.

    `item` is the number of an item in a step for each item of a list, -1 otherwise. `fraction`, `note` and `details`
    are what the work reported last, at `reported_at`.
    """

    __tablename__ = "attempt"
    __table_args__ = (
        CheckConstraint(_one_of("status", AttemptStatus)),
        UniqueConstraint("run", "step", "generation", "item", "attempt"),
        Index("attempt_ready", "pool", "tenant", "connector", "rank", "id", sqlite_where=text("status = 'ready'"),
              postgresql_where=text("status = 'ready'")),
        Index("attempt_leased", "lease_until", sqlite_where=text("status = 'leased'"),
              postgresql_where=text("status = 'leased'")),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    run: int
    tenant: str
    step: str
    generation: int
    attempt: int
    item: int = Field(default=-1, sa_column_kwargs={"server_default": text("-1")})
    status: str
    fence: int
    worker: str
    lease_until: int
    heartbeat_ms: int
    key: str
    connector: str
    pool: str
    priority: int
    rank: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    scheduled_seq: int
    created_at: int
    changed_at: int
    fraction: float | None = None
    note: str | None = None
    details: bytes | None = None
    reported_at: int | None = None


class DeadLetterTable(SQLModel, table=True):
    """Work that failed for good and waits for an operator; written in the commit that makes it so."""

    __tablename__ = "dead_letter"
    __table_args__ = (UniqueConstraint("run", "step"), Index("dead_letter_list", "tenant", "id"))

    id: int | None = Field(default=None, primary_key=True)
    tenant: str
    run: int
    step: str
    generation: int
    code: str
    message: str
    attempts: int
    since: int


class TimerTable(SQLModel, table=True):
    """W5 Timer. A row is an armed timer; firing and obsolescence remove it in the same commit as the event."""

    __tablename__ = "timer"
    __table_args__ = (
        CheckConstraint(_one_of("kind", TimerKind)),
        UniqueConstraint("run", "step", "kind"),
        Index("timer_due", "due"),
    )

    id: int | None = Field(default=None, primary_key=True)
    run: int
    step: str
    kind: str
    generation: int
    attempt: int
    due: int


class ApprovalTable(SQLModel, table=True):
    """W5 Approval, and forms, which ask people in the same way. What is shown is in the event `opened_seq`."""

    __tablename__ = "approval"
    __table_args__ = (
        UniqueConstraint("run", "step", "generation"),
        CheckConstraint(
            "status IN ('open', 'approved', 'rejected', 'submitted', 'expired', 'skipped', 'failed', 'cancelled')"
        ),
        CheckConstraint("kind IN ('approval', 'form')"),
    )

    id: int = Field(primary_key=True)
    run: int
    tenant: str
    step: str
    generation: int
    round: int
    status: str
    label: str
    instructions: str
    shown_digest: str
    required: int
    given: int
    opened_seq: int
    opened_at: int
    due: int | None
    closed_at: int | None = None
    kind: str = "approval"


class ApprovalPersonTable(SQLModel, table=True):
    """One person of an approval's frozen roster; `open` rows are that person's inbox."""

    __tablename__ = "approval_person"
    __table_args__ = (
        Index("approval_inbox", "tenant", "login", "approval_id", sqlite_where=text("open = 1"),
              postgresql_where=text("open = 1")),
    )  # fmt: skip

    approval_id: int = Field(primary_key=True)
    login: str = Field(primary_key=True)
    tenant: str
    open: int
    voted: int = 0
