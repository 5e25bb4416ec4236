"""Cursors of pages: only our own numbers, whatever somebody writes into the address."""

from __future__ import annotations

import pytest

from signoff.engine.paging import MAX_PAGE, older_than, page_size, read_cursor
from signoff.errors import InvalidInput


@pytest.mark.parametrize("cursor", ["x", "-1", "1.2", "1.", "²", "9" * 19, "1e3", " 1", "0x1"])
def test_what_is_no_cursor_is_said_so(cursor: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        older_than(cursor)
    assert refused.value.code == "bad_cursor"


def test_our_own_are_read() -> None:
    assert older_than(None) is None
    assert older_than("") is None
    assert older_than("17") == 17
    assert read_cursor("1796000000000000.17", 2) == [1796000000000000, 17]
    assert [page_size(n) for n in (-5, 0, 50, 10_000)] == [1, 1, 50, MAX_PAGE]
