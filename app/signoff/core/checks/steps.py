"""What each kind of step needs: somebody to ask, something to call, times that make sense, no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.core.calendar import find_zone, parse_local
from signoff.core.checks.asking import check_approval, check_form
from signoff.core.checks.ladder import check_duration
from signoff.core.checks.names import NAME
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    Definition,
    FormConfig,
    RetryPolicy,
    SignalConfig,
    Step,
    SubflowConfig,
    Timeouts,
    WaitConfig,
)
from signoff.core.problem import Problem

MAX_ATTEMPTS = 100
MAX_SECONDS = 366 * 86_400.0
"""No single timeout or retry pause is longer than a year."""
MAX_MULTIPLIER = 100.0
MAX_KEY_CHARS = 200

_SECRET = re.compile(
    r"(?i)\b(?:(?:bearer|basic)\s+[a-z0-9._=+/-]{16,}|sk_live_\w{8,}|AKIA[0-9A-Z]{16}|ghp_\w{20,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_SECRET_KEYS = frozenset({"password", "secret", "token", "api_key", "apikey", "authorization"})


def check_steps(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """Each step by its kind, and its skip rule."""
    for s in d.steps:
        match s.config:
            case ActivityConfig() as config:
                yield from _activity(s, config, around)
            case ApprovalConfig() as config:
                yield from check_approval(d, s, config, around)
            case FormConfig() as config:
                yield from check_form(d, s, config, around)
            case SubflowConfig():
                pass  # see check_subflows
            case SignalConfig() as config:
                yield from _signal(s, config)
            case WaitConfig() as config:
                yield from _wait(d, s, config)
        if not s.is_skippable and (s.skip.needs_output or s.skip.condition):
            message = f"'{s.label}' has a skip rule, but it may not be skipped."
            yield Problem("unused_skip_rule", message, "Allow skipping or clear the rule.", s.id)


def _activity(s: Step, c: ActivityConfig, around: Surroundings) -> Iterator[Problem]:
    yield from check_connector(s, f"Activity '{s.label}'", c.connector, around)
    yield from check_retry(s, c.retry, f"'{s.label}'")
    yield from _timeouts(s, c.timeouts)
    if c.retry.total_s is not None and c.retry.total_s < c.timeouts.run_s:
        yield Problem(
            "timeout_too_short",
            f"The total time of '{s.label}' ({c.retry.total_s:g} s) is shorter than one attempt "
            f"({c.timeouts.run_s:g} s).",
            "Lengthen the total time or shorten the attempt.",
            s.id,
        )
    yield from check_secrets(s, c.input)


def check_connector(s: Step, what: str, connector: str, around: Surroundings) -> Iterator[Problem]:
    """Something to call that is installed; `what` calls it."""
    if not connector:
        yield Problem("no_connector", f"{what} calls nothing.", "Choose a connector.", s.id)
    elif around.connectors is not None and connector not in around.connectors:
        known = ", ".join(sorted(around.connectors)) or "none"
        message = f"{what} calls '{connector[:80]}', which is not installed."
        yield Problem("missing_connector", message, f"Installed: {known}.", s.id)


def check_secrets(s: Step, mapping: dict[str, object]) -> Iterator[Problem]:
    """Texts of a mapping that look like secrets."""
    for path, text in _texts(mapping):
        key = path.rsplit(".", 1)[-1].lower().replace("-", "_")
        named = key in _SECRET_KEYS and not text.startswith(("=", "secret:"))
        if named or _SECRET.search(text):
            yield Problem(
                "plain_secret",
                f"'{path}' of '{s.label}' looks like a secret written in plain text.",
                "Store it outside and refer to it as secret:NAME.",
                s.id,
            )


def check_retry(s: Step, r: RetryPolicy, what: str) -> Iterator[Problem]:
    """Attempts and pauses that make sense; `what` tries again."""
    if not 1 <= r.max_attempts <= MAX_ATTEMPTS:
        message = f"{what} must try between 1 and {MAX_ATTEMPTS} times."
        yield Problem("bad_retry", message, "Correct the attempts.", s.id)
    seconds = (r.initial_s, r.cap_s, r.total_s or 0.0)
    fits = all(0 <= x <= MAX_SECONDS for x in seconds) and 0 <= r.jitter <= 1 and 1 <= r.multiplier <= MAX_MULTIPLIER
    if not fits:
        remedy = f"Pauses go from 0 s to a year, the multiplier from 1 to {MAX_MULTIPLIER:g}, the jitter from 0 to 1."
        yield Problem("bad_retry", f"The retry pauses of {what[0].lower()}{what[1:]} make no sense.", remedy, s.id)


def _timeouts(s: Step, t: Timeouts) -> Iterator[Problem]:
    fits = 0 < t.run_s <= MAX_SECONDS and 1 <= t.heartbeat_s <= MAX_SECONDS
    if not fits or (t.queue_s is not None and not 0 < t.queue_s <= MAX_SECONDS):
        message = f"'{s.label}' needs times above 0 s and a heartbeat of at least 1 s, none over a year."
        yield Problem("bad_timeout", message, "Correct its timeouts.", s.id)


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from _texts(v, f"{path}.{k}".lstrip("."))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from _texts(v, f"{path}[{i}]")


def _wait(d: Definition, s: Step, c: WaitConfig) -> Iterator[Problem]:
    if bool(c.duration) == bool(c.until):
        message = f"'{s.label}' needs either a duration or a date and time."
        yield Problem("bad_wait", message, "Give exactly one.", s.id)
    if c.duration and not c.duration.startswith("="):
        yield from check_duration(s, c.duration)
    zone = find_zone(d.policies.zone)
    if c.until and not c.until.startswith("=") and zone:
        try:
            parse_local(c.until, zone)
        except ValueError as error:
            yield Problem("bad_time", f"In '{s.label}': {error}", "Correct the date and time.", s.id)


def _signal(s: Step, c: SignalConfig) -> Iterator[Problem]:
    if not NAME.fullmatch(c.signal):
        message = f"'{s.label}' waits for a signal without a name." if not c.signal else ""
        message = message or f"'{c.signal[:60]}' of '{s.label}' is not a name of a signal."
        remedy = "Use a lower-case letter, then lower-case letters, digits and underscores, at most 63."
        yield Problem("bad_signal", message, remedy, s.id)
    if not c.key.startswith("=") and (len(c.key) > MAX_KEY_CHARS or c.key != c.key.strip()):
        message = f"The key of '{s.label}' has spaces around it or more than {MAX_KEY_CHARS} characters."
        yield Problem("bad_key", message, "Correct the key.", s.id)
    if c.expires:
        yield from check_duration(s, c.expires)
