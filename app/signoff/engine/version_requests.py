"""Requests about what was published: archive and back, delete what never ran, restore as draft (cases C30, W9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.rejection import Rejection
from signoff.engine.auditing import audit
from signoff.engine.request import Request, ok, refused
from signoff.engine.transaction import Transaction, required
from signoff.errors import Conflict, InvalidInput, NotFound
from signoff.store import definitions as d
from signoff.store.known import load_known
from signoff.store.times import to_micros

Answer = dict[str, Any]


def archive(tx: Transaction, r: Request) -> Answer:
    """No new runs of a version, or of the whole definition; open runs go on."""
    return _set_archived(tx, r, True)


def unarchive(tx: Transaction, r: Request) -> Answer:
    """Take archiving back: new runs may start again."""
    return _set_archived(tx, r, False)


def _set_archived(tx: Transaction, r: Request, archived: bool) -> Answer:
    verb = "archive" if archived else "unarchive"
    definition_id, name, what, row = _subject(tx, r, verb)
    version = row.version if row else None
    reason = _reason(r, f"{verb} {what}")

    def write(journal: Any) -> None:
        d.set_archived(journal, definition_id, version, archived)
        audit(tx, r, what, reason)

    tx.direct(write)
    current = d.find_version(tx.journal, r.tenant, name, None)
    return ok(name=name, version=version, new_runs_use=current.version if current and not current.archived else None)


def delete_version(tx: Transaction, r: Request) -> Answer:
    """Delete a version that never ran and is not the newest; everything else is kept for ever."""
    required(r.args, "version", int)
    definition_id, name, what, row = _subject(tx, r, "delete")
    assert row is not None
    reason = _reason(r, f"delete {what}")
    runs, still_open = d.count_runs(tx.journal, row.id)
    if runs:
        message = (
            f"Expected to delete {what}, but it has {runs} run{'s' if runs != 1 else ''}, {still_open} of them open."
        )
        return refused(Rejection("has_runs", message, "Archive it: nothing new starts then, and its runs go on."))
    if row.version == d.newest_version(tx.journal, definition_id):
        message = f"Expected to delete {what}, but it is the newest, and its number would be given again."
        return refused(Rejection("newest_version", message, "Archive it instead."))
    pinned = [
        f"version {number} of '{other}'"
        for other, found in load_known(tx.journal.rows, r.tenant, {}).items()
        for number, version in found.versions.items()
        if (name, row.version) in version.children
    ]
    if pinned:
        message = f"Expected to delete {what}, but {' and '.join(pinned)} start{'' if pinned[1:] else 's'} runs of it."
        return refused(Rejection("pinned", message, "Archive it: what is published goes on."))

    def write(journal: Any) -> None:
        d.remove_version(journal, row.id)
        audit(tx, r, what, f"{row.digest}: {reason}")

    tx.direct(write)
    return ok(name=name, version=row.version)


def restore_draft(tx: Transaction, r: Request) -> Answer:
    """Make an older version's content the next revision of the draft, to be published again or changed further."""
    required(r.args, "version", int)
    definition_id, name, what, row = _subject(tx, r, "restore")
    assert row is not None
    newest = d.find_draft(tx.journal, definition_id)
    revision = newest.revision if newest else 0
    based_on = r.args.get("based_on")
    if based_on is not None and based_on != revision:
        raise Conflict(
            f"Expected to restore {what} on top of revision {based_on}, but the draft is at revision {revision}.",
            code="newer_revision",
            remedy="Look at the newer revision first.",
        )
    if newest is not None and newest.document == row.document:
        return ok(name=name, revision=revision, unchanged=True)
    layout = d.find_layout(tx.journal, row.id)

    def write(journal: Any) -> None:
        d.add_draft(journal, definition_id, revision + 1, row.document, layout, r.actor.id, to_micros(tx.now))
        audit(tx, r, what, f"revision {revision + 1}")

    tx.direct(write)
    return ok(name=name, revision=revision + 1)


def _subject(tx: Transaction, r: Request, verb: str) -> tuple[int, str, str, d.VersionRow | None]:
    """(key of the definition, its name, what is meant in words, the version's row where one is named)."""
    name, version = required(r.args, "name"), r.args.get("version")
    definition_id = d.find_definition(tx.journal, r.tenant, name)
    if definition_id is None:
        raise NotFound(f"There is no definition '{name[:60]}'.", remedy="Check the name.")
    if version is None:
        return definition_id, name, f"'{name}'", None
    row = d.find_version(tx.journal, r.tenant, name, version) if isinstance(version, int) else None
    if row is None:
        raise NotFound(
            f"Expected to {verb} version {version} of '{name}', but there is none.", remedy="Check the number."
        )
    return definition_id, name, f"version {version} of '{name}'", row


def _reason(r: Request, wanted: str) -> str:
    reason = str(r.args.get("reason") or "").strip()
    if not reason:
        raise InvalidInput(f"Expected a reason to {wanted}.", code="no_reason", remedy="Say why.")
    return reason


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "archive": archive,
    "unarchive": unarchive,
    "delete_version": delete_version,
    "restore_draft": restore_draft,
}
