"""A machine being drawn into a sketch: ways in and out of its states, and its data as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from signoff.core.graph import topological_order
from signoff.interchange.asl_data import (
    Cel,
    Doc,
    Made,
    Many,
    Unknown,
    in_parts,
    lay_over,
    merged,
    parse_path,
    to_template,
)
from signoff.interchange.asl_payload import World, jsonata, payload, read_path
from signoff.interchange.asl_work import catches_of
from signoff.interchange.sketch import Node, Sketch
from signoff.interchange.translated import CannotExpress

_START = Cel("input.data")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A way into a state: from which node, by which outcome and condition, with which data."""

    node: str
    on: str
    when: str
    doc: Doc
    variables: dict[str, Doc]
    taken: str


Draw = Callable[["Drawing", str, dict[str, Any], World], None]


class Drawing:
    """Draws one machine, and those in its Parallel states, into a sketch."""

    def __init__(self, sketch: Sketch, language: str, kinds: Mapping[str, Draw]) -> None:
        self.kinds = kinds
        self.sketch = sketch
        self.language = language
        self.arrivals: dict[str, list[Arrival]] = {}
        self.ends: list[Arrival] = []
        self.failing: list[str] = []

    def draw(self, machine: dict[str, Any]) -> None:
        """The whole machine."""
        self.machine(machine, _START, {}, [])

    def machine(
        self, machine: dict[str, Any], doc: Doc, variables: dict[str, Doc], into: list[Arrival]
    ) -> list[Arrival]:
        """Draw the states; answers the ways out of the machine."""
        kept = self.arrivals, self.ends
        self.arrivals, self.ends = {n: [] for n in machine["States"]}, []
        start = Arrival("", "", "", doc, variables, "")
        self.arrivals[machine["StartAt"]] = into or [start]
        graph = {n: list(dict.fromkeys(_targets(s))) for n, s in machine["States"].items()}
        for name in topological_order(graph):
            if self.arrivals[name]:
                self._state(name, machine["States"][name])
            else:
                self.sketch.note(f"Nothing leads to '{name}'; left out.")
        ends = self.ends
        self.arrivals, self.ends = kept
        return ends

    def _state(self, name: str, state: dict[str, Any]) -> None:
        arrivals = self.arrivals[name]
        doc = merged([(a.taken, a.doc) for a in arrivals])
        world = World(doc, _common([a.variables for a in arrivals]))
        if "InputPath" in state:
            world = replace(world, doc=Made({}) if state["InputPath"] is None else read_path(state["InputPath"], world))
        if state.get("Credentials"):
            self.sketch.note(f"'{name}' runs under credentials of its own, which are left out.")
        draw = self.kinds.get(state["Type"])
        if draw is None:
            self.sketch.refuse("state_type", f"the state '{name}' of type '{state['Type'][:40]}'")
            return
        draw(self, name, state, world)

    def uses_jsonata(self, state: dict[str, Any]) -> bool:
        """Whether the expressions of a state are JSONata."""
        return str(state.get("QueryLanguage", self.language)) == "JSONata"

    def enter(self, name: str, node: Node) -> None:
        """Connect all ways into a state with its node."""
        for a in self.arrivals[name]:
            if a.node:
                self.sketch.link(a.node, node.id, a.on, a.when)

    def leave(self, name: str, state: dict[str, Any], node: Node, world: World, *, when: str = "") -> None:
        """After the state: its output document, its variables, and the way on."""
        on = ""
        world = self.output(state, world)
        variables = self.assigned(state, world)
        taken = f'steps.{node.id}.outcome != "not_taken"' if node.step is not None else ""
        if node.step is not None and state.get("Catch"):
            taken = f'steps.{node.id}.outcome != "failed" && steps.{node.id}.outcome != "not_taken"'
        self.go(state.get("Next"), Arrival(node.id, on, when, world.doc, variables, f"({taken})" if taken else ""))

    def go(self, target: Any, arrival: Arrival) -> None:
        """Go on to a state, or out of the machine."""
        if target:
            self.arrivals[target].append(arrival)
        else:
            self.ends.append(arrival)

    def output(self, state: dict[str, Any], world: World) -> World:
        """What a state gives: its `doc` is the next state's input."""
        result = world.result
        if self.uses_jsonata(state):
            doc = (
                jsonata(state["Output"], world) if "Output" in state else (result if result is not None else world.doc)
            )
            return replace(world, doc=doc)
        doc = world.doc
        if result is not None:
            if "ResultSelector" in state:
                selecting = replace(world, doc=result)
                result = payload(state["ResultSelector"], selecting)
            at = state.get("ResultPath", "$")
            doc = world.doc if at is None else self.laid(doc, at, result)
        out = state.get("OutputPath", "$")
        doc = Made({}) if out is None else read_path(out, replace(world, doc=doc))
        return replace(world, doc=doc)

    def laid(self, doc: Doc, at: Any, value: Doc) -> Doc:
        """A document with a result at its ResultPath."""
        try:
            parts = parse_path(str(at))
        except CannotExpress as error:
            return Unknown(str(error))
        return lay_over(doc, tuple(str(p) for p in parts), value)

    def assigned(self, state: dict[str, Any], world: World) -> dict[str, Doc]:
        """The variables after a state."""
        given = state.get("Assign") or {}
        if not isinstance(given, dict):
            return dict(world.variables)
        if self.uses_jsonata(state):
            made: Doc = jsonata(given, world)
        else:
            made = payload(given, replace(world, doc=world.result if world.result is not None else world.doc))
        members = dict(made.members) if isinstance(made, Made) else {}
        return {**world.variables, **members}

    def given(self, name: str, state: dict[str, Any], world: World, usual: Doc | None = None) -> Any:
        """What the work of a state is called with, as a mapping; what is not understood is handed on as it is."""
        if self.uses_jsonata(state):
            doc = jsonata(state["Arguments"], world) if "Arguments" in state else world.doc
        elif "Parameters" in state:
            doc = payload(state["Parameters"], world)
        else:
            doc = usual if usual is not None else world.doc
        return self.mapping(name, doc)

    def mapping(self, name: str, doc: Doc) -> dict[str, Any]:
        """A document as the mapping of a step, which is always an object."""
        made = self.template(name, doc)
        if made is None:
            return {}
        return made if isinstance(made, dict) else {"input": made}

    def template(self, name: str, doc: Doc) -> Any:
        """A document as a mapping; what CEL cannot say is left out and noted."""
        try:
            return to_template(doc)
        except CannotExpress as error:
            if (parts := in_parts(doc)) is not None:
                self.sketch.note(f"'{name}' gets its input in parts: {', '.join(parts)}.")
                return parts
            if isinstance(doc, Made):
                return {k: self.template(name, v) for k, v in doc.members.items()}
            if isinstance(doc, Many):
                return [self.template(name, v) for v in doc.items]
            self.sketch.note(f"'{name}' is called without what a definition cannot express: {error}.")
            return None

    def caught(self, name: str, state: dict[str, Any], node: Node, world: World) -> None:
        """The ways to the catchers of a state."""
        error = Made({"Error": Cel(f"steps.{node.id}.error.code"), "Cause": Cel(f"steps.{node.id}.error.message")})
        for catcher, when in catches_of(state, node.id):
            self.to_catcher(state, catcher, node, world, "failed", when, error)

    def to_catcher(
        self,
        state: dict[str, Any],
        catcher: dict[str, Any],
        node: Node,
        world: World,
        on: str,
        when: str,
        error: Doc,
    ) -> None:
        """The way to one catcher, with the error where it wants it."""
        caught = replace(world, error=error)
        if self.uses_jsonata(state):
            doc = jsonata(catcher["Output"], caught) if "Output" in catcher else error
        else:
            at = catcher.get("ResultPath", "$")
            doc = world.doc if at is None else self.laid(world.doc, at, error)
        variables = self.assigned({**catcher, "QueryLanguage": state.get("QueryLanguage", self.language)}, caught)
        taken = f'(steps.{node.id}.outcome == "{on}")'
        self.go(catcher.get("Next"), Arrival(node.id, on, when, doc, variables, taken))


def _targets(state: dict[str, Any]) -> list[str]:
    listed = [*(state.get("Choices") or ()), *(state.get("Catch") or ())]
    found = [state.get("Next"), state.get("Default"), *(x.get("Next") for x in listed)]
    return [t for t in found if t]


def _common(found: list[dict[str, Doc]]) -> dict[str, Doc]:
    """Variables that every way in agrees on."""
    first, *others = found
    return {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
