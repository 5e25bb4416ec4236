"""Bytes of files by the digest of their content, below the data folder and outside of everything that is served."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from signoff.core.files import MAX_FILE_BYTES, is_digest
from signoff.errors import InvalidInput, NotFound

GRACE_S = 900.0
DAY_US = 86_400_000_000


class FileStore:
    """One folder per tenant; a content is there once, however many runs have it. Safe from any thread and process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, tenant: str, chunks: Iterable[bytes], *, most: int = MAX_FILE_BYTES) -> tuple[str, int]:
        """Keep a content; returns its digest and size.

        Raises:
            InvalidInput: it has more than `most` bytes; nothing is kept.
        """
        own = self._of(tenant)
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=own, prefix="new-")
        digest, size = hashlib.sha256(), 0
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in chunks:
                    size += len(chunk)
                    if size > most:
                        raise InvalidInput(
                            f"The file has more than {most} bytes.", code="too_large", remedy="Give a smaller one."
                        )
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            name = f"sha256:{digest.hexdigest()}"
            path = self._path(tenant, name)
            path.parent.mkdir(exist_ok=True, mode=0o700)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return name, size

    def path(self, tenant: str, digest: str) -> Path:
        """The file with a content.

        Raises:
            NotFound: it is not there (any more).
        """
        path = self._path(tenant, digest)
        if not path.is_file():
            raise NotFound("The content of this file is not here any more.", remedy="Ask an administrator.")
        return path

    def sweep(self, is_wanted: Callable[[str, str], bool]) -> int:
        """Delete contents that no row names (asked with tenant folder and digest); young ones may still get theirs."""
        count, before = 0, time.time() - GRACE_S
        for path in self._folder.glob("*/*/*"):
            digest = f"sha256:{path.name}"
            if is_digest(digest) and path.stat().st_mtime < before and not is_wanted(path.parts[-3], digest):
                path.unlink(missing_ok=True)
                count += 1
        for path in self._folder.glob("*/new-*"):
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
        return count

    def _of(self, tenant: str) -> Path:
        return self._folder / folder_of(tenant)

    def _path(self, tenant: str, digest: str) -> Path:
        if not is_digest(digest):
            raise NotFound("There is no such file.", remedy="Check the address.")
        name = digest.removeprefix("sha256:")
        return self._of(tenant) / name[:2] / name


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
    """A row: a file of a run (`run_id`), or one that waits (`run_id` is empty). Times are microseconds."""

    digest: str
    name: str
    size: int
    media: str
    uploaded_by: str
    uploaded_at: int
    run_id: str = ""


_COLUMNS = "a.digest, a.name, a.size, a.media, a.uploaded_by, a.uploaded_at, coalesce(r.public_id, '')"
_SELECT = f"SELECT {_COLUMNS} FROM attachment a LEFT JOIN run r ON r.id = a.run"


def add_attachment(store: Writes, tenant: str, a: Attachment, run: int | None = None, step: str = "") -> None:
    """A file was uploaded, or a run has it."""
    store.write(
        "INSERT INTO attachment(tenant, digest, name, size, media, uploaded_by, uploaded_at, run, step)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        (tenant, a.digest, a.name, a.size, a.media, a.uploaded_by, a.uploaded_at, run, step),
    )


def newest_attachment(store: Rows) -> int:
    """The number of the newest row."""
    return int(store.rows("SELECT coalesce(max(id), 0) FROM attachment")[0][0])


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


def find_usable(store: Rows, tenant: str, login: str, run: int | None, digest: str, name: str) -> Attachment | None:
    """A file that a person may put into a run: uploaded by themselves, or already part of that run."""
    found = store.rows(
        f"{_SELECT} WHERE a.tenant=? AND a.digest=? AND a.name=?"
        " AND ((a.run IS NULL AND a.uploaded_by=?) OR a.run=?) ORDER BY a.id LIMIT 1",
        (tenant, digest, name, login, -1 if run is None else run),
    )
    return Attachment(*found[0]) if found else None


def list_attachments(store: Rows, run: int) -> list[Attachment]:
    """The files of a run, each name and content once."""
    found = store.rows(f"{_SELECT} WHERE a.run=? ORDER BY a.id", (run,))
    return list({(a.digest, a.name): a for a in (Attachment(*row) for row in found)}.values())


def list_holders(store: Rows, tenant: str, digest: str) -> list[Attachment]:
    """All rows of a tenant with that content."""
    return [
        Attachment(*row)
        for row in store.rows(f"{_SELECT} WHERE a.tenant=? AND a.digest=? ORDER BY a.id", (tenant, digest))
    ]


def iter_wanted(store: Rows) -> Iterator[tuple[str, str]]:
    """(tenant, digest) of every content that some row names."""
    for row in store.rows("SELECT DISTINCT tenant, digest FROM attachment"):
        yield row[0], row[1]
