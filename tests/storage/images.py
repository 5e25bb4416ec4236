"""What may be on the disk after a power loss: all that was synced, and any part of what was not, in any order.

A write that was not synced is there, or not, or in part (sectors of 512 bytes), or where it should be stands something
else; later ones may be there where earlier ones are not. Bytes beside a write stay what they are, as every disk does
that SQLite's default relies on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.storage.disk import Op

SECTOR = 512
MOODS = ("none", "all", "prefix", "some", "some", "torn", "torn", "shuffled", "garbage")


@dataclass
class File:
    """One file: what is durable, and what was written since.

    Attributes:
        named: whether its name in the folder is durable.
        gone: it was deleted, but its folder was not synced.
    """

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Op] = field(default_factory=list)
    named: bool = True
    gone: bool = False


@dataclass(frozen=True)
class Image:
    """Files after a power loss at an operation, and the last commit that the engine knew of then."""

    at: int
    commit: int
    mood: str
    files: dict[str, bytes]

    def write(self, path: Path) -> None:
        """Lay the files down."""
        for part in ("", "-wal", "-shm", "-journal"):
            file = Path(f"{path}{part}")
            if part in self.files:
                file.write_bytes(self.files[part])
            else:
                file.unlink(missing_ok=True)


def _apply(target: bytearray, op: Op) -> None:
    if op.kind == "truncate":
        del target[op.at :]
        if len(target) < op.at:
            target.extend(bytes(op.at - len(target)))
        return
    end = op.at + len(op.data)
    if len(target) < end:
        target.extend(bytes(end - len(target)))
    target[op.at : end] = op.data


def _torn(op: Op, dice: Random, *, garbage: bool) -> Iterator[Op]:
    """Some of the sectors of a write."""
    if op.kind != "write":
        if dice.random() < 0.5:
            yield op
        return
    at, end = op.at, op.at + len(op.data)
    while at < end:
        until = min(end, (at // SECTOR + 1) * SECTOR)
        piece = op.data[at - op.at : until - op.at]
        chance = dice.random()
        if chance < 0.5:
            yield Op("write", op.file, at, piece)
        elif garbage and chance < 0.7:
            yield Op("write", op.file, at, dice.randbytes(len(piece)))
        at = until


def _left(pending: Sequence[Op], mood: str, dice: Random) -> list[Op]:
    """What is left of the writes that were not synced."""
    if mood == "all":
        return list(pending)
    if mood == "prefix":
        return list(pending[: dice.randint(0, len(pending))])
    if mood == "some":
        return [op for op in pending if dice.random() < 0.5]
    if mood == "shuffled":
        kept = [op for op in pending if dice.random() < 0.7]
        dice.shuffle(kept)
        return kept
    if mood in ("torn", "garbage"):
        kept = list(pending[: dice.randint(0, len(pending))])
        return [piece for op in kept for piece in _torn(op, dice, garbage=mood == "garbage")]
    return []


class Plate:
    """Follows the operations and can be asked at any moment what a power loss would leave."""

    def __init__(self, before: bytes, ops: Sequence[Op]) -> None:
        self.files = {"": File(bytearray(before))}
        self.ops = ops
        self.commit = 0

    def moments(self) -> Iterator[int]:
        """Before the first operation and after each."""
        yield 0
        for number, op in enumerate(self.ops, 1):
            self._follow(op)
            yield number

    def _follow(self, op: Op) -> None:
        if op.kind == "commit":
            self.commit = op.at
        elif op.kind == "create":
            old = self.files.get(op.file)
            self.files[op.file] = File(named=bool(old and old.gone and old.named))
        elif op.kind == "delete":
            if op.at:
                self.files.pop(op.file, None)
            elif op.file in self.files:
                self.files[op.file].gone = True
        elif op.kind == "sync":
            file = self.files[op.file]
            for earlier in file.pending:
                _apply(file.durable, earlier)
            file.pending.clear()
            file.named = True
        else:
            self.files[op.file].pending.append(op)

    def image(self, at: int, mood: str, dice: Random) -> Image:
        """One of the many that a power loss may leave now."""
        found: dict[str, bytes] = {}
        for part, file in self.files.items():
            uncertain = file.gone or not file.named
            if uncertain and mood != "all" and (mood == "none" or dice.random() < 0.5):
                if file.gone and file.named:
                    found[part] = bytes(file.durable)
                continue
            if file.gone:
                continue
            content = bytearray(file.durable)
            for op in _left(file.pending, mood, dice):
                _apply(content, op)
            found[part] = bytes(content)
        if dice.random() < 0.05:  # nobody trusts what was shared in memory
            found["-shm"] = dice.randbytes(dice.choice((0, 3, 32768)))
        return Image(at, self.commit, mood, found)

    @property
    def is_settled(self) -> bool:
        """Nothing is pending: there is one image only."""
        return all(not f.pending and f.named and not f.gone for f in self.files.values())
