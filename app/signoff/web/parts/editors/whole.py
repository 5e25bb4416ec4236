"""Editors for what holds for the whole definition: title, input form, failures, clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from signoff.core.definition import DeadlinePolicy, Definition, FailurePolicy
from signoff.core.policies import MigrationPolicy
from signoff.core.worktime import DAYS
from signoff.web.models.due import duration_words
from signoff.web.parts.editors.timing import text_with_answer
from signoff.web.parts.inputs import DURATIONS, area_input, choice_input, number_input, several_input, text_input
from signoff.web.parts.rows import FieldRows

FAILURES = {
    "wait for a person": FailurePolicy.STALL.value,
    "fail the run": FailurePolicy.FAIL.value,
    "undo what was done, then fail the run": FailurePolicy.COMPENSATE.value,
}
DEADLINES = {
    "say that it is overdue": DeadlinePolicy.NOTIFY.value,
    "stop the run as failed": DeadlinePolicy.FAIL.value,
}

MOVING = {
    "an operator may": MigrationPolicy.OPERATOR.value,
    "needs a plan that somebody else approved": MigrationPolicy.APPROVED.value,
}


def whole_editors(
    d: Definition, whole: Callable[..., None], policy: Callable[..., None]
) -> tuple[list[Any], list[tuple[str, list[Any]]]]:
    """The usual editors, and folded ones by title."""
    usual = [
        text_input("Title", d.title, lambda v: whole(title=v), limit=400),
        area_input("Description", d.description, lambda v: whole(description=v)),
        FieldRows("Input form", d.input, lambda v: whole(input=v)),
        choice_input(
            "When a failure is not handled",
            FAILURES,
            d.policies.failure.value,
            lambda v: policy(failure=FailurePolicy(v)),
        ),
        text_input(
            "Time zone",
            d.policies.zone,
            lambda v: policy(zone=v.strip()),
            help="an IANA name such as Europe/Berlin",
            limit=60,
        ),
    ]
    moving = choice_input(
        "Moving runs to or from this version",
        MOVING,
        d.policies.migration.value,
        lambda v: policy(migration=MigrationPolicy(v)),
    )
    keeping = number_input(
        "Keep ended runs for (days)",
        d.policies.retention_days,
        lambda v: policy(retention_days=v),
        whole=True,
        optional=True,
        help="within what the tenant allows; empty: as the tenant says",
    )
    folded = [("Deadline and working time", _clocks(d, policy)), ("Migration", [moving]), ("Records", [keeping])]
    return usual, folded


def _clocks(d: Definition, policy: Callable[..., None]) -> list[Any]:
    calendar = d.policies.calendar

    def working(**changes: Any) -> None:
        nonlocal calendar
        calendar = replace(calendar, **changes)
        policy(calendar=calendar)

    return [
        text_with_answer(
            "A run must end within",
            d.policies.deadline,
            lambda v: policy(deadline=v),
            lambda v: duration_words(d.policies, v, datetime.now(UTC)),
            help=f"{DURATIONS}; empty: no limit",
        ),
        choice_input(
            "If it does not",
            DEADLINES,
            d.policies.on_deadline.value,
            lambda v: policy(on_deadline=DeadlinePolicy(v)),
        ),
        several_input("Working days", DAYS, calendar.days, lambda v: working(days=tuple(d for d in DAYS if d in v))),
        text_input(
            "Working hours",
            ", ".join(calendar.hours),
            lambda v: working(hours=_listed(v)),
            help="such as 09:00-12:00, 13:00-17:00",
        ),
        area_input(
            "Holidays",
            ", ".join(calendar.holidays),
            lambda v: working(holidays=_listed(v)),
            help="dates such as 2027-12-25, separated by commas",
        ),
    ]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", ",").split(",") if part.strip())
