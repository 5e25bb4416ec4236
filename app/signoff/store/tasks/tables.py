"""Task graphs that live in the store. Times are integer microseconds since 1970 UTC.

A *node* is a task id of a graph (it exists as soon as somebody depends on it), a *version* is one generation of it.
Version ids grow in the order of submission, so they are both the order of claims and the cursor of pages.
"""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

_STATES = "state IN ('pending', 'ready', 'running', 'succeeded', 'failed', 'blocked', 'cancelled')"


class TaskGraphTable(SQLModel, table=True):
    """One durable task graph and its settings. `suspect` counts submissions that may have closed a cycle."""

    __tablename__ = "task_graph"
    __table_args__ = (CheckConstraint("closing IN ('', 'keep', 'cancel')"),)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    open_graph: int
    strict: int
    max_concurrency: int | None
    closing: str
    started: int
    suspect: int


class TaskNodeTable(SQLModel, table=True):
    """A task id; `newest` is its current version, empty while nobody submitted it."""

    __tablename__ = "task_node"
    __table_args__ = (
        UniqueConstraint("graph", "name"),
        Index("task_node_unknown", "graph", "id", sqlite_where=text("newest IS NULL"),
              postgresql_where=text("newest IS NULL")),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    graph: int
    name: str
    newest: int | None


class TaskVersionTable(SQLModel, table=True):
    """One generation of a task. `unmet` counts the open edges into it; `waiting` is pending with an unknown node."""

    __tablename__ = "task_version"
    __table_args__ = (
        CheckConstraint(_STATES),
        CheckConstraint("unmet >= 0"),
        UniqueConstraint("node", "generation"),
        Index("task_version_by_state", "graph", "state", "id"),
        Index("task_version_ready", "graph", "tenant", "part", "id", sqlite_where=text("state = 'ready'"),
              postgresql_where=text("state = 'ready'")),
        Index("task_version_leased", "graph", "lease_until", sqlite_where=text("state = 'running'"),
              postgresql_where=text("state = 'running'")),
    )  # fmt: skip

    id: int | None = Field(default=None, primary_key=True)
    graph: int
    node: int
    generation: int
    state: str
    unmet: int
    fence: int
    worker: str
    lease_until: int
    expiries: int
    stop: int
    tenant: str
    part: str
    kind: str
    ready_at: int
    claimed_at: int
    cause_at: int
    via: int | None
    reason: str
    actor: str


class TaskEdgeTable(SQLModel, table=True):
    """A dependency: `target` (a version) waits for `source` (a node) while `open` is 1."""

    __tablename__ = "task_edge"
    __table_args__ = (Index("task_edge_into", "target", "position"), {"sqlite_with_rowid": False})

    source: int = Field(primary_key=True)
    target: int = Field(primary_key=True)
    required: int
    open: int
    position: int


class TaskBodyTable(SQLModel, table=True):
    """What a version was submitted with and what came of it, kept apart so that the hot rows stay small."""

    __tablename__ = "task_body"

    version: int = Field(primary_key=True)
    payload: bytes | None
    result: bytes | None
    error: str | None


class TaskFrontierTable(SQLModel, table=True):
    """An ended version whose dependents beyond `cursor` have not heard of it yet: where propagation resumes."""

    __tablename__ = "task_frontier"
    __table_args__ = (UniqueConstraint("version"), Index("task_frontier_by_graph", "graph", "id"))

    id: int | None = Field(default=None, primary_key=True)
    graph: int
    version: int
    node: int
    bad: int
    cursor: int


class TaskTallyTable(SQLModel, table=True):
    """How many newest versions are in each state; written in the same commit as the versions."""

    __tablename__ = "task_tally"
    __table_args__ = ({"sqlite_with_rowid": False},)

    graph: int = Field(primary_key=True)
    tenant: str = Field(primary_key=True)
    part: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    state: str = Field(primary_key=True)
    count: int


class TaskFigureTable(SQLModel, table=True):
    """Sums for the metrics, by tenant and task type."""

    __tablename__ = "task_figure"
    __table_args__ = ({"sqlite_with_rowid": False},)

    graph: int = Field(primary_key=True)
    tenant: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    value: float
