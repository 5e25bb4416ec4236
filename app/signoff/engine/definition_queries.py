"""Reads of definitions: the list, drafts with their problems, frozen versions."""

from __future__ import annotations

from typing import Any

from signoff.core.document import read_document
from signoff.core.validate import Surroundings, validate
from signoff.engine.views import DefinitionRow, DraftView, VersionView
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
        """A published version, the newest by default."""
        found = [v for v in d.list_versions(self._reader, tenant, name) if version in (None, v[1])]
        return _version_view(found[0]) if found else None

    def list_versions(self, tenant: str, name: str) -> list[VersionView]:
        """All published versions, newest first."""
        return [_version_view(v) for v in d.list_versions(self._reader, tenant, name)]


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
