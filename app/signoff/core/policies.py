"""What holds for a whole definition: failures, the zone, working time, deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailurePolicy(StrEnum):
    """What an unhandled failure does to the run (semantics §4)."""

    STALL = "stall"
    FAIL = "fail"
    COMPENSATE = "compensate"


class DeadlinePolicy(StrEnum):
    """What happens to a run that has not ended by its deadline."""

    NOTIFY = "notify"
    FAIL = "fail"


class MigrationPolicy(StrEnum):
    """What moving runs from or to a version takes (W11)."""

    OPERATOR = "operator"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class BusinessCalendar:
    """When people work, in the zone of the definition. Durations with the word `working` count on it.

    Attributes:
        days: `mon` … `sun`.
        hours: opening periods of each such day, `HH:MM-HH:MM`, in order; `24:00` ends a day.
        holidays: ISO dates on which nobody works.
    """

    days: tuple[str, ...] = ("mon", "tue", "wed", "thu", "fri")
    hours: tuple[str, ...] = ("09:00-17:00",)
    holidays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policies:
    """What holds for the whole definition.

    Attributes:
        failure: what an unhandled failure does to the run.
        zone: IANA name; local times and calendar days are its.
        calendar: the business calendar.
        deadline: how long a run may take, a duration; empty sets no limit.
        on_deadline: what happens to a run that has not ended by then; `fail` undoes what was done where `failure` does.
        migration: what moving runs from or to a version takes: an operator, or also a plan that somebody else approved.
        retention_days: how long a run should be kept after it has ended, within what the tenant allows; None asks
            for nothing, so that the tenant's own rule holds.
    """

    failure: FailurePolicy = FailurePolicy.STALL
    zone: str = "UTC"
    calendar: BusinessCalendar = BusinessCalendar()
    deadline: str = ""
    on_deadline: DeadlinePolicy = DeadlinePolicy.NOTIFY
    migration: MigrationPolicy = MigrationPolicy.OPERATOR
    retention_days: int | None = None
