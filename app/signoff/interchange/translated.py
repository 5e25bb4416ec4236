"""What a translator gives: a definition document, or everything that stands in its way, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from signoff.core.problem import Problem

MAX_CHARS = 2_000_000
"""A longer text is not read."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The outcome of a translation.

    Attributes:
        document: as `read_document` reads it; None where something was refused.
        refusals: what cannot be expressed, each by name; empty where there is a document.
        notes: what was approximated, left out or has to be supplied, in sentences.
        origin: step id to the name it had in the foreign model.
        shares: step id to how its foreign name became several steps, for example `answer` of a call with a callback.
    """

    document: dict[str, Any] | None
    refusals: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[str, str] = field(default_factory=dict)


class CannotExpress(Exception):
    """Something of the foreign model has no counterpart; the message names it and is a sentence without its stop."""


class Unreadable(Exception):
    """The text is not of the format at all."""


def refused(code: str, what: str, remedy: str = "Model this part in another way, or by hand.") -> Problem:
    """A refusal; `what` names the construct, for example `a loop from 'Ask' to 'Check'`."""
    return Problem(code, f"The model has {what}, which a definition cannot express.", remedy)


def unreadable(why: str) -> Translated:
    """Nothing could be read."""
    return Translated(None, (Problem("unreadable", f"The model cannot be read: {why}.", "Check the file."),))


def of_any_form[**P](translate: Callable[P, Translated]) -> Callable[P, Translated]:
    """Models come from anywhere: one with a part of another form than its format says is unreadable, not a fault."""

    @wraps(translate)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Translated:
        try:
            return translate(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
            return unreadable("a part of it has another form than the format says")

    return guarded
