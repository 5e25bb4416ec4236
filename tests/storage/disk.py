"""A disk of ours under the real store: it notes what it is told, and fails when it is told to.

`images.py` makes of the writes, syncs, truncations, creations and deletions what is left after a power loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import apsw

Kind = Literal["write", "truncate", "sync", "create", "delete", "commit"]
NAME = "signoff-disk"


@dataclass(frozen=True, slots=True)
class Op:
    """One thing that the disk was told, or (`commit`) that the engine learnt that a commit had been made.

    Attributes:
        file: "" of the database itself, "-wal" of its log.
        at: offset of a write, new size of a truncation, number of the commit.
    """

    kind: Kind
    file: str
    at: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """The system's own file system, watched.

    Attributes:
        ops: what happened to the watched database, oldest first.
        counts: operations that could have failed so far, while `armed`.
        wanted: fail at this operation, counted from 1; 0 for never.
        sticky: every operation from there on fails, until `mend`.
    """

    def __init__(self) -> None:
        super().__init__(NAME, "", 0)
        self.watched = ""
        self.ops: list[Op] = []
        self.armed = False
        self.counted = 0
        self.failed: Counter[str] = Counter()
        self.mend()

    def watch(self, path: str) -> None:
        """Begin anew with this database."""
        self.watched, self.ops, self.counted, self.armed = path, [], 0, False
        self.failed.clear()
        self.mend()

    def mend(self) -> None:
        """It is whole again."""
        self.wanted, self.sticky, self.error = 0, False, apsw.IOError
        self.kinds: frozenset[str] = frozenset()

    def fail(self, at: int, error: type[apsw.Error], *, sticky: bool) -> None:
        """Fail from the `at`-th of the following operations on; only writes can find it full."""
        self.wanted, self.sticky, self.error = self.counted + at, sticky, error
        full = error is apsw.FullError
        self.kinds = frozenset(("write", "truncate", "create") if full else ("write", "truncate", "sync", "read"))

    @contextmanager
    def working(self) -> Iterator[None]:
        """Operations count, and can fail, only within."""
        was, self.armed = self.armed, True
        try:
            yield
        finally:
            self.armed = was

    @contextmanager
    def resting(self) -> Iterator[None]:
        """The harness looks at the files itself: nothing fails."""
        was, self.armed = self.armed, False
        try:
            yield
        finally:
            self.armed = was

    def may_fail(self, kind: str, file: str) -> None:
        """Count an operation of the engine; raises what it was told to."""
        if not self.armed or (self.kinds and kind not in self.kinds):
            return
        self.counted += 1
        if self.wanted and (self.counted == self.wanted or (self.sticky and self.counted > self.wanted)):
            self.failed[f"{kind} {file or '-db'}"] += 1
            raise self.error("the disk was told to fail")

    def part(self, name: str | None) -> str | None:
        """What follows the name of the watched database in a file of it, None for other files."""
        if name is None or not self.watched or not name.startswith(self.watched):
            return None
        part = name[len(self.watched) :]
        return part if part in ("", "-wal", "-journal") else None

    def xOpen(self, name: Any, flags: list[int]) -> Watched:  # noqa: N802 - named by SQLite
        """Open a file."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        part = self.part(path)
        if part is not None and not self.xAccess(path, apsw.SQLITE_ACCESS_EXISTS):
            self.may_fail("create", part)
            self.ops.append(Op("create", part))
        return Watched(self, part, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        """Delete a file."""
        super().xDelete(name, sync)
        part = self.part(name)
        if part is not None:
            self.ops.append(Op("delete", part, int(sync)))


class Watched(apsw.VFSFile):
    """One open file."""

    def __init__(self, disk: Disk, part: str | None, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk, self._part = disk, part

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        """Read."""
        if self._part is not None:
            self._disk.may_fail("read", self._part)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        """Write."""
        if self._part is not None:
            self._disk.may_fail("write", self._part)
            self._disk.ops.append(Op("write", self._part, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        """Cut."""
        if self._part is not None:
            self._disk.may_fail("truncate", self._part)
            self._disk.ops.append(Op("truncate", self._part, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """Make it durable; the machine's own disk is not asked, for its power is not cut."""
        if self._part is not None:
            self._disk.may_fail("sync", self._part)
            self._disk.ops.append(Op("sync", self._part))
        else:
            super().xSync(flags)


_made: list[Disk] = []


def disk() -> Disk:
    """The one disk of this process; SQLite knows it by name."""
    if not _made:
        _made.append(Disk())
    return _made[0]
