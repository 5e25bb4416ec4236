"""Steps that start runs of other definitions: known, with what these ask for, and never in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from signoff.core.checks.ladder import check_duration
from signoff.core.checks.surroundings import KnownDefinition, Surroundings
from signoff.core.definition import Definition, Step, SubflowConfig
from signoff.core.problem import Problem

MAX_DEPTH = 5
"""Runs may start one another at most so deep."""


def check_subflows(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """Every subflow step."""
    for s in d.steps:
        if not isinstance(s.config, SubflowConfig):
            continue
        if s.config.expires:
            yield from check_duration(s, s.config.expires)
        if not s.config.definition:
            yield Problem("no_definition", f"'{s.label}' starts nothing.", "Choose a definition.", s.id)
        elif s.config.definition == d.name:
            message = f"'{s.label}' starts a run of '{d.name}', which it belongs to."
            yield Problem("subflow_cycle", message, "Choose another definition.", s.id)
        elif around.definitions is not None:
            yield from _known(d, s, s.config, around.definitions)


def _known(d: Definition, s: Step, c: SubflowConfig, known: Mapping[str, KnownDefinition]) -> Iterator[Problem]:
    found = known.get(c.definition)
    if found is None:
        names = ", ".join(sorted(set(known) - {d.name})) or "none"
        message = f"'{s.label}' starts '{c.definition[:60]}', which has no published version."
        yield Problem("unknown_definition", message, f"Published: {names}.", s.id)
        return
    version = found.versions.get(c.version or found.newest)
    if version is None:
        message = f"'{s.label}' starts version {c.version} of '{c.definition}', which does not exist."
        yield Problem("unknown_version", message, f"The newest is {found.newest}.", s.id)
        return
    for path in _paths(known, (c.definition, c.version or found.newest), (d.name,)):
        if path[-1] == d.name:
            message = f"'{s.label}' would come back to itself: {' → '.join(path)}."
            yield Problem("subflow_cycle", message, "Choose another definition or version.", s.id)
            break
        if len(path) > MAX_DEPTH + 1:
            message = f"'{s.label}' starts runs more than {MAX_DEPTH} deep: {' → '.join(path)}."
            yield Problem("too_deep", message, "Make the chain of definitions shorter.", s.id)
            break
    fields = {f.name for f in version.input}
    for name in c.input:
        if name not in fields:
            message = f"'{s.label}' gives '{name[:60]}', which '{c.definition}' does not ask for."
            yield Problem("unknown_field", message, f"It asks for: {', '.join(sorted(fields)) or 'nothing'}.", s.id)
    for f in version.input:
        if f.required and f.name not in c.input:
            message = f"'{s.label}' does not give '{f.label or f.name}', which '{c.definition}' needs."
            yield Problem("missing_field", message, f"Add '{f.name}' to its input.", s.id)


def _paths(
    known: Mapping[str, KnownDefinition], start: tuple[str, int], before: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Chains of names from the definition down, each longer than the last, cut off where they get too long."""
    name, number = start
    path = (*before, name)
    yield path
    if len(path) > MAX_DEPTH + 1 or name in before:
        return
    found = known.get(name)
    version = found.versions.get(number) if found else None
    for child in version.children if version else ():
        yield from _paths(known, child, path)
