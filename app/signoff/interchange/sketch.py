"""A foreign process as nodes and links, before it becomes a definition.

Translators draw a sketch; `shaping.py` takes out what does nothing by itself (gateways, starts, ends), so that
conditions stand on connections, and says which loops there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from signoff.core.problem import Problem
from signoff.interchange.naming import free_name, label_of
from signoff.interchange.translated import refused


@dataclass(slots=True)
class Node:
    """Something of the foreign model.

    Attributes:
        id: as a step's id, unique in the sketch.
        source: the name people know it by in the foreign model.
        label: what people read.
        step: the step's document without id and label; None for what does nothing by itself.
        join: how the step joins.
        share: which part of its foreign node it is, where one became several.
        waits_for_all: a join of parallel branches; what follows may read all of them.
        keep: this end must stay a step, for example because it is a result that people look for.
    """

    id: str
    source: str
    label: str
    step: dict[str, Any] | None
    join: str = "all"
    share: str = ""
    waits_for_all: bool = False
    keep: bool = False


@dataclass(slots=True)
class Link:
    """From one node to another. `otherwise` means: where no sibling's condition holds."""

    source: str
    target: str
    on: str = ""
    when: str = ""
    otherwise: bool = False


@dataclass(slots=True)
class Sketch:
    """All of it. Nodes are kept in the order in which they were drawn.

    Attributes:
        inputs: fields of the input form by name; those that nothing reads are left out, but for those of `kept`.
        wanted: their names in the foreign model.
        guessed: those whose type is not known yet.
    """

    name: str
    title: str
    nodes: dict[str, Node] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    refusals: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wanted: dict[str, str] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)

    def step(self, source: str, document: dict[str, Any], *, label: str = "", share: str = "") -> Node:
        """Add a step."""
        return self._add(source, label, document, share)

    def point(self, source: str, *, label: str = "", waits_for_all: bool = False, keep: bool = False) -> Node:
        """Add something that does nothing by itself: a gateway, a start, an end."""
        node = self._add(source, label, None, "")
        node.waits_for_all, node.keep = waits_for_all, keep
        return node

    def _add(self, source: str, label: str, document: dict[str, Any] | None, share: str) -> Node:
        name = free_name(f"{source} {share}" if share else source, self.nodes)
        node = Node(name, source, label_of(label or source, name), document, share=share)
        self.nodes[name] = node
        return node

    def link(self, source: str, target: str, on: str = "", when: str = "", otherwise: bool = False) -> None:
        """Connect two nodes."""
        self.links.append(Link(source, target, on, when, otherwise))

    def input(self, name: str, type: str = "", *, required: bool = True, **more: Any) -> str:
        """Declare an input field; answers its name as definitions allow it.

        Without a type it is a text until somewhere it is used as something else.
        """
        known = next((n for n in self.inputs if self.wanted.get(n) == name), None)
        if known is not None:
            if type and (known in self.guessed or type == "object"):
                self.inputs[known]["type"] = type
                self.guessed.discard(known)
            return known
        free = free_name(name, self.inputs, "field")
        told = {"name": free, "label": label_of(name, free), "type": type or "text", "required": required}
        self.inputs[free] = {**told, **more}
        self.wanted[free] = name
        if not type:
            self.guessed.add(free)
        return free

    def refuse(self, code: str, what: str, remedy: str = "") -> None:
        """Something cannot be expressed."""
        problem = refused(code, what, remedy) if remedy else refused(code, what)
        if problem not in self.refusals:
            self.refusals.append(problem)

    def note(self, text: str) -> None:
        """Something was approximated or left out."""
        if text not in self.notes:
            self.notes.append(text)

    def into(self, node: str) -> list[Link]:
        """Links that lead to it."""
        return [x for x in self.links if x.target == node]

    def out_of(self, node: str) -> list[Link]:
        """Links that leave it."""
        return [x for x in self.links if x.source == node]

    def successors(self) -> dict[str, list[str]]:
        """The graph."""
        graph: dict[str, list[str]] = {i: [] for i in self.nodes}
        for x in self.links:
            if x.target not in graph[x.source]:
                graph[x.source].append(x.target)
        return graph

    def remove(self, node: str, links: Iterable[Link] = ()) -> None:
        """Take a node out with all its links and put others in."""
        self.links = [x for x in self.links if node not in (x.source, x.target)] + list(links)
        del self.nodes[node]
