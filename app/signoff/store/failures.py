"""Failed tries of the last minutes, which the brakes count: shared by all processes of an installation, and bounded.

What a try is counted under (a login as somebody typed it, an address) is kept as a hash only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from signoff.store.people import hash_secret

MOST = 30_000
"""No more tries are remembered than this; the oldest go first."""


class Rows(Protocol):
    """What reads."""

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...


class Writes(Rows, Protocol):
    """What writes."""

    def write(self, statement: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement; the number of rows it changed."""
        ...


def count_failures(store: Rows, names: Iterable[str], since: int) -> dict[str, tuple[int, int]]:
    """(how many, when the first was) after an instant (in microseconds), by name, where there are any."""
    hashes = {hash_secret(name): name for name in names}
    marks = ",".join("?" * len(hashes))
    found = store.rows(
        f"SELECT name, count(*), min(at) FROM failure WHERE name IN ({marks}) AND at > ? GROUP BY name",
        (*hashes, since),
    )
    return {hashes[name]: (int(count), int(first)) for name, count, first in found}


def add_failures(store: Writes, names: Iterable[str], at: int, before: int) -> None:
    """Remember a try under these names, and forget what is older than `before`, or too much."""
    store.write("DELETE FROM failure WHERE at <= ?", (before,))
    for name in names:
        store.write("INSERT INTO failure(name, at) VALUES (?,?)", (hash_secret(name), at))
    store.write("DELETE FROM failure WHERE id <= (SELECT max(id) FROM failure) - ?", (MOST,))
