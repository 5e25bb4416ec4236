"""Beginning to wait for a message from outside, or for another run (semantics §2)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256

from signoff.core import events as e
from signoff.core.checks.subflows import MAX_DEPTH
from signoff.core.decide.build import Build
from signoff.core.decide.inputs import resolved
from signoff.core.definition import SignalConfig, Step, SubflowConfig
from signoff.core.expression import ExpressionError
from signoff.core.flow import scope_of
from signoff.core.states import ErrorInfo

MAX_KEY_CHARS = 200
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def await_signal(build: Build, step: Step, config: SignalConfig) -> None:
    """Wait from now on.

    Raises:
        ExpressionError: the key is missing, or neither a text nor a number.
    """
    build.emit(
        e.SignalAwaited(
            at=build.now,
            step=step.id,
            generation=build.state.steps[step.id].generation,
            name=config.signal,
            key=_key(build, step, config),
            due=_due(build, config.expires),
        )
    )


def _due(build: Build, expires: str) -> datetime | None:
    return build.plan.worktime.later(build.now, expires) if expires else None


def _key(build: Build, step: Step, config: SignalConfig) -> str:
    if not config.key:
        return build.state.business_key or build.state.run_id
    value = build.plan.templates[step.id](scope_of(build.state))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    if not text.strip() or len(text) > MAX_KEY_CHARS:
        raise ExpressionError(f"The key of a signal must be a text of 1 to {MAX_KEY_CHARS} characters or a number.")
    return text


def start_subflow(
    build: Build, step: Step, config: SubflowConfig, fail: Callable[[Build, str, ErrorInfo], None]
) -> None:
    """Ask for a child run, one per generation of the step; the engine starts it in the same commit.

    Raises:
        ExpressionError: a value of the input mapping is missing or has the wrong type, or all of it is too large.
    """
    state = build.state
    if state.depth >= MAX_DEPTH:
        message = f"Runs may start one another at most {MAX_DEPTH} deep."
        fail(build, step.id, ErrorInfo("too_deep", message, False))
        return
    generation = state.steps[step.id].generation
    build.emit(
        e.SubflowStarted(
            at=build.now,
            step=step.id,
            generation=generation,
            child=child_run_id(build.now, state.run_id, step.id, generation),
            definition=config.definition,
            definition_version=config.version or 0,
            digest=config.digest,
            input=resolved(build.plan.templates[step.id], scope_of(state), step.label),
            due=_due(build, config.expires),
        )
    )


def child_run_id(now: datetime, run_id: str, step: str, generation: int) -> str:
    """An id like those of all runs: 48 bits of milliseconds, then 80 bits that only these arguments decide."""
    digest = sha256(f"{run_id}/{step}/{generation}".encode()).digest()
    value = (int(now.timestamp() * 1000) << 80) | int.from_bytes(digest[:10], "big")
    return "r-" + "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
