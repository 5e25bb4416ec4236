"""What a piece of work does with the store: each statement with the number of rows it gave, and each body it decoded.

Two answers that take the same path through the store take the same time, whatever the machine does meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from signoff.store.journal import Journal
from signoff.store.reads.reader import Reader
from signoff.store.vault import Bodies

Work = list[tuple[str, str, int]]


@contextmanager
def counted(patch: pytest.MonkeyPatch, *, about: tuple[str, ...] = ()) -> Iterator[Work]:
    """Collect the work done meanwhile; with `about` only statements that ask for one of these names.

    Where other things go on at the same time this leaves them out, and nothing is lost: what else depends on a name
    follows from the number of rows that it gave.
    """
    found: Work = []
    with patch.context() as within:
        _watch(within, found, about)
        yield found


def _watch(patch: pytest.MonkeyPatch, found: Work, about: tuple[str, ...]) -> None:
    def note(kind: str, what: str, count: int, given: Iterable[Any] = ()) -> None:
        if not about or any(str(value) in about for value in given):
            found.append((kind, what, count))

    read, journal_rows, journal_write, load = Reader._rows, Journal.rows, Journal.write, Bodies.load

    def rows(self: Reader, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        answer = read(self, statement, values)
        note("read", statement, len(answer), values)
        return answer

    def rows_inside(self: Journal, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        values = tuple(parameters)
        answer = journal_rows(self, statement, values)
        note("read inside", statement, len(answer), values)
        return answer

    def write(self: Journal, statement: str, parameters: Iterable[Any] = ()) -> int:
        values = tuple(parameters)
        answer = journal_write(self, statement, values)
        note("write", statement, answer, values)
        return answer

    def decode(self: Bodies, *args: Any, **more: Any) -> Any:
        note("decode", "", 1)
        return load(self, *args, **more)

    patch.setattr(Reader, "_rows", rows)
    patch.setattr(Journal, "rows", rows_inside)
    patch.setattr(Journal, "write", write)
    patch.setattr(Bodies, "load", decode)
