"""Encrypted files: written and read piece by piece, each with a key of its own that stands nowhere beside them.

    "SGN1" ‖ piece 0 ‖ piece 1 ‖ … ‖ last piece

A piece is AES-256-GCM of at most 65,536 bytes; its nonce is its number and whether it is the last one, so that pieces
can be neither moved nor left out. Name and tenant of the file are associated data.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from signoff.errors import InvalidInput, StoreFault

MAGIC = b"SGN1"
PIECE_BYTES = 65_536
TAG_BYTES = 16
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Blob:
    """A content that was kept: the digest and size of its plain bytes, its name, and the key that opens it."""

    digest: str
    size: int
    name: str
    key: bytes


class NewBlob:
    """A content on its way in: `write` pieces of any size, then `done`; or `drop` it."""

    def __init__(self, folder: Path, context: str, most: int) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder, self._most = folder, most
        self._name, self._key = os.urandom(16).hex(), os.urandom(KEY_BYTES)
        self._aead, self._context = AESGCM(self._key), f"{context}/{self._name}".encode()
        handle, temporary = tempfile.mkstemp(dir=folder, prefix="new-")
        self._temporary = Path(temporary)
        self._file = os.fdopen(handle, "wb")
        self._file.write(MAGIC)
        self._digest, self._size, self._count = hashlib.sha256(), 0, 0
        self._left = bytearray()

    def write(self, chunk: bytes) -> None:
        """More of it.

        Raises:
            InvalidInput: it has too many bytes; nothing is kept.
        """
        self._size += len(chunk)
        if self._size > self._most:
            self.drop()
            message = f"The file has more than {self._most} bytes."
            raise InvalidInput(message, code="too_large", remedy="Give a smaller one.")
        self._digest.update(chunk)
        self._left += chunk
        while len(self._left) > PIECE_BYTES:
            self._seal(bytes(self._left[:PIECE_BYTES]), last=False)
            del self._left[:PIECE_BYTES]

    def done(self) -> Blob:
        """That was all; it is on the disk when this returns."""
        self._seal(bytes(self._left), last=True)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        path = place_of(self._folder, self._name)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        self._temporary.replace(path)
        return Blob(f"sha256:{self._digest.hexdigest()}", self._size, self._name, self._key)

    def drop(self) -> None:
        """Keep nothing."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _seal(self, piece: bytes, *, last: bool) -> None:
        self._file.write(self._aead.encrypt(_nonce(self._count, last), piece, self._context))
        self._count += 1


def place_of(folder: Path, name: str) -> Path:
    """Where a file stands below the folder of its tenant."""
    return folder / name[:2] / name


def read_blob(path: Path, context: str, key: bytes) -> Iterator[bytes]:
    """The plain bytes, piece by piece; what came before a fault has been given already.

    Raises:
        StoreFault: it was altered, cut off, moved, or is another one.
    """
    aead, bound, count = AESGCM(key), f"{context}/{path.name}".encode(), 0
    with path.open("rb") as file:
        good, piece = file.read(len(MAGIC)) == MAGIC, file.read(PIECE_BYTES + TAG_BYTES)
        while good:
            following = file.read(PIECE_BYTES + TAG_BYTES)
            try:
                plain = aead.decrypt(_nonce(count, not following), piece, bound)
            except (InvalidTag, ValueError):
                break
            yield plain
            if not following:
                return
            piece, count = following, count + 1
    raise StoreFault(
        "The content of a file was altered, or cut off.",
        code="altered_ciphertext",
        remedy="Run `signoff verify`, and restore a backup.",
    )


def _nonce(count: int, last: bool) -> bytes:
    return count.to_bytes(11, "big") + (b"\x01" if last else b"\x00")
