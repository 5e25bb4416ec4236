"""Inline SVG icons, drawn on a 24-unit grid; emoji and icon fonts are not always there."""

from __future__ import annotations

from urllib.parse import quote

PATHS = {
    "account": "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 3.2-7 8-7s8 3 8 7",
    "inbox": "M3 13h4.5l1.5 3h6l1.5-3H21M5 5h14l2 8v6H3v-6z",
    "runs": "M6 4l14 8-14 8z",
    "definitions": "M4 4h6v6H4zM14 14h6v6h-6zM10 7h4a3 3 0 0 1 3 3v4",
    "activity": "M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 3v3M12 18v3M3 12h3M18 12h3"
    "M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M18.4 5.6l-2.1 2.1M7.7 16.3l-2.1 2.1",
    "approval": "M8 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 2.5-7 6-7 1.4 0 2.7.5 3.7 1.3M14 17.5l2.5 2.5 5-5.5",
    "form": "M5 3h14v18H5zM9 8h6M9 12h6M9 16h3",
    "signal": "M3 6h18v12H3zM3 6.5l9 7 9-7",
    "subflow": "M3 4h11v8H3zM10 12v8h11v-8h-7M6 8h5",
    "wait": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3.2 2",
    "pending": "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z",
    "scheduled": "M4 7h16M4 12h16M4 17h10",
    "running": "M12 3a9 9 0 1 1-8.5 6M8.5 8l6.5 4-6.5 4z",
    "waiting": "M7 3h10M7 21h10M8 3c0 5 8 5 8 9s-8 4-8 9M16 3c0 5-8 5-8 9s8 4 8 9",
    "retrying": "M20 5v5h-5M20 10a8.5 8.5 0 1 0 .5 4",
    "outcome_unknown": "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .6-1.5 1.2-1.5 2.3M12 18v.2",
    "succeeded": "M4.5 12.5l5 5 10-11",
    "failed": "M6 6l12 12M18 6L6 18",
    "rejected": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.8 5.8l12.4 12.4",
    "expired": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l-3.5 2M4 4l16 16",
    "skipped": "M4 6l8 6-8 6zM13 6l7 6-7 6z",
    "not_taken": "M4 12h3M10.5 12h3M17 12h3",
    "blocked": "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
    "cancelled": "M5 5h14v14H5z",
    "paused": "M8 5v14M16 5v14",
    "stalled": "M12 4l9 16H3zM12 10v4.5M12 17.4v.2",
    "cancelling": "M5 5h14v14H5z",
    "compensating": "M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6",
    "compensated": "M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6",
    "terminated": "M5 5h14v14H5zM9 9l6 6M15 9l-6 6",
    "warning": "M12 4l9 16H3zM12 10v4.5M12 17.4v.2",
    "error": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v6M12 16.4v.2",
}


def svg(name: str, *, size: int = 16) -> str:
    """The icon as markup that takes the colour of its text; decorative, hidden from screen readers."""
    return (
        f'<svg class="icon" aria-hidden="true" width="{size}" height="{size}" viewBox="0 0 24 24" fill="none" '
        f'stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="{PATHS[name]}"/></svg>'
    )


def css_mask(name: str) -> str:
    """The icon as a value for CSS `mask`, for places where no markup can be put."""
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="black" stroke-width="2.4" '
        f'stroke-linecap="round" stroke-linejoin="round"><path d="{PATHS[name]}"/></svg>'
    )
    return f'url("data:image/svg+xml,{quote(drawn)}")'
