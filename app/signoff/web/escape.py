"""Text into HTML. Everything that people wrote passes through `esc` before it reaches a page."""

from __future__ import annotations

import html
from datetime import datetime

from signoff.web.models.words import ago, instant


def esc(value: object) -> str:
    """Text as HTML text or attribute value."""
    return html.escape(str(value), quote=True)


def label(value: object) -> str:
    """People's text in a run of its own: right-to-left text cannot reorder what stands beside it."""
    return f'<bdi class="said">{esc(value)}</bdi>'


def moment(at: datetime | None, now: datetime) -> str:
    """An instant as "5 minutes ago" with the exact time as its title."""
    if at is None:
        return "–"
    return f'<time datetime="{esc(at.isoformat())}" title="{esc(instant(at))}">{esc(ago(at, now))}</time>'


def clock(at: datetime | None) -> str:
    """An instant to the second."""
    return "–" if at is None else f'<time datetime="{esc(at.isoformat())}">{esc(instant(at))}</time>'
