"""How long ended runs are kept: the rule of a tenant, and what a definition may ask for within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MAX_DAYS = 36_500
"""A hundred years."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The rule of a tenant, in days after a run has ended.

    Attributes:
        days: for runs whose definition asks for nothing; None keeps them for ever.
        least: no definition has its runs removed earlier; None: not earlier than `days`.
        most: no definition has its runs kept longer; None: as long as it asks for.
    """

    days: int | None = None
    least: int | None = None
    most: int | None = None


FOR_EVER = Retention()


def days_for(rule: Retention, asked: int | None) -> int | None:
    """After how many days runs of a definition are removed; None never."""
    if asked is None:
        return rule.days
    floor = rule.least if rule.least is not None else rule.days
    if floor is None:
        return None
    return max(floor, asked if rule.most is None else min(asked, rule.most))


def words_for(rule: Retention, asked: int | None) -> str:
    """Which rule that was, for people: "365 days (rule of the tenant)"."""
    days = days_for(rule, asked)
    if days is None:
        return "kept for ever"
    count = "1 day" if days == 1 else f"{days} days"
    if asked is None:
        return f"{count} (rule of the tenant)"
    if days == asked:
        return f"{count} (asked for by the definition)"
    return f"{count} (the definition asks for {asked}, the tenant allows no {'fewer' if days > asked else 'more'})"


def read_retention(document: Mapping[str, Any]) -> tuple[Retention, list[str]]:
    """The rule of its JSON form, and everything that is wrong with it."""
    known = {f.name for f in fields(Retention)}
    problems = [f"There is no '{str(name)[:40]}' in a rule of retention." for name in document if name not in known]
    found: dict[str, int] = {}
    for name in sorted(known & set(document)):
        value = document[name]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DAYS:
            problems.append(f"'{name}' must be a whole number of days from 1 to {MAX_DAYS}.")
        else:
            found[name] = value
    rule = Retention(**found)
    if rule.days is not None and rule.least is not None and rule.least > rule.days:
        problems.append("'least' is more than 'days': what the tenant itself does would not be allowed.")
    if rule.most is not None and rule.most < (rule.days or rule.least or 0):
        problems.append("'most' is less than 'days': what the tenant itself does would not be allowed.")
    return (FOR_EVER if problems else rule), problems


def write_retention(rule: Retention) -> dict[str, int]:
    """The JSON form; what is not set is left out."""
    return {f.name: v for f in fields(rule) if (v := getattr(rule, f.name)) is not None}
