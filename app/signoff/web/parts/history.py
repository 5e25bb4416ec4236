"""The history of a run and the attempts of a step, as lists."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from signoff.engine.views import AttemptView, EventView
from signoff.web.escape import clock, esc, label, moment
from signoff.web.models.words import step_word
from signoff.web.parts.markup import Safe, badge

_COLOURS = (
    ("compensation_failed", "failed"),
    ("compensat", "compensated"),
    ("succeeded", "succeeded"),
    ("submitted", "succeeded"),
    ("approved", "succeeded"),
    ("failed", "failed"),
    ("rejected", "rejected"),
    ("expired", "expired"),
    ("outcome_unknown", "outcome_unknown"),
    ("effect.confirmed", "succeeded"),
    ("skipped", "skipped"),
    ("stalled", "stalled"),
    ("blocked", "blocked"),
    ("cancel", "cancelled"),
    ("terminated", "terminated"),
    ("retry", "retrying"),
    ("paused", "paused"),
    ("evidence", "expired"),
    ("opened", "waiting"),
    ("started", "running"),
)


def history_list(events: Iterable[EventView]) -> Safe:
    """Facts in the order they happened: what, when, by whom."""
    rows = "".join(_row(e) for e in events)
    return Safe(f'<ol class="history" aria-label="History">{rows}</ol>')


def _row(event: EventView) -> str:
    colour = next((c for word, c in _COLOURS if word in event.type), "")
    style = f' style="--c:var(--s-{colour})"' if colour else ""
    by = f" · {label(event.actor)}" if event.actor else ""
    return (
        f'<li data-sequence="{event.sequence}" data-type="{esc(event.type)}"><span class="dot"{style}></span>'
        '<div class="what">'
        f'{label(event.sentence)}<div class="soft small">{event.sequence} · {clock(event.at)}{by}</div></div></li>'
    )


def attempts_list(attempts: Iterable[AttemptView]) -> Safe:
    """Attempts of one step: number, how it went, worker, when."""
    rows = "".join(
        f"<li><span class='dot' style='--c:var(--s-{_attempt_colour(a.status)})'></span><div class='what'>"
        f"{_number(a)}: "
        f"{badge(_attempt_colour(a.status), step_word(_attempt_colour(a.status)).lower())}"
        f"{_progress(a)}<div class='soft small'>{clock(a.created_at)}{_worker(a)}</div></div></li>"
        for a in attempts
    )
    return Safe(f'<ol class="history" aria-label="Attempts">{rows}</ol>')


def _number(a: AttemptView) -> str:
    which = f"Item {a.item}, attempt {a.attempt}" if a.item >= 0 else f"Attempt {a.attempt}"
    return f"{which} (generation {a.generation})" if a.generation > 1 else which


def _progress(attempt: AttemptView) -> str:
    told = attempt.progress
    if told is None:
        return ""
    bar = (
        ""
        if told.fraction is None
        else f'<progress max="1" value="{told.fraction:.4f}" aria-label="Progress"></progress> '
    )
    when = f" {moment(told.at, datetime.now(UTC))}" if told.at else ""
    return f"<div class='small'>{bar}{label(told.said)}<span class='soft'>{when}</span></div>"


def _worker(attempt: AttemptView) -> str:
    return f" · worker {label(attempt.worker)}" if attempt.worker else ""


def _attempt_colour(status: str) -> str:
    known = {"succeeded", "failed", "running", "scheduled", "cancelled", "expired"}
    if status in known:
        return status
    return {"ready": "scheduled", "held": "paused", "leased": "running"}.get(status, "pending")
