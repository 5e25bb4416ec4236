"""Loops of a sketch: those that lead back right behind a person become send-backs, all others are refused by name."""

from __future__ import annotations

import re
from typing import Any

from signoff.core.expression import ExpressionError, compile_expression
from signoff.core.graph import all_cycle_paths, reachable_from
from signoff.interchange.sketch import Link, Node, Sketch

_RETURNING = ("approval", "form")


def turn_loops(sketch: Sketch) -> None:
    """A way back right behind a person becomes a send-back of that step; every other loop is refused by name."""
    for _ in range(50):
        cycles = all_cycle_paths(sketch.successors())
        if not cycles:
            return
        if not any(_send_back(sketch, [*path]) for path in cycles):
            for path in cycles:
                nodes = [sketch.nodes[i] for i in path]
                first = min(range(len(nodes) - 1), key=lambda i: list(sketch.nodes).index(nodes[i].id), default=0)
                last = nodes[first - 1] if first else nodes[-2] if len(nodes) > 1 else nodes[-1]
                remedy = "Let a person send the work back, let an activity poll, or use for_each."
                sketch.refuse("loop", f"a loop from '{last.source}' to '{nodes[first].source}'", remedy)
            return


def _send_back(sketch: Sketch, path: list[str]) -> bool:
    """Cut the cycle where it leaves a person (and the points behind) for something that comes before."""
    ring = path[:-1] if len(path) > 1 and path[0] == path[-1] else path
    order = list(sketch.nodes)
    for i in sorted(ring, key=order.index, reverse=True):
        node = sketch.nodes[i]
        if node.step is None or node.step["kind"] not in _RETURNING:
            continue
        last, target = i, _next_in(ring, i)
        while sketch.nodes[target].step is None and len(sketch.out_of(target)) > 1 and target != i:
            last, target = target, _next_in(ring, target)
        rejected = all(x.on == "rejected" for x in sketch.links if (x.source, x.target) == (i, target))
        if (last == i and not rejected) or target == i:
            continue
        back = _first_step(sketch, target)
        if not back or back == i:
            continue
        cut = [x for x in sketch.links if x.source == last and x.target == target]
        siblings = [x for x in sketch.out_of(last) if x not in cut]
        if not siblings or not _comes_before(sketch, back, i, cut):
            continue
        if last != i and not _forget_answer(sketch, node, cut, siblings):
            continue
        sketch.links = [x for x in sketch.links if x not in cut]
        node.step.setdefault("returns_to", [])
        if back not in node.step["returns_to"]:
            node.step["returns_to"].append(back)
        told = f"The way back from '{node.source}' to '{sketch.nodes[back].source}' became its sending back"
        sketch.note(told + ("; rejecting ends the run." if node.step["kind"] == "approval" else "."))
        return True
    return False


def _forget_answer(sketch: Sketch, node: Node, cut: list[Link], siblings: list[Link]) -> bool:
    """Take the answers that led back out of what a form asks, so that nobody can give one that leads nowhere.

    Answers whether that was possible: the way back depends on one field of this form with few values.
    """
    assert node.step is not None
    read = {m for x in cut for m in re.findall(r"\bsteps\.(\w+)\.output\.(\w+)", x.when)}
    name = next(iter(read))[1] if len(read) == 1 else ""
    field = next((f for f in node.step.get("fields", []) if f["name"] == name), None)
    if field is None or {step for step, _ in read} != {node.id}:
        return False
    values = {"boolean": [True, False], "choice": field.get("options", [])}.get(field.get("type", "text"), [])
    try:
        left = [v for v in values if not any(_holds(x.when, node.id, name, v) for x in cut)]
    except ExpressionError:
        return False
    if not left or left == values or (len(left) > 1 and field["type"] == "boolean"):
        return False
    if len(left) > 1:
        field["options"] = left
        return True
    own = {id(x) for x in (*cut, *siblings)}
    elsewhere = str([n.step for n in sketch.nodes.values()]) + str([x.when for x in sketch.links if id(x) not in own])
    if len(siblings) > 1 or f"steps.{node.id}.output.{name}" in elsewhere:
        return False
    node.step["fields"].remove(field)
    if not node.step["fields"]:
        node.step["fields"] = [{"name": "note", "label": "Note", "type": "long_text", "required": False}]
    siblings[0].when, siblings[0].otherwise = "", False
    return True


def _holds(when: str, step: str, field: str, value: Any) -> bool:
    scope = {"input": {}, "steps": {step: {"outcome": "submitted", "output": {field: value}}}, "run": {}}
    return compile_expression(when).decide(scope)


def _comes_before(sketch: Sketch, back: str, step: str, cut: list[Link]) -> bool:
    """Whether the work passes `back` on its way to `step` without the links that are cut."""
    starts = [i for i in sketch.nodes if not sketch.into(i)]
    graph: dict[str, list[str]] = {i: [] for i in sketch.nodes}
    for x in sketch.links:
        if x not in cut and x.source != step:
            graph[x.source].append(x.target)
    return back in reachable_from(graph, starts) and step in reachable_from(graph, [back])


def _next_in(ring: list[str], node: str) -> str:
    return ring[(ring.index(node) + 1) % len(ring)]


def _first_step(sketch: Sketch, node: str) -> str:
    """The node, or the only step behind a chain of points; empty where there is none."""
    seen: set[str] = set()
    while sketch.nodes[node].step is None:
        out = sketch.out_of(node)
        if len(out) != 1 or node in seen:
            return ""
        seen.add(node)
        node = out[0].target
    return node
