"""Beginning to wait for a message from outside, by name and key (semantics §2)."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.decide.build import Build
from signoff.core.definition import SignalConfig, Step
from signoff.core.expression import ExpressionError
from signoff.core.flow import scope_of

MAX_KEY_CHARS = 200


def await_signal(build: Build, step: Step, config: SignalConfig) -> None:
    """Wait from now on.

    Raises:
        ExpressionError: the key is missing, or neither a text nor a number.
    """
    due = build.plan.worktime.later(build.now, config.expires) if config.expires else None
    build.emit(
        e.SignalAwaited(
            at=build.now,
            step=step.id,
            generation=build.state.steps[step.id].generation,
            name=config.signal,
            key=_key(build, step, config),
            due=due,
        )
    )


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
