"""Editors of the kinds that ask people: approvals and forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.definition import ApprovalConfig, AskingConfig, FormConfig, RejectionRule
from signoff.core.validate import Surroundings
from signoff.web.parts.editors.quotas import QuotaRows
from signoff.web.parts.inputs import (
    DURATIONS,
    area_input,
    choice_input,
    number_input,
    several_input,
    text_input,
    tick_input,
    words_of,
)
from signoff.web.parts.rows import FieldRows, MappingRows

REJECTION_WORDS = {
    "at once where one approver is asked, else when the rest cannot reach the number": RejectionRule.DEFAULT.value,
    "at once": RejectionRule.AT_ONCE.value,
    "when the rest cannot reach the number": RejectionRule.WHEN_UNREACHABLE.value,
}


def approval_editors(c: ApprovalConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """Who is asked, what they see, when it ends."""
    outcomes = ("approved", "rejected", "returned")
    return [
        several_input("Groups that are asked", around.groups or (), c.groups, lambda v: config(groups=v)),
        several_input("People that are asked", around.people or (), c.people, lambda v: config(people=v)),
        number_input("Approvals needed", c.required, lambda v: config(required=v), whole=True, help="0 means everyone"),
        area_input("Instructions", c.instructions, lambda v: config(instructions=v)),
        MappingRows("What is shown", c.shows, lambda v: config(shows=v), name_label="Shown as"),
        _expiry(c, config),
        tick_input("Who started the run may decide", c.requester_may_decide, lambda v: config(requester_may_decide=v)),
        several_input(
            "A comment is needed when", outcomes, c.comment_required_on, lambda v: config(comment_required_on=v)
        ),
    ]


def approval_policy(c: ApprovalConfig, around: Surroundings, config: Callable[..., None]) -> tuple[str, list[Any]]:
    """So many of each, in order, by amount; and what is filled in when deciding."""
    return "Several groups, amounts, fields", [
        text_input(
            "Approvals needed, by expression",
            c.required_by,
            lambda v: config(required_by=v.strip().removeprefix("=")),
            help="such as input.amount > 1000.0 ? 2 : 1; empty: the number above",
            limit=2_000,
        ),
        text_input(
            "Groups asked, by expression",
            c.groups_by,
            lambda v: config(groups_by=v.strip().removeprefix("=")),
            help="such as input.amount > 1000.0 ? ['directors'] : ['managers']; empty: the groups above",
            limit=2_000,
        ),
        QuotaRows(c.quotas, around, lambda v: config(quotas=v)),
        tick_input("One after another: the next when the one before has approved", c.in_sequence,
                   lambda v: config(in_sequence=v)),
        FieldRows("Fields to fill in when deciding", c.fields, lambda v: config(fields=v)),
    ]  # fmt: skip


def approval_rules(c: ApprovalConfig, config: Callable[..., None]) -> list[tuple[str, list[Any]]]:
    """Rejecting, separation of duties, sending back."""
    rules = [
        choice_input(
            "A rejection settles it", REJECTION_WORDS, c.rejection.value, lambda v: config(rejection=RejectionRule(v))
        ),
        text_input(
            "Nobody who decided in",
            ", ".join(c.deciders_differ_from),
            lambda v: config(deciders_differ_from=words_of(v)),
            help="names of earlier approvals, separated by commas",
        ),
        *_sending_back(c, config),
        text_input(
            "Password again within",
            c.reauthenticate,
            lambda v: config(reauthenticate=v.strip()),
            help="whoever signs must have given it since, such as PT10M; empty: not asked for",
            limit=40,
        ),
    ]
    return [("Rejecting, sending back", rules)]


def form_editors(c: FormConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """Who is asked, for what, and what they see."""
    return [
        several_input("Groups that are asked", sorted(around.groups or ()), c.groups, lambda v: config(groups=v)),
        several_input("People that are asked", sorted(around.people or ()), c.people, lambda v: config(people=v)),
        tick_input("Who started the run is asked too", c.requester, lambda v: config(requester=v)),
        FieldRows("Fields to fill in", c.fields, lambda v: config(fields=v)),
        area_input("Instructions", c.instructions, lambda v: config(instructions=v)),
        MappingRows("What is shown", c.shows, lambda v: config(shows=v), name_label="Shown as"),
        MappingRows("Filled in beforehand", c.prefill, lambda v: config(prefill=v), name_label="Field"),
        _expiry(c, config),
    ]


def form_rules(c: FormConfig, config: Callable[..., None]) -> list[tuple[str, list[Any]]]:
    """Sending back."""
    return [("Sending back", _sending_back(c, config))]


def _expiry(c: AskingConfig, config: Callable[..., None]) -> Any:
    return text_input(
        "Expires after",
        c.expires,
        lambda v: config(expires=v.strip()),
        help=f"{DURATIONS}; empty: never",
        limit=40,
    )


def _sending_back(c: AskingConfig, config: Callable[..., None]) -> list[Any]:
    return [
        text_input(
            "Work may be sent back to",
            ", ".join(c.returns_to),
            lambda v: config(returns_to=words_of(v)),
            help="names of earlier steps, separated by commas",
        ),
        number_input("Rounds at most", c.max_rounds, lambda v: config(max_rounds=v), whole=True),
    ]
