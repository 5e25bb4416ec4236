"""What the structured formats (Conductor, Kestra) share: sequences, branches, loops over lists, values in texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from signoff.interchange.asl_data import escaped
from signoff.interchange.cel import both, literal, negated, path
from signoff.interchange.naming import free_name
from signoff.interchange.sketch import Sketch
from signoff.interchange.translated import CannotExpress

MAX_DEPTH = 30


class Weaver:
    """A sketch being drawn from nested tasks. `at` is always the node after which the next task comes.

    Attributes:
        steps: foreign name of a task to the id of the step whose output stands for it.
        fields: of forms, by foreign name of the task: foreign names of fields to those of the form.
        on: the outcome to follow from `at`, where it is not the good one.
    """

    def __init__(self, sketch: Sketch, pattern: re.Pattern[str]) -> None:
        self.sketch = sketch
        self.pattern = pattern
        self.steps: dict[str, str] = {}
        self.fields: dict[str, dict[str, str]] = {}
        self.at = sketch.point("start").id
        self.on = ""
        self.over = False

    def add(self, name: str, document: dict[str, Any], *, label: str = "", share: str = "") -> str:
        """A step after the one before."""
        node = self.sketch.step(name, document, label=label, share=share)
        self._connect(node.id)
        self.steps[name] = node.id
        return node.id

    def point(self, name: str, *, waits_for_all: bool = False) -> str:
        """A point after the step before."""
        node = self.sketch.point(name, waits_for_all=waits_for_all)
        self._connect(node.id)
        return node.id

    def _connect(self, node: str) -> None:
        if not self.over:
            self.sketch.link(self.at, node, self.on)
        self.at, self.on, self.over = node, "", False

    def end(self) -> None:
        """Nothing comes after this in its branch."""
        self.over = True

    def branches(self, name: str, drawn: list[tuple[str, Callable[[], None]]], *, parallel: bool = False) -> None:
        """Draw branches from here, each with its condition, and go on behind them where any of them does."""
        fork = self.point(f"{name} fork")
        join = self.sketch.point(f"{name} join", waits_for_all=parallel)
        goes_on = False
        for number, (when, draw) in enumerate(drawn):
            begin = self.sketch.point(f"{name} branch {number + 1}")
            self.sketch.link(fork, begin.id, "", when)
            self.at, self.on, self.over = begin.id, "", False
            draw()
            if not self.over:
                self.sketch.link(self.at, join.id, self.on)
                goes_on = True
        self.at, self.on, self.over = join.id, "", not goes_on

    def cases(self, name: str, value: str, cases: dict[str, Callable[[], None]], rest: Callable[[], None]) -> None:
        """Branches by the value of an expression that gives a text, with one for all others."""
        said = [f"{value} == {literal(case)}" for case in cases]
        drawn = [(when, draw) for when, draw in zip(said, cases.values(), strict=True)]
        self.branches(name, [*drawn, (both(*(negated(s) for s in said)), rest)])

    def value(self, given: Any, resolve: Callable[[str], str], name: str) -> Any:
        """A mapping in which texts with placeholders become expressions; what is not understood stays as it is."""
        if isinstance(given, dict):
            return {str(k): self.value(v, resolve, name) for k, v in given.items()}
        if isinstance(given, list):
            return [self.value(v, resolve, name) for v in given]
        if not isinstance(given, str) or not self.pattern.search(given):
            return escaped(given)
        try:
            return f"={self.text(given, resolve)}"
        except CannotExpress as error:
            self.sketch.note(f"'{name}' gets a text as it is written, because a definition cannot express {error}.")
            return escaped(given)

    def text(self, given: str, resolve: Callable[[str], str]) -> str:
        """A text with placeholders as CEL.

        Raises:
            CannotExpress: a placeholder is more than a name.
        """
        parts: list[str] = []
        at = 0
        for match in self.pattern.finditer(given):
            parts += [literal(given[at : match.start()])] if match.start() > at else []
            parts.append(resolve(match[1].strip()))
            at = match.end()
        parts += [literal(given[at:])] if at < len(given) else []
        if len(parts) == 1:
            return parts[0]
        return " + ".join(p if p.startswith('"') else f"string({p})" for p in parts)

    def fields_of(self, name: str, wanted: list[str]) -> list[dict[str, Any]]:
        """Fields of a form for what is read of its answer; one for a note where nothing is."""
        known = self.fields.setdefault(name, {})
        for foreign in dict.fromkeys(wanted):
            known[foreign] = free_name(foreign, known.values(), "field")
        if known:
            return [{"name": ours, "label": foreign[:200], "type": "text"} for foreign, ours in known.items()]
        return [{"name": "note", "label": "Note", "type": "long_text", "required": False}]

    def output_of(self, name: str, rest: tuple[str | int, ...]) -> str:
        """The output of a task before.

        Raises:
            CannotExpress: there is none of that name.
        """
        if name not in self.steps:
            raise CannotExpress(f"the output of '{name[:60]}', which is not known here")
        if name in self.fields and rest:
            first, *others = rest
            if first not in self.fields[name]:
                raise CannotExpress(f"the answer '{first}' of '{name[:60]}'")
            rest = (self.fields[name][str(first)], *others)
        return path(f"steps.{self.steps[name]}.output", rest)
