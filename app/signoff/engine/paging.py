"""Pages of lists: how long they may be, and the cursors that lead to the next one."""

from __future__ import annotations

from signoff.errors import InvalidInput

MAX_PAGE = 200
_MAX_DIGITS = 18
"""A number of so many digits fits into 64 bits."""


def page_size(limit: int) -> int:
    """How many lines a page has."""
    return max(1, min(limit, MAX_PAGE))


def read_cursor(cursor: str | None, parts: int) -> list[int] | None:
    """The numbers of a page cursor; None for the first page.

    Raises:
        InvalidInput: it is not one of ours.
    """
    if not cursor:
        return None
    found = cursor.split(".")
    if len(found) != parts or not all(p.isdecimal() and len(p) <= _MAX_DIGITS for p in found):
        raise InvalidInput("The page cursor is not one of ours.", code="bad_cursor", remedy="Start at the first page.")
    return [int(p) for p in found]


def older_than(cursor: str | None) -> int | None:
    """The number that all of the next page are below, for lists with the newest first; None for the first page."""
    found = read_cursor(cursor, 1)
    return found[0] if found else None
