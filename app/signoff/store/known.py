"""What definitions may refer to among each other: versions with what they ask for and what they start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from signoff.core.checks.surroundings import KnownDefinition, KnownVersion
from signoff.core.definition import SubflowConfig
from signoff.core.document import read_document
from signoff.store.bodies import load

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


def load_known(rows: Rows, tenant: str, cache: dict[int, KnownVersion]) -> dict[str, KnownDefinition]:
    """All published versions of a tenant by name; `cache` keeps what was read, since a version never changes."""
    listed = rows(
        "SELECT v.id, d.name, v.version, v.digest, v.archived OR d.archived FROM definition_version v"
        " JOIN definition d ON d.id = v.definition_id WHERE d.tenant=? ORDER BY d.name, v.version",
        (tenant,),
    )
    found: dict[str, tuple[dict[int, KnownVersion], list[int]]] = {}
    for key, name, number, digest, archived in listed:
        version = cache.get(key)
        if version is None or version.digest != digest:
            document = rows("SELECT document FROM definition_version WHERE id=?", (key,))[0][0]
            version = cache[key] = _version(load(document), digest)
        versions, usable = found.setdefault(name, ({}, []))
        versions[number] = version
        if not archived:
            usable.append(number)
    return {name: KnownDefinition(max(usable), versions) for name, (versions, usable) in found.items() if usable}


def _version(document: Any, digest: str) -> KnownVersion:
    definition, _ = read_document(document)
    if definition is None:
        return KnownVersion(digest)
    configs = [s.config for s in definition.steps if isinstance(s.config, SubflowConfig)]
    children = tuple((c.definition, c.version or 0) for c in configs)
    return KnownVersion(digest, definition.input, children)
