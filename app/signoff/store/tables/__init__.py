"""All tables. `metadata` is what a migrated database must equal (a test proves it)."""

from sqlmodel import SQLModel

from signoff.store.tables.definitions import DefinitionTable, DefinitionVersionTable, DraftTable, MigrationPlanTable
from signoff.store.tables.delivery import OutboxTable, RequestTable
from signoff.store.tables.files import AttachmentTable
from signoff.store.tables.ledger import LedgerCheckpointTable, LedgerLeafTable, RunKeyTable
from signoff.store.tables.notices import ApprovalLinkTable, DeliveryTable
from signoff.store.tables.people import (
    AbsenceTable,
    ApiTokenTable,
    AuditTable,
    FailureTable,
    MembershipTable,
    PersonTable,
    SessionTable,
    SettingTable,
)
from signoff.store.tables.runs import (
    ApprovalPersonTable,
    ApprovalTable,
    AttemptTable,
    DeadLetterTable,
    EventTable,
    PayloadTable,
    RunTable,
    TimerTable,
)
from signoff.store.tables.signals import SignalMessageTable, SignalWaitTable
from signoff.store.tasks.tables import (
    TaskBodyTable,
    TaskEdgeTable,
    TaskFigureTable,
    TaskFrontierTable,
    TaskGraphTable,
    TaskNodeTable,
    TaskTallyTable,
    TaskVersionTable,
)

metadata = SQLModel.metadata

__all__ = [
    "AbsenceTable",
    "ApiTokenTable",
    "ApprovalLinkTable",
    "ApprovalPersonTable",
    "ApprovalTable",
    "AttachmentTable",
    "AttemptTable",
    "AuditTable",
    "DeadLetterTable",
    "DefinitionTable",
    "DefinitionVersionTable",
    "DeliveryTable",
    "DraftTable",
    "EventTable",
    "FailureTable",
    "LedgerCheckpointTable",
    "LedgerLeafTable",
    "MembershipTable",
    "MigrationPlanTable",
    "OutboxTable",
    "PayloadTable",
    "PersonTable",
    "RequestTable",
    "RunKeyTable",
    "RunTable",
    "SessionTable",
    "SettingTable",
    "SignalMessageTable",
    "SignalWaitTable",
    "TaskBodyTable",
    "TaskEdgeTable",
    "TaskFigureTable",
    "TaskFrontierTable",
    "TaskGraphTable",
    "TaskNodeTable",
    "TaskTallyTable",
    "TaskVersionTable",
    "TimerTable",
    "metadata",
]
