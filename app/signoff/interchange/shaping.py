"""From a sketch to a definition document: loops named or turned into send-backs, points folded into connections."""

from __future__ import annotations

from typing import Any

from signoff.core.definition import OUTCOMES, StepKind
from signoff.core.document import FORMAT, read_document, write_document
from signoff.core.graph import reachable_from, topological_order
from signoff.core.problem import Problem
from signoff.core.validate import validate
from signoff.interchange.cel import both, either, negated
from signoff.interchange.looping import turn_loops
from signoff.interchange.sketch import Link, Node, Sketch
from signoff.interchange.translated import Translated

PASS = "pass"


def finish(sketch: Sketch) -> Translated:
    """The document, or all refusals."""
    turn_loops(sketch)
    _drop_unreachable(sketch)
    if not sketch.refusals:
        _explicit_otherwise(sketch)
        for node in _points(sketch):
            _fold(sketch, node)
        _join_doubles(sketch)
        _bring_otherwise_back(sketch)
    steps = [n for n in sketch.nodes.values() if n.step is not None]
    if not steps and not sketch.refusals:
        sketch.refuse("no_steps", "no step that does anything", "Add a step.")
    if sketch.refusals:
        return Translated(None, tuple(sketch.refusals), tuple(sketch.notes))
    document = _document(sketch, steps)
    definition, problems = read_document(document)
    problems = (*problems, *(validate(definition) if definition is not None else ()))
    wrong = tuple(p for p in problems if p.severity == "error")
    if definition is None or wrong:
        return Translated(None, tuple(_as_refusal(p) for p in wrong), tuple(sketch.notes))
    return Translated(
        write_document(definition),
        (),
        tuple(sketch.notes),
        {n.id: n.source for n in steps},
        {n.id: n.share for n in steps if n.share},
    )


def _as_refusal(problem: Problem) -> Problem:
    if problem.code == "too_many_steps":
        count = problem.message.split(" steps")[0].rsplit(" ", 1)[-1]
        message = f"The model has {count} steps; a definition has at most 20."
        return Problem("too_many_steps", message, "Move part of it into a definition of its own.")
    return problem


def _document(sketch: Sketch, steps: list[Node]) -> dict[str, Any]:
    used = str([n.step for n in steps]) + str([x.when for x in sketch.links])
    written = [{"id": n.id, "label": n.label, **(n.step or {})} for n in steps]
    for node, step in zip(steps, written, strict=True):
        if node.join != "all":
            step["join"] = node.join
    return {
        "format": FORMAT,
        "name": sketch.name,
        "title": sketch.title,
        "description": sketch.description,
        "input": [f for n, f in sketch.inputs.items() if f"input.{n}" in used or n in sketch.kept],
        "steps": written,
        "edges": [
            {
                "from": x.source,
                "to": x.target,
                **({"on": x.on} if x.on else {}),
                **({"when": x.when} if x.when else {}),
                **({"otherwise": True} if x.otherwise else {}),
            }
            for x in sketch.links
        ],
        "policies": sketch.policies,
    }


def _drop_unreachable(sketch: Sketch) -> None:
    """What no start leads to never runs. Starts are what nothing leads to; a ring of its own has none."""
    graph = sketch.successors()
    starts = [i for i in graph if not sketch.into(i)]
    lost = [i for i in graph if i not in reachable_from(graph, starts)]
    if lost and starts:
        names = ", ".join(f"'{sketch.nodes[i].source}'" for i in lost)
        sketch.note(f"Nothing leads to {names}; left out.")
        for i in lost:
            sketch.remove(i)


def _explicit_otherwise(sketch: Sketch) -> None:
    """Write `otherwise` out as the opposite of its siblings' conditions, so that links can be folded."""
    for x in sketch.links:
        if x.otherwise:
            others = [o.when for o in sketch.out_of(x.source) if o is not x and o.when and o.on == x.on]
            x.when, x.otherwise = both(*(negated(w) for w in others)), False


def _bring_otherwise_back(sketch: Sketch) -> None:
    """Where a condition is exactly the opposite of all its siblings', people read `otherwise` more easily."""
    for node in sketch.nodes:
        by_on: dict[str, list[Link]] = {}
        for x in sketch.out_of(node):
            by_on.setdefault(x.on, []).append(x)
        for links in by_on.values():
            for x in sorted(links, key=lambda x: not x.when.startswith("!(")):
                others = [o.when for o in links if o is not x]
                if others and all(others) and x.when == both(*(negated(w) for w in others)):
                    x.when, x.otherwise = "", True
                    break


def _points(sketch: Sketch) -> list[str]:
    return [i for i in topological_order(sketch.successors()) if sketch.nodes[i].step is None]


def _fold(sketch: Sketch, name: str) -> None:
    """Take a point out and connect what was around it, or make it a step that passes on where that is needed."""
    node, into, out = sketch.nodes[name], sketch.into(name), sketch.out_of(name)
    conditional = any(x.when for x in out)
    if _must_stay(sketch, node, into, out, conditional):
        node.step = {"kind": "activity", "connector": PASS}
        return
    made = [Link(a.source, b.target, a.on, both(a.when, b.when)) for a in into for b in out if not (a.on and b.on)]
    sketch.remove(name, made)


def _must_stay(sketch: Sketch, node: Node, into: list[Link], out: list[Link], conditional: bool) -> bool:
    if node.keep and (into or out):
        return True
    if not into:
        return conditional
    if not out:  # an end: a bad outcome that leads to it is dealt with, and must still be
        return any(_is_bad(sketch, x) for x in into)
    several = len({x.source for x in into}) > 1
    if several and conditional and node.waits_for_all:
        return True
    if several and conditional:  # the condition may read what only one of the branches has
        return any(_reads_of_others(x.when, into) for x in out)
    return len(into) * len(out) > 12


def _reads_of_others(when: str, into: list[Link]) -> bool:
    return "steps." in when and any(f"steps.{x.source}." not in when for x in into)


def _is_bad(sketch: Sketch, link: Link) -> bool:
    step = sketch.nodes[link.source].step
    return step is not None and link.on not in ("", "any", OUTCOMES[StepKind(step["kind"])][0].value)


def _join_doubles(sketch: Sketch) -> None:
    """Two links between the same steps are one with either condition."""
    made: dict[tuple[str, str, str], Link] = {}
    for x in sketch.links:
        key = (x.source, x.target, x.on)
        if key in made:
            made[key].when = either(made[key].when, x.when)
        else:
            made[key] = x
    sketch.links = list(made.values())
