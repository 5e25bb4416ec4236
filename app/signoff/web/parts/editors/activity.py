"""Editors of an activity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.core.definition import ActivityConfig, EffectContract
from signoff.core.validate import Surroundings
from signoff.web.parts.forms import NOTHING
from signoff.web.parts.inputs import choice_input, number_input, text_input, words_of
from signoff.web.parts.probe import for_each_inputs, poll_inputs, probe_inputs, undo_inputs
from signoff.web.parts.rows import FieldRows, MappingRows

EFFECT_WORDS = {
    "May be repeated (idempotent)": EffectContract.IDEMPOTENT.value,
    "Check first whether it happened": EffectContract.CHECK_FIRST.value,
    "At most once, never retried by itself": EffectContract.AT_MOST_ONCE.value,
    "Can be compensated": EffectContract.COMPENSATABLE.value,
}


def activity_editors(c: ActivityConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """What it calls, with what, and what comes back."""
    calls = {"choose …": NOTHING} | {name: name for name in sorted(around.connectors or ())}
    return [
        choice_input("Calls", calls, c.connector or NOTHING, lambda v: config(connector=v.strip())),
        MappingRows("Input", c.input, lambda v: config(input=v)),
        FieldRows("Output", c.output, lambda v: config(output=v)),
        choice_input("If its answer is lost", EFFECT_WORDS, c.effect.value, lambda v: config(effect=EffectContract(v))),
    ]


def activity_limits(
    c: ActivityConfig, around: Surroundings, config: Callable[..., None]
) -> list[tuple[str, list[Any]]]:
    """Retries, time limits, where it runs."""
    now: dict[str, Any] = {"retry": c.retry, "timeouts": c.timeouts}

    def part(name: str, **changes: Any) -> None:
        now[name] = replace(now[name], **changes)
        config(**{name: now[name]})

    retry = [
        number_input("Attempts", c.retry.max_attempts, lambda v: part("retry", max_attempts=v), whole=True),
        number_input("First pause, seconds", c.retry.initial_s, lambda v: part("retry", initial_s=v)),
        number_input("Each pause longer by factor", c.retry.multiplier, lambda v: part("retry", multiplier=v)),
        number_input("Longest pause, seconds", c.retry.cap_s, lambda v: part("retry", cap_s=v)),
        number_input("Random share of a pause, 0 to 1", c.retry.jitter, lambda v: part("retry", jitter=v)),
        number_input("Give up after, seconds", c.retry.total_s, lambda v: part("retry", total_s=v), optional=True),
        text_input(
            "Errors not worth retrying, by code",
            ", ".join(c.retry.not_retryable),
            lambda v: part("retry", not_retryable=words_of(v)),
        ),
    ]
    timeouts = [
        number_input("One attempt may take, seconds", c.timeouts.run_s, lambda v: part("timeouts", run_s=v)),
        number_input(
            "May wait for a worker, seconds", c.timeouts.queue_s, lambda v: part("timeouts", queue_s=v), optional=True
        ),
        number_input("Heartbeat, seconds", c.timeouts.heartbeat_s, lambda v: part("timeouts", heartbeat_s=v)),
        text_input("Pool", c.pool, lambda v: config(pool=v), limit=63),
        number_input("Priority", c.priority, lambda v: config(priority=v), whole=True),
    ]
    parts = [("Retries", retry), ("Time limits and workers", timeouts)]
    parts = [
        ("Undoing it", undo_inputs(c, around, config)),
        ("Each item of a list", for_each_inputs(c, config)),
        ("Asking again", poll_inputs(c, config)),
        *parts,
    ]
    return [("Probe of a lost call", probe_inputs(c, around, config)), *parts]
