"""When to try again: exponential backoff with a cap, jitter and a total time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import overload

from signoff.core.definition import EffectContract, RetryPolicy
from signoff.core.states import ErrorInfo


def next_attempt_at(
    policy: RetryPolicy,
    *,
    attempt: int,
    first_scheduled_at: datetime,
    now: datetime,
    jitter: float,
) -> datetime | None:
    """When attempt `attempt + 1` begins, or None where the policy gives up.

    The pause is `initial_s * multiplier ** (attempt - 1)`, at most `cap_s`, lengthened by up to its
    `jitter` share.

    Args:
        policy: of the step.
        attempt: the one that just failed, from 1.
        first_scheduled_at: when attempt 1 of this generation was scheduled.
        now: aware UTC.
        jitter: a number in [0, 1).
    """
    if attempt >= policy.max_attempts:
        return None
    due = now + timedelta(seconds=pause_s(policy, attempt, jitter))
    if policy.total_s is not None and due > first_scheduled_at + timedelta(seconds=policy.total_s):
        return None
    return due


def pause_s(policy: RetryPolicy, attempt: int, jitter: float) -> float:
    """Seconds between attempt `attempt` and the next one."""
    pause = min(policy.initial_s * policy.multiplier ** min(attempt - 1, 60), policy.cap_s)
    return pause * (1 + policy.jitter * jitter)


@overload
def within_total(policy: RetryPolicy, first: datetime, now: datetime, limit_s: float) -> datetime: ...


@overload
def within_total(policy: RetryPolicy, first: datetime, now: datetime, limit_s: float | None) -> datetime | None: ...


def within_total(policy: RetryPolicy, first: datetime, now: datetime, limit_s: float | None) -> datetime | None:
    """When something must be over that may take `limit_s` seconds and not outlast the total time; None: never.

    Args:
        policy: of the step.
        first: when attempt 1 of this generation was scheduled; the total time counts from there.
        now: aware UTC.
        limit_s: its own limit, None where it has none.
    """
    limits = [now + timedelta(seconds=limit_s)] if limit_s else []
    if policy.total_s is not None:
        limits.append(max(now, first + timedelta(seconds=policy.total_s)))
    return min(limits, default=None)


def may_retry(policy: RetryPolicy, effect: EffectContract, error: ErrorInfo) -> bool:
    """Whether automatic retries are allowed after a failure that is known to be one.

    `at_most_once` is never retried by itself.
    """
    if effect is EffectContract.AT_MOST_ONCE:
        return False
    return error.retryable and error.code not in policy.not_retryable


def retry_due(
    policy: RetryPolicy,
    effect: EffectContract,
    error: ErrorInfo,
    *,
    attempt: int,
    first_scheduled_at: datetime | None,
    now: datetime,
    jitter: float,
) -> datetime | None:
    """When to try again after this error, or None where it may not be repeated or the policy gives up.

    Args:
        policy: of the step, or of its compensation.
        effect: what a repetition may do.
        error: of the attempt that just failed.
        attempt: its number, from 1.
        first_scheduled_at: when attempt 1 was scheduled; None counts from now.
        now: aware UTC.
        jitter: a number in [0, 1).
    """
    if not may_retry(policy, effect, error):
        return None
    return next_attempt_at(
        policy, attempt=attempt, first_scheduled_at=first_scheduled_at or now, now=now, jitter=jitter
    )
