"""Requests about definitions: drafts with revisions, publishing frozen versions, archiving."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from signoff.core.definition import Definition, Step, SubflowConfig
from signoff.core.digest import definition_digest
from signoff.core.document import read_document, write_document
from signoff.core.schema import with_listed_fields
from signoff.core.validate import NAME, KnownVersion, Surroundings, is_publishable, validate
from signoff.engine.auditing import audit
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import Conflict, InvalidInput, NotFound
from signoff.store import definitions as d
from signoff.store.bodies import dump
from signoff.store.known import load_known
from signoff.store.times import to_micros

Answer = dict[str, Any]
MAX_DRAFT_BYTES = 512_000


def handlers(connectors: Collection[str]) -> dict[str, Callable[[Transaction, Request], Answer]]:
    """Handlers by request name.

    Args:
        connectors: names of what is installed; publishing checks activities against it.
    """
    known: dict[int, KnownVersion] = {}

    def publish(tx: Transaction, r: Request) -> Answer:
        return _publish(tx, r, connectors, known)

    return {"create_draft": create_draft, "save_draft": save_draft, "publish": publish}


def _checked(r: Request) -> tuple[dict[str, Any], dict[str, Any]]:
    document, layout = required(r.args, "document", dict), r.args.get("layout") or {}
    if not isinstance(layout, dict) or len(dump(document)) + len(dump(layout)) > MAX_DRAFT_BYTES:
        raise InvalidInput("The draft is larger than 500 kB.", code="too_large", remedy="Shorten its texts.")
    return with_listed_fields(document), layout


def create_draft(tx: Transaction, r: Request) -> Answer:
    """Store a new definition's first draft."""
    document, layout = _checked(r)
    name = document.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"'{str(name)[:60]}' is not a name for a definition.",
            code="bad_name",
            remedy="Use a lower-case letter, then lower-case letters, digits and underscores, at most 63.",
        )
    if d.find_definition(tx.journal, r.tenant, name) is not None:
        raise Conflict(
            f"Expected to create '{name}', but a definition of that name exists.",
            code="name_taken",
            remedy="Open it, or choose another name.",
        )
    title = str(document.get("title") or name)[:400]

    def write(journal: Any) -> None:
        definition_id = d.add_definition(journal, r.tenant, name, title)
        d.add_draft(journal, definition_id, 1, document, layout, r.actor.id, to_micros(tx.now))
        audit(tx, r, name, "revision 1")

    tx.direct(write)
    return ok(name=name, revision=1)


def save_draft(tx: Transaction, r: Request) -> Answer:
    """Append a revision, if it is based on the newest one."""
    name, based_on = required(r.args, "name"), required(r.args, "based_on", int)
    document, layout = _checked(r)
    definition_id = d.find_definition(tx.journal, r.tenant, name)
    newest = d.find_draft(tx.journal, definition_id) if definition_id is not None else None
    if definition_id is None or newest is None:
        raise NotFound(f"There is no draft '{name[:60]}'.", remedy="Create it first.")
    if document.get("name") != name:
        raise InvalidInput(
            f"The draft '{name}' cannot be renamed to '{str(document.get('name'))[:60]}'.",
            code="renamed",
            remedy="Create a definition under the new name.",
        )
    if newest.document == document and newest.layout == layout:
        return ok(name=name, revision=newest.revision, unchanged=True)
    if newest.revision != based_on:
        who = tx.directory(r.tenant)[0].people.get(newest.saved_by, newest.saved_by)
        raise Conflict(
            f"Expected to save '{name}' based on revision {based_on}, but {who} has saved revision {newest.revision}.",
            code="newer_revision",
            remedy="Your changes are still here: look at the newer revision, then bring over what you need.",
        )
    revision = newest.revision + 1

    def write(journal: Any) -> None:
        d.add_draft(journal, definition_id, revision, document, layout, r.actor.id, to_micros(tx.now))
        audit(tx, r, name, f"revision {revision}")

    tx.direct(write)
    return ok(name=name, revision=revision)


def _publish(tx: Transaction, r: Request, connectors: Collection[str], known: dict[int, KnownVersion]) -> Answer:
    """Freeze a revision of the draft; the same content gives the same version back."""
    name, revision = required(r.args, "name"), required(r.args, "revision", int)
    definition_id = d.find_definition(tx.journal, r.tenant, name)
    draft = d.find_draft(tx.journal, definition_id, revision) if definition_id is not None else None
    if definition_id is None or draft is None:
        raise NotFound(f"There is no revision {revision} of a draft '{name[:60]}'.", remedy="Save it first.")
    definition, problems = read_document(draft.document)
    if definition is not None:
        directory, _ = tx.directory(r.tenant)
        around = Surroundings(
            connectors=connectors,
            groups=set(directory.groups),
            group_sizes={g: len(m) for g, m in directory.groups.items()},
            people=set(directory.people),
            definitions=load_known(tx.journal.rows, r.tenant, known),
            limits=tx.usage.limits(r.tenant),
        )
        problems = (*problems, *validate(definition, around))
        definition = _pinned(definition, around)
    if definition is None or not is_publishable(problems):
        bad = [p for p in problems if p.severity == "error"]
        message = (
            f"Expected to publish '{name}', but it has {len(bad)} problem{'s' if len(bad) != 1 else ''}: "
            + " ".join(p.sentence for p in bad)
        )
        raise InvalidInput(message, code="not_valid", remedy="", problems=tuple(problems))
    digest = definition_digest(definition)
    same = d.find_digest(tx.journal, definition_id, digest)
    if same is not None:
        if same.archived:
            tx.direct(lambda journal: _take_back(journal, tx, r, definition_id, same.version))
        return ok(name=name, version=same.version, digest=digest, created=False)

    def write(journal: Any) -> int:
        version = d.add_version(
            journal,
            r.tenant,
            definition_id,
            digest,
            write_document(definition),
            draft.layout,
            r.actor.id,
            to_micros(tx.now),
        )
        audit(tx, r, name, f"version {version} {digest}")
        return version

    return ok(name=name, version=tx.direct(write), digest=digest, created=True)


def _pinned(definition: Definition, around: Surroundings) -> Definition:
    """With the version and digest of every subflow written down, so that a frozen version always starts the same."""

    def pinned(s: Step) -> Step:
        found = (around.definitions or {}).get(s.config.definition) if isinstance(s.config, SubflowConfig) else None
        if not isinstance(s.config, SubflowConfig) or found is None:
            return s
        number = s.config.version or found.newest
        version = found.versions.get(number)
        return replace(s, config=replace(s.config, version=number, digest=version.digest if version else ""))

    return replace(definition, steps=tuple(pinned(s) for s in definition.steps))


def _take_back(journal: Any, tx: Transaction, r: Request, definition_id: int, version: int) -> None:
    """Publishing the content of an archived version once more takes its archiving back."""
    d.set_archived(journal, definition_id, None, False)
    d.set_archived(journal, definition_id, version, False)
    audit(tx, r, str(r.args.get("name")), f"version {version} was published again", action="unarchive")
