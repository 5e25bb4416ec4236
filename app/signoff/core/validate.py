"""Everything that is wrong with a definition, all at once (semantics §1).

The designer, the API, the CLI and publishing use this one function and therefore the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signoff.core.checks.effects import check_effects
from signoff.core.checks.expressions import check_expressions
from signoff.core.checks.names import NAME, check_fields, check_names, check_step_names
from signoff.core.checks.shape import check_edges, check_shape
from signoff.core.checks.steps import check_steps
from signoff.core.checks.subflows import check_subflows
from signoff.core.checks.surroundings import KnownDefinition, KnownVersion, Surroundings
from signoff.core.checks.times import check_times
from signoff.core.definition import Definition
from signoff.core.problem import Problem

__all__ = ["NAME", "KnownDefinition", "KnownVersion", "Surroundings", "is_publishable", "validate"]

_CHECKS: tuple[Callable[[Definition, Surroundings], Iterable[Problem]], ...] = (
    check_names,
    check_times,
    check_step_names,
    check_fields,
    check_edges,
    check_shape,
    check_expressions,
    check_steps,
    check_subflows,
    check_effects,
)

ANYWHERE = Surroundings()
"""Checks nothing that depends on what is installed or who exists."""


def validate(definition: Definition, around: Surroundings = ANYWHERE) -> tuple[Problem, ...]:
    """All problems, errors and warnings.

    Args:
        definition: read by `read_document` (whose own problems come before these).
        around: connectors, groups and people that exist.
    """
    return tuple(p for check in _CHECKS for p in check(definition, around))


def is_publishable(problems: Iterable[Problem]) -> bool:
    """True where no problem is an error."""
    return all(p.severity != "error" for p in problems)
