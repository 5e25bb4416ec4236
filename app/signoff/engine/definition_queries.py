"""Reads of definitions: the list, drafts with their problems, frozen versions."""

from __future__ import annotations

from typing import Any

from signoff.core.definition import Definition
from signoff.core.diff import Change, compare
from signoff.core.document import read_document
from signoff.core.validate import Surroundings, validate
from signoff.engine.views import DefinitionRow, DraftView, VersionView
from signoff.errors import InvalidInput, NotFound
from signoff.store.bodies import load
from signoff.store.reads import definitions as d
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros, from_micros_or_none


class DefinitionQueries:
    """The part of `Queries` about definitions."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def surroundings(self, tenant: str) -> Surroundings:
        """What definitions may refer to; filled in by `Queries`."""
        raise NotImplementedError

    def list_definitions(self, tenant: str) -> list[DefinitionRow]:
        """All definitions with their newest draft and version."""
        return [
            DefinitionRow(
                name=x[0],
                title=x[1],
                draft_revision=x[2],
                draft_by=x[3] or "",
                draft_at=from_micros_or_none(x[4]),
                latest_version=x[5],
                latest_digest=x[6] or "",
                published_at=from_micros_or_none(x[7]),
                open_runs=x[8],
                archived=bool(x[9]),
            )
            for x in d.list_definitions(self._reader, tenant)
        ]

    def find_draft(self, tenant: str, name: str) -> DraftView | None:
        """The newest revision of a draft with everything that is wrong with it."""
        found = d.find_draft(self._reader, tenant, name)
        if found is None:
            return None
        document = load(found[1])
        definition, problems = read_document(document)
        if definition is not None:
            problems = (*problems, *validate(definition, self.surroundings(tenant)))
        return DraftView(
            name, found[0], document, load(found[2]) or {}, found[3], from_micros(found[4]), definition, problems
        )

    def find_version(self, tenant: str, name: str, version: int | None = None) -> VersionView | None:
        """A published version; by default the one new runs use: the newest that is not archived, if there is one."""
        found = [v for v in d.list_versions(self._reader, tenant, name) if version in (None, v[1])]
        return _version_view(next((v for v in found if not v[7]), found[0])) if found else None

    def list_versions(self, tenant: str, name: str) -> list[VersionView]:
        """All published versions, newest first."""
        return [_version_view(v) for v in d.list_versions(self._reader, tenant, name)]

    def compare(self, tenant: str, name: str, old: int | None = None, new: int | None = None) -> tuple[Change, ...]:
        """What differs from one content of a definition to another, as changes with sentences.

        Args:
            tenant: whose definition.
            name: of the definition.
            old: a published version; the newest by default.
            new: a published version; the draft by default.

        Raises:
            NotFound: there is no such version or draft.
            InvalidInput: the draft cannot be read.
        """
        before = self.find_version(tenant, name, old)
        if before is None:
            what = f"version {old}" if old else "published version"
            raise NotFound(f"There is no {what} of '{name[:60]}'.", remedy="Check name and number.")
        return compare(before.definition, self._newer(tenant, name, new))

    def _newer(self, tenant: str, name: str, version: int | None) -> Definition:
        if version is not None:
            found = self.find_version(tenant, name, version)
            if found is None:
                raise NotFound(f"There is no version {version} of '{name[:60]}'.", remedy="Check name and number.")
            return found.definition
        draft = self.find_draft(tenant, name)
        if draft is None:
            raise NotFound(f"There is no draft '{name[:60]}'.", remedy="Save it first.")
        if draft.definition is None:
            raise InvalidInput(f"The draft of '{name[:60]}' cannot be read.", remedy="Mend it first.")
        return draft.definition


def _version_view(row: tuple[Any, ...]) -> VersionView:
    document = load(row[3])
    definition, _ = read_document(document)
    assert definition is not None
    return VersionView(
        name=row[0],
        version=row[1],
        digest=row[2],
        document=document,
        layout=load(row[4]) or {},
        definition=definition,
        published_by=row[5],
        published_at=from_micros(row[6]),
        archived=bool(row[7]),
    )
