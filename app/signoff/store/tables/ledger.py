"""What proves the history: a secret per run, the leaves of each tenant's tree, and its checkpoints."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, text
from sqlmodel import Field, SQLModel


class RunKeyTable(SQLModel, table=True):
    """The secret of a run, wrapped by a key that is not in the database. Destroying it erases the run's content.

    `adopted` counts events that were written before the chain was introduced and chained afterwards. `kept_key` is the
    commitment key of the one event (`kept_seq`) that stays readable after an erasure: the one that says who erased.
    """

    __tablename__ = "run_key"

    run: int = Field(primary_key=True)
    secret: bytes | None
    key_id: str
    sealed: int
    adopted: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    erased_at: int | None = None
    erased_by: str | None = None
    reason: str | None = None
    kept_seq: int | None = None
    kept_key: bytes | None = None
    hold: str | None = None


class TenantKeyTable(SQLModel, table=True):
    """The secret of a tenant, wrapped like those of runs: for what belongs to no run yet."""

    __tablename__ = "tenant_key"

    tenant: str = Field(primary_key=True)
    secret: bytes
    key_id: str


class LedgerLeafTable(SQLModel, table=True):
    """A leaf of a tenant's tree: the head of a run's chain, or the tombstone of a run that was removed."""

    __tablename__ = "ledger_leaf"
    __table_args__ = (
        CheckConstraint("kind IN ('head', 'pruned')"),
        Index("ledger_leaf_of_run", "tenant", "run_id"),
        Index("ledger_tombstone", "tenant", "number", sqlite_where=text("kind = 'pruned'"),
              postgresql_where=text("kind = 'pruned'")),
    )  # fmt: skip

    tenant: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    kind: str
    run_id: str
    seq: int
    head: bytes
    note: str


class LedgerCheckpointTable(SQLModel, table=True):
    """What was signed: the tree's size and root, and `frontier`, the roots of its whole subtrees, to go on from."""

    __tablename__ = "ledger_checkpoint"

    tenant: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    size: int
    root: bytes
    frontier: bytes
    at: int
    body: str
