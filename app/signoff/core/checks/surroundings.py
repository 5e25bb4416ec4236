"""What a definition may refer to outside itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from signoff.core.definition import Field
from signoff.core.limits import UNLIMITED, Limits


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A published version: what it asks for, and (name, version) of those whose runs it starts."""

    digest: str
    input: tuple[Field, ...] = ()
    children: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KnownDefinition:
    """A definition with published versions by number; `newest` is the newest that may be started."""

    newest: int
    versions: Mapping[int, KnownVersion]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a definition may refer to; None means "not known here, do not check"."""

    connectors: Collection[str] | None = None
    groups: Collection[str] | None = None
    group_sizes: dict[str, int] = field(default_factory=dict)
    people: Collection[str] | None = None
    definitions: Mapping[str, KnownDefinition] | None = None
    limits: Limits = UNLIMITED
