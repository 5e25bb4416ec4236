"""Definitions, drafts and versions: statements of the writer, inside its transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from signoff.store.bodies import dump, load
from signoff.store.journal import Journal


@dataclass(frozen=True, slots=True)
class DraftRow:
    """The newest revision of a draft."""

    definition_id: int
    revision: int
    document: dict[str, Any]
    layout: dict[str, Any]
    saved_by: str
    saved_at: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A frozen version."""

    id: int
    definition_id: int
    name: str
    version: int
    digest: str
    document: dict[str, Any]
    archived: bool


def find_definition(journal: Journal, tenant: str, name: str) -> int | None:
    """The key of a definition, or None."""
    found = journal.rows("SELECT id FROM definition WHERE tenant=? AND name=?", (tenant, name))
    return found[0][0] if found else None


def add_definition(journal: Journal, tenant: str, name: str, title: str) -> int:
    """A new definition; returns its key."""
    journal.write("INSERT INTO definition(tenant, name, title, archived) VALUES (?,?,?,FALSE)", (tenant, name, title))
    found = find_definition(journal, tenant, name)
    assert found is not None
    return found


def find_draft(journal: Journal, definition_id: int, revision: int | None = None) -> DraftRow | None:
    """One revision of a draft, the newest by default."""
    wanted = "AND revision=?" if revision is not None else "ORDER BY revision DESC LIMIT 1"
    found = journal.rows(
        "SELECT definition_id, revision, document, layout, saved_by, saved_at FROM draft"
        f" WHERE definition_id=? {wanted}",
        (definition_id, revision) if revision is not None else (definition_id,),
    )
    return DraftRow(found[0][0], found[0][1], load(found[0][2]), load(found[0][3]), *found[0][4:]) if found else None


def add_draft(
    journal: Journal, definition_id: int, revision: int, document: object, layout: object, by: str, at: int
) -> None:
    """Append a revision; the primary key refuses a revision that exists."""
    journal.write(
        "INSERT INTO draft(definition_id, revision, document, layout, saved_by, saved_at) VALUES (?,?,?,?,?,?)",
        (definition_id, revision, dump(document), dump(layout), by, at),
    )
    title = document.get("title") if isinstance(document, dict) else None
    if isinstance(title, str) and title.strip():
        journal.write("UPDATE definition SET title=? WHERE id=?", (title[:400], definition_id))


_VERSION = (
    "SELECT v.id, v.definition_id, d.name, v.version, v.digest, v.document, v.archived OR d.archived"
    " FROM definition_version v JOIN definition d ON d.id = v.definition_id"
)


def _version(rows: list[tuple[Any, ...]]) -> VersionRow | None:
    if not rows:
        return None
    r = rows[0]
    return VersionRow(r[0], r[1], r[2], r[3], r[4], load(r[5]), bool(r[6]))


def find_version(journal: Journal, tenant: str, name: str, version: int | None) -> VersionRow | None:
    """A version by number; by default the one new runs use: the newest that is not archived, if there is one."""
    if version is None:
        order = "ORDER BY v.archived OR d.archived, v.version DESC LIMIT 1"
        return _version(journal.rows(f"{_VERSION} WHERE d.tenant=? AND d.name=? {order}", (tenant, name)))
    return _version(journal.rows(f"{_VERSION} WHERE d.tenant=? AND d.name=? AND v.version=?", (tenant, name, version)))


def get_version(journal: Journal, version_id: int) -> VersionRow:
    """A version by its key, which a run refers to."""
    found = _version(journal.rows(f"{_VERSION} WHERE v.id=?", (version_id,)))
    assert found is not None
    return found


def find_digest(journal: Journal, definition_id: int, digest: str) -> VersionRow | None:
    """The version with that content, or None."""
    return _version(journal.rows(f"{_VERSION} WHERE v.definition_id=? AND v.digest=?", (definition_id, digest)))


def add_version(
    journal: Journal, tenant: str, definition_id: int, digest: str, document: object, layout: object, by: str, at: int
) -> int:
    """Freeze content as the next version; returns its number."""
    version = newest_version(journal, definition_id) + 1
    journal.write(
        "INSERT INTO definition_version(tenant, definition_id, version, digest, document, layout, published_by,"
        " published_at, archived) VALUES (?,?,?,?,?,?,?,?,FALSE)",
        (tenant, definition_id, version, digest, dump(document), dump(layout), by, at),
    )
    journal.write("UPDATE definition SET archived=FALSE WHERE id=?", (definition_id,))
    return version


def set_archived(journal: Journal, definition_id: int, version: int | None, archived: bool) -> None:
    """Archive a version, or the whole definition, or take that back; open runs and their versions stay."""
    if version is None:
        journal.write("UPDATE definition SET archived=? WHERE id=?", (archived, definition_id))
    else:
        journal.write(
            "UPDATE definition_version SET archived=? WHERE definition_id=? AND version=?",
            (archived, definition_id, version),
        )


def count_runs(journal: Journal, version_id: int) -> tuple[int, int]:
    """How many runs a version has, and how many of them are open."""
    found = journal.rows(
        "SELECT count(*), count(*) FILTER"
        " (WHERE status IN ('running', 'paused', 'stalled', 'cancelling', 'compensating')) FROM run WHERE version_id=?",
        (version_id,),
    )
    return found[0][0], found[0][1]


def newest_version(journal: Journal, definition_id: int) -> int:
    """The highest number given so far; 0 where nothing was published."""
    found = journal.rows(
        "SELECT coalesce(max(version), 0) FROM definition_version WHERE definition_id=?", (definition_id,)
    )
    return int(found[0][0])


def remove_version(journal: Journal, version_id: int) -> None:
    """Delete a version that nothing refers to; the foreign key of runs refuses any other."""
    journal.write("DELETE FROM definition_version WHERE id=?", (version_id,))


def find_layout(journal: Journal, version_id: int) -> dict[str, Any]:
    """Positions on the canvas that were kept with a version."""
    found = journal.rows("SELECT layout FROM definition_version WHERE id=?", (version_id,))
    layout: dict[str, Any] = (load(found[0][0]) if found else None) or {}
    return layout
