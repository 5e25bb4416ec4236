"""Contents of files, encrypted below the data folder and outside of everything that is served; and their rows.

A row names a content by a keyed digest, and has its key sealed: by the tenant while the upload waits, by the run that
has it afterwards. So whoever reads the database cannot tell whether two runs have the same file, or one that is known
elsewhere, and with the secret of a run its files are gone at once.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from signoff.core.files import MAX_FILE_BYTES, is_digest
from signoff.errors import NotFound
from signoff.store.blobs import PIECE_BYTES, Blob, NewBlob, place_of, read_blob
from signoff.store.vault import Bodies, RunCipher, keyed

GRACE_S = 900.0
DAY_US = 86_400_000_000
_BLOB = re.compile("[0-9a-f]{32}")


class FileStore:
    """One folder per tenant. Every content is encrypted with a key of its own, and stands there once for each upload.

    Contents of an older release are plain, under the digest of their content. Safe from any thread and process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, tenant: str, *, most: int = MAX_FILE_BYTES) -> NewBlob:
        """A content that comes piece by piece."""
        return NewBlob(self._of(tenant), folder_of(tenant), most)

    def add(self, tenant: str, chunks: Iterable[bytes], *, most: int = MAX_FILE_BYTES) -> Blob:
        """Keep a content.

        Raises:
            InvalidInput: it has more than `most` bytes; nothing is kept.
        """
        new = self.begin(tenant, most=most)
        try:
            for chunk in chunks:
                new.write(chunk)
            return new.done()
        except BaseException:
            new.drop()
            raise

    def read(self, tenant: str, digest: str, blob: str = "", key: bytes = b"") -> Iterator[bytes]:
        """The plain bytes of a content, piece by piece; those of an older release have no `blob`.

        Raises:
            NotFound: it is not there (any more).
            StoreFault: it was altered; what came before the fault has been given already.
        """
        if not is_digest(digest) or (blob and not _BLOB.fullmatch(blob)):
            raise NotFound("There is no such file.", remedy="Check the address.")
        path = place_of(self._of(tenant), blob or digest.removeprefix("sha256:"))
        if not path.is_file():
            raise NotFound("The content of this file is not here any more.", remedy="Ask an administrator.")
        return read_blob(path, folder_of(tenant), key) if blob else _plain(path)

    def sweep(self, is_wanted: Callable[[str, str], bool]) -> int:
        """Delete contents that no row names (asked with tenant folder and name); young ones may still get theirs."""
        count, before = 0, time.time() - GRACE_S
        for path in self._folder.glob("*/*/*"):
            if path.stat().st_mtime < before and not is_wanted(path.parts[-3], path.name):
                path.unlink(missing_ok=True)
                count += 1
        for path in self._folder.glob("*/new-*"):
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
        return count

    def _of(self, tenant: str) -> Path:
        return self._folder / folder_of(tenant)


def _plain(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(PIECE_BYTES):
            yield chunk


def folder_of(tenant: str) -> str:
    """The folder of a tenant's files."""
    return hashlib.sha256(tenant.encode()).hexdigest()[:16]


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


@dataclass(frozen=True, slots=True)
class Attachment:
    """A row: a file of a run (`run`, `run_id`), or one that waits. Times are microseconds.

    `digest` is a keyed one where there is a `blob`; `sealed` opens that, see `Secret`.
    """

    digest: str
    name: str
    size: int
    media: str
    uploaded_by: str
    uploaded_at: int
    run: int | None = None
    run_id: str = ""
    blob: str = ""
    sealed: bytes | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """What is sealed in a row: the digest of the plain content, and the key that opens it (none where it is plain)."""

    digest: str
    key: bytes = b""

    def dump(self) -> bytes:
        """As it is sealed."""
        return orjson.dumps({"digest": self.digest, "key": self.key.hex()})


def slot_of(blob: str) -> str:
    """What a sealed secret is bound to, besides tenant and run."""
    return f"file {blob}"


def open_secret(bodies: Bodies, tenant: str, a: Attachment) -> Secret:
    """The digest and key of a file's content.

    Raises:
        SignoffError: they cannot be read: its run was erased, or a key is missing.
    """
    if not a.blob:
        return Secret(a.digest)
    if a.run is None:
        cipher = bodies.of_tenant(tenant)
        plain = cipher.open(slot_of(a.blob), bytes(a.sealed or b"")) if cipher else b"{}"
    else:
        plain = bodies.plain(a.run, slot_of(a.blob), a.sealed)
    told = orjson.loads(plain or b"{}")
    return Secret(str(told.get("digest", "")), bytes.fromhex(str(told.get("key", ""))))


def keyed_digest(cipher: RunCipher, digest: str) -> str:
    """How the digest of a content stands in the rows of a tenant."""
    return "keyed:" + keyed(keyed(cipher.secret, b"files"), digest.encode()).hex()


def both_digests(cipher: RunCipher | None, digest: str) -> tuple[str, str]:
    """How a content is named in rows of this release, and in those of an older one."""
    return (keyed_digest(cipher, digest) if cipher else digest, digest)


_COLUMNS = (
    "a.digest, a.name, a.size, a.media, a.uploaded_by, a.uploaded_at, a.run, coalesce(r.public_id, ''),"
    " a.blob, a.sealed"
)
_SELECT = f"SELECT {_COLUMNS} FROM attachment a LEFT JOIN run r ON r.id = a.run"


def add_attachment(store: Writes, tenant: str, a: Attachment, run: int | None = None, step: str = "") -> None:
    """A file was uploaded, or a run has it; what a run has is sealed when the transaction is written."""
    store.write(
        "INSERT INTO attachment(tenant, digest, name, size, media, uploaded_by, uploaded_at, run, step, blob, sealed)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (
            tenant, a.digest, a.name, a.size, a.media, a.uploaded_by, a.uploaded_at, run, step, a.blob,
            a.sealed if run is None else None,
        ),
    )  # fmt: skip


def newest_attachment(store: Rows) -> int:
    """The number of the newest row."""
    return int(store.rows("SELECT coalesce(max(id), 0) FROM attachment")[0][0])


def forget_waiting(store: Writes, run: int) -> None:
    """A run goes: what the same people uploaded of the same content, and nobody has used, goes too."""
    store.write(
        "DELETE FROM attachment WHERE run IS NULL AND EXISTS (SELECT 1 FROM attachment x WHERE x.run=?"
        " AND x.tenant = attachment.tenant AND x.digest = attachment.digest"
        " AND x.uploaded_by = attachment.uploaded_by)",
        (run,),
    )


def drop_attachments(store: Writes, run: int, after: int) -> None:
    """Take back rows of a run that are newer than `after`."""
    store.write("DELETE FROM attachment WHERE run=? AND id > ?", (run, after))


def forget_uploads(store: Writes, before: int) -> None:
    """Files that nobody used in time."""
    store.write("DELETE FROM attachment WHERE run IS NULL AND uploaded_at < ?", (before,))


def count_uploads(store: Rows, tenant: str, login: str) -> int:
    """How many files of a person wait to be used."""
    statement = "SELECT count(*) FROM attachment WHERE tenant=? AND uploaded_by=? AND run IS NULL"
    return int(store.rows(statement, (tenant, login))[0][0])


def find_usable(
    store: Rows, tenant: str, login: str, run: int | None, digests: tuple[str, str], name: str
) -> Attachment | None:
    """A file that a person may put into a run: uploaded by themselves, or already part of that run."""
    found = store.rows(
        f"{_SELECT} WHERE a.tenant=? AND a.digest IN (?,?) AND a.name=?"
        " AND ((a.run IS NULL AND a.uploaded_by=?) OR a.run=?) ORDER BY a.id LIMIT 1",
        (tenant, *digests, name, login, -1 if run is None else run),
    )
    return Attachment(*found[0]) if found else None


def list_attachments(store: Rows, run: int) -> list[Attachment]:
    """The files of a run, each name and content once."""
    found = store.rows(f"{_SELECT} WHERE a.run=? ORDER BY a.id", (run,))
    return list({(a.digest, a.name): a for a in (Attachment(*row) for row in found)}.values())


def list_holders(store: Rows, tenant: str, digests: tuple[str, str]) -> list[Attachment]:
    """All rows of a tenant with that content."""
    return [
        Attachment(*row)
        for row in store.rows(f"{_SELECT} WHERE a.tenant=? AND a.digest IN (?,?) ORDER BY a.id", (tenant, *digests))
    ]


def iter_wanted(store: Rows) -> Iterator[tuple[str, str]]:
    """(tenant, name) of every content that some row names."""
    for tenant, blob, digest in store.rows("SELECT DISTINCT tenant, blob, digest FROM attachment"):
        yield tenant, blob or digest.removeprefix("sha256:")
