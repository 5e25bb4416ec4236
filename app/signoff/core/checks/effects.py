"""What effect contracts and repeated calls need: probes, polls that end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from signoff.core.calendar import find_zone
from signoff.core.checks.steps import check_connector, check_retry, check_secrets
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import (
    MAX_ITEMS,
    MAX_PARALLEL,
    ActivityConfig,
    Definition,
    EffectContract,
    ForEach,
    Poll,
    Probe,
    Step,
)
from signoff.core.polling import MAX_POLLS, most_polls
from signoff.core.problem import Problem
from signoff.core.worktime import compile_calendar

_ANY_DAY = datetime(2027, 1, 1, tzinfo=UTC)


def check_effects(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """The probes of all activities."""
    for s in d.steps:
        if not isinstance(s.config, ActivityConfig):
            continue
        checks, probe = s.config.effect is EffectContract.CHECK_FIRST, s.config.probe
        if checks and probe is None:
            message = f"'{s.label}' checks first whether a lost call happened, but names nothing to ask."
            yield Problem("no_probe", message, "Give it a probe, or choose another contract.", s.id)
        elif probe is not None:
            if not checks:
                message = f"'{s.label}' has a probe, but its contract is not to check first."
                yield Problem("unused_probe", message, "Choose 'check_first' or remove it.", s.id, severity="warning")
            yield from _probe(s, probe, around)
        yield from _compensation(s, s.config, around)
        if s.config.poll is not None:
            yield from _poll(d, s, s.config, s.config.poll)
        if s.config.for_each is not None:
            yield from _for_each(s, s.config, s.config.for_each)


def _poll(d: Definition, s: Step, c: ActivityConfig, poll: Poll) -> Iterator[Problem]:
    if c.effect not in (EffectContract.IDEMPOTENT, EffectContract.COMPENSATABLE):
        message = f"'{s.label}' polls, but its calls may not be repeated."
        yield Problem("poll_effect", message, "Choose 'idempotent': polling only asks.", s.id)
    if not poll.until.strip():
        message = f"'{s.label}' polls, but does not say until what."
        yield Problem("no_condition", message, "Give a condition such as answer.body.status == 'ready'.", s.id)
    zone = find_zone(d.policies.zone)
    if zone is None:
        return
    try:
        count = most_polls(poll, compile_calendar(d.policies.calendar, zone), _ANY_DAY)
    except ValueError as error:
        yield Problem("bad_duration", f"In the polling of '{s.label}': {error}", "Correct the duration.", s.id)
        return
    if count > MAX_POLLS:
        message = f"'{s.label}' could be asked more than {MAX_POLLS} times."
        yield Problem("too_many_polls", message, "Ask less often, or not for so long.", s.id)


def _for_each(s: Step, c: ActivityConfig, each: ForEach) -> Iterator[Problem]:
    if c.effect not in (EffectContract.IDEMPOTENT, EffectContract.COMPENSATABLE):
        message = f"'{s.label}' calls for each item of a list, but its calls may not be repeated."
        yield Problem("for_each_effect", message, "Choose 'idempotent': each item has its own key.", s.id)
    if c.poll is not None:
        message = f"'{s.label}' goes through a list and polls as well."
        yield Problem("for_each_poll", message, "Do one of them in a step of its own.", s.id)
    if not each.items.strip():
        message = f"'{s.label}' calls for each item, but names no list."
        yield Problem("no_list", message, "Give an expression such as input.rows.", s.id)
    if not 1 <= each.max_items <= MAX_ITEMS or not 1 <= each.parallel <= MAX_PARALLEL:
        message = f"'{s.label}' must allow 1 to {MAX_ITEMS} items and 1 to {MAX_PARALLEL} calls at once."
        yield Problem("bad_for_each", message, "Correct the numbers.", s.id)


def _compensation(s: Step, c: ActivityConfig, around: Surroundings) -> Iterator[Problem]:
    if c.compensation is None:
        if c.effect is EffectContract.COMPENSATABLE:
            message = f"'{s.label}' can be compensated by its contract, but does not say how."
            yield Problem("no_compensation", message, "Give it a compensation, or choose another contract.", s.id)
        return
    what = f"The compensation of '{s.label}'"
    yield from check_connector(s, what, c.compensation.connector, around)
    yield from check_retry(s, c.compensation.retry, what)
    yield from check_secrets(s, c.compensation.input)


def _probe(s: Step, probe: Probe, around: Surroundings) -> Iterator[Problem]:
    yield from check_connector(s, f"The probe of '{s.label}'", probe.connector, around)
    if not probe.happened.strip():
        message = f"The probe of '{s.label}' does not say when the call happened."
        yield Problem("no_condition", message, "Give a condition such as answer.body.found.", s.id)
    yield from check_secrets(s, probe.input)
