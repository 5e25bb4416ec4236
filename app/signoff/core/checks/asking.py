"""Approvals and forms: somebody to ask, a quorum that can be met, fields to fill in, ways back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from signoff.core.calendar import add_duration, parse_duration
from signoff.core.checks.ladder import check_duration, check_ladder, check_people
from signoff.core.checks.quotas import check_quotas
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import (
    OUTCOMES,
    ApprovalConfig,
    AskingConfig,
    Definition,
    FormConfig,
    Outcome,
    Step,
)
from signoff.core.graph import reachable_from
from signoff.core.plan import successors_of
from signoff.core.problem import Problem

MAX_ROUNDS = 50
MAX_CONFIRMED_S = 86_400


def check_approval(d: Definition, s: Step, c: ApprovalConfig, around: Surroundings) -> Iterator[Problem]:
    """Everything about one approval."""
    yield from check_quotas(s, c, around) if c.quotas else _people(s, c, around)
    yield from _quorum(s, c)
    if c.expires:
        yield from check_duration(s, c.expires)
    yield from check_ladder(d, s, c, around)
    yield from _returns(d, s, c)
    yield from _differing(d, s, c)
    yield from _confirming(s, c)


def check_form(d: Definition, s: Step, c: FormConfig, around: Surroundings) -> Iterator[Problem]:
    """Everything about one form; its fields are checked with all others."""
    yield from _people(s, c, around)
    if not c.fields:
        yield Problem("no_fields", f"Form '{s.label}' asks for nothing.", "Add a field.", s.id)
    known = {f.name for f in c.fields}
    for name in c.prefill:
        if name not in known:
            message = f"'{s.label}' fills in '{name[:60]}' beforehand, which is none of its fields."
            yield Problem("unknown_field", message, f"Fields: {', '.join(sorted(known)) or 'none'}.", s.id)
    if c.expires:
        yield from check_duration(s, c.expires)
    yield from check_ladder(d, s, c, around)
    yield from _returns(d, s, c)


def _people(s: Step, c: AskingConfig, around: Surroundings) -> Iterator[Problem]:
    chosen = c.groups_by if isinstance(c, ApprovalConfig) else c.requester
    if not c.groups and not c.people and not chosen:
        yield Problem("no_approvers", f"Nobody is asked in {s.kind} '{s.label}'.", "Name a group or people.", s.id)
    yield from check_people(s, c.groups, c.people, around)


def _quorum(s: Step, c: ApprovalConfig) -> Iterator[Problem]:
    if c.required < 0:
        message = f"'{s.label}' needs a negative number of approvals."
        yield Problem("bad_quorum", message, "Use 1 or more; 0 means all.", s.id)
    asked = {p.casefold() for p in c.people}
    if not c.groups and not c.groups_by and c.people and c.required > len(asked):
        yield Problem(
            "quorum_unreachable",
            f"'{s.label}' needs {c.required} approvals but asks only {len(asked)} people.",
            "Ask more people or need fewer approvals.",
            s.id,
        )
    for word in c.comment_required_on:
        if word not in {Outcome.RETURNED.value, *(o.value for o in OUTCOMES[s.kind])}:
            message = f"'{s.label}' wants a comment on '{word}', which cannot happen."
            yield Problem("unknown_outcome", message, "Correct it.", s.id)


def _confirming(s: Step, c: ApprovalConfig) -> Iterator[Problem]:
    """A password again within minutes or hours: an exact span, at most a day."""
    if not c.reauthenticate:
        return
    start = datetime(2027, 1, 1, tzinfo=UTC)
    try:
        span = (add_duration(start, parse_duration(c.reauthenticate), ZoneInfo("UTC")) - start).total_seconds()
    except (ValueError, OverflowError):
        span = 0.0
    if not 0 < span <= MAX_CONFIRMED_S:
        message = (
            f"'{s.label}' wants a password again within '{c.reauthenticate[:40]}', which is no span of at most a day."
        )
        yield Problem("bad_reauthenticate", message, "Write a duration such as PT10M.", s.id)


def _returns(d: Definition, s: Step, c: AskingConfig) -> Iterator[Problem]:
    graph = successors_of(d)
    for target in c.returns_to:
        if target not in graph or target == s.id or s.id not in reachable_from(graph, [target]):
            message = f"'{s.label}' returns work to '{target[:60]}', which does not come before it."
            yield Problem("bad_return", message, "Name steps that come before it.", s.id)
    if not 1 <= c.max_rounds <= MAX_ROUNDS:
        message = f"'{s.label}' must allow between 1 and {MAX_ROUNDS} rounds."
        yield Problem("bad_rounds", message, "Correct the number of rounds.", s.id)


def _differing(d: Definition, s: Step, c: ApprovalConfig) -> Iterator[Problem]:
    graph = successors_of(d)
    approvals = {o.id for o in d.steps if isinstance(o.config, ApprovalConfig)}
    for other in c.deciders_differ_from:
        if other not in approvals or other == s.id or s.id not in reachable_from(graph, [other]):
            message = f"The deciders of '{s.label}' shall differ from '{other[:60]}', which is no approval before it."
            yield Problem("bad_separation", message, "Name approvals that come before it.", s.id)
