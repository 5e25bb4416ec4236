"""How an activity is called: effect contracts, retries, timeouts, probes, polling, lists. Part of `definition.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EffectContract(StrEnum):
    """What may happen to an activity whose answer was lost (semantics §6)."""

    IDEMPOTENT = "idempotent"
    CHECK_FIRST = "check_first"
    AT_MOST_ONCE = "at_most_once"
    COMPENSATABLE = "compensatable"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Automatic retries inside one generation. Times are seconds; `jitter` is a share from 0 to 1."""

    max_attempts: int = 3
    initial_s: float = 1.0
    multiplier: float = 2.0
    cap_s: float = 300.0
    jitter: float = 0.1
    total_s: float | None = None
    not_retryable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `queue_s` schedule-to-start, `run_s` start-to-close, `heartbeat_s` the lease."""

    queue_s: float | None = None
    run_s: float = 60.0
    heartbeat_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Probe:
    """Finds out whether a call whose answer was lost took effect (effect contract `check_first`).

    Attributes:
        connector: what is asked; it must not change anything.
        input: mapping as of an activity; may also read `call.key`, the idempotency key of the lost call.
        happened: CEL over `answer` (what the probe was told) that gives true or false.
        output: CEL over `answer` that gives the activity's output where it happened; empty gives the answer.
    """

    connector: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    happened: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Poll:
    """Calls an activity again until its answer is the one that is waited for.

    Attributes:
        until: CEL over `answer` (the call's output) that gives true when it is.
        every: ISO 8601 duration between an answer and the next call.
        for_: ISO 8601 duration from the first call to the deadline (`for` in documents); the last call is made then.
    """

    until: str = ""
    every: str = "PT1M"
    for_: str = ""


MAX_ITEMS = 1_000
"""No step calls for more items than this."""
MAX_PARALLEL = 100
"""Nor more of them at once."""


@dataclass(frozen=True, slots=True)
class ForEach:
    """Calls an activity once for each item of a list; to a reader it is one step.

    Attributes:
        items: CEL that gives the list; the input mapping may then use `item` and `index` (from 0).
        parallel: how many calls may be under way at once.
        max_items: a longer list is an error; at most `MAX_ITEMS`.
    """

    items: str = ""
    parallel: int = 5
    max_items: int = 100


USUAL_RETRY = RetryPolicy()
USUAL_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class Compensation:
    """Undoes a completed activity when its run is stopped with compensation.

    It runs in the pool and with the timeouts of the activity, under an idempotency key and attempts of its own. `input`
    is a mapping as of the activity; it may also read the activity's own output.
    """

    connector: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = USUAL_RETRY
