"""Whether a definition handles values that must not stand in the database as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.core.definition import Definition, Field


def is_sensitive(definition: Definition) -> bool:
    """Whether any field is marked so: of the input, of an output, of a form or of a message.

    Expressions may carry a value anywhere, so that it is always the whole run that is protected.
    """
    return any(f.sensitive for f in _fields(definition))


def _fields(definition: Definition) -> Iterator[Field]:
    yield from definition.input
    for step in definition.steps:
        for name in ("output", "fields", "payload"):
            yield from getattr(step.config, name, ())
