"""States of Step Functions with machines inside: Parallel and Map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.interchange.asl_data import (
    Cel,
    Doc,
    Literal,
    Made,
    Many,
    Unknown,
    merged,
    to_cel,
)
from signoff.interchange.asl_drawing import Arrival, Drawing
from signoff.interchange.asl_payload import World, jsonata, payload, read_path
from signoff.interchange.asl_work import CALLBACK, catches_of, connector_of, retry_of, timeouts_of
from signoff.interchange.cel import both, negated
from signoff.interchange.sketch import Node
from signoff.interchange.translated import CannotExpress

PASS, FAIL = "pass", "fail"


def draw_parallel(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """Branches side by side, and a join."""
    inner = payload(state["Parameters"], world) if "Parameters" in state else world.doc
    if d.uses_jsonata(state) and "Arguments" in state:
        inner = jsonata(state["Arguments"], world)
    if state.get("Retry"):
        remedy = "Let the activities of the branches try again one by one."
        d.sketch.refuse("parallel_retry", f"the Parallel state '{name}' that is begun again as a whole", remedy)
    fork = d.sketch.point(name)
    d.enter(name, fork)
    before = set(d.sketch.nodes)
    outputs: list[Doc] = []
    join = d.sketch.point(f"{name} done", label=f"{name}: all done", waits_for_all=True)
    join.source, join.share = name, "join"
    for branch in state.get("Branches") or ():
        into = [Arrival(fork.id, "", "", inner, dict(world.variables), "")]
        ends = d.machine(branch, inner, dict(world.variables), into)
        for end in ends:
            d.sketch.link(end.node, join.id, end.on, end.when)
        outputs.append(merged([(e.taken, e.doc) for e in ends]) if ends else Unknown("a branch that only fails"))
    when = _catch_branches(d, name, state, world, join, before)
    result = replace(world, result=Many(tuple(outputs)))
    d.leave(name, state, join, result, when=when)


def _catch_branches(d: Drawing, name: str, state: dict[str, Any], world: World, join: Node, before: set[str]) -> str:
    """A failure in a branch that has no handler there is the Parallel state's; answers when all went well."""
    inside = [n for i, n in d.sketch.nodes.items() if i not in before and n.step and n is not join]
    works = [n for n in inside if n.step and n.step["kind"] == "activity" and n.step["connector"] != PASS]
    loose = [n for n in works if not any(x.on == "failed" and not x.when for x in d.sketch.out_of(n.id))]
    catchers = state.get("Catch") or []
    if not catchers or not loose:
        return ""
    d.sketch.note(f"Where a branch of '{name}' fails, the others are awaited; its error is caught nevertheless.")
    for n in loose:
        handled = [x.when for x in d.sketch.out_of(n.id) if x.on == "failed"]
        error = Made({"Error": Cel(f"steps.{n.id}.error.code"), "Cause": Cel(f"steps.{n.id}.error.message")})
        for catcher, when in catches_of(state, n.id):
            not_there = both(*(negated(w) for w in handled if w), when)
            d.to_catcher(state, catcher, n, world, "failed", not_there, error)
    join.keep = True
    return both(*(f'steps.{n.id}.outcome != "failed"' for n in loose))


def draw_map(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """An activity for each item, where an iteration is one task."""
    processor = state.get("ItemProcessor") or state.get("Iterator") or {}
    states = processor.get("States") or {}
    if state.get("ItemReader"):
        d.sketch.refuse("map", f"the Map '{name}', which reads its items from a store itself")
        return
    if state.get("ItemBatcher"):
        d.sketch.refuse("map", f"the Map '{name}', which puts its items together in batches")
        return
    inner = next(iter(states.items()), ("", {"Type": ""}))
    if len(states) != 1 or inner[1]["Type"] not in ("Task", "Pass"):
        kinds = f"{len(states)} states" if len(states) != 1 else f"a {inner[1]['Type']} state"
        what = f"the Map '{name}' whose iteration has {kinds}"
        d.sketch.refuse("map", what, "Move the iteration into an activity.")
        return
    if any(k.startswith("ToleratedFailure") for k in state):
        d.sketch.note(f"'{name}' fails where any of its items fails; it tolerates none.")
    if any(k in state for k in ("ResultWriter", "Label")):
        d.sketch.note(f"'{name}' keeps its results in the run.")
    _for_each(d, name, state, inner, world)


def _for_each(d: Drawing, name: str, state: dict[str, Any], inner: tuple[str, dict[str, Any]], world: World) -> None:
    at = state.get("Items", "{% $states.input %}") if d.uses_jsonata(state) else state.get("ItemsPath", "$")
    items = jsonata(at, world) if d.uses_jsonata(state) else read_path(at, world)
    try:
        listed = to_cel(items)
    except CannotExpress as error:
        d.sketch.refuse("map", f"the Map '{name}' whose items depend on {error}")
        return
    if listed == "input.data":
        d.sketch.inputs["data"]["type"] = "list"
    item: Doc = Cel("item")
    selector = state.get("ItemSelector", state.get("Parameters"))
    mapping = replace(world, item=item)
    if selector is not None:
        item = jsonata(selector, mapping) if d.uses_jsonata(state) else payload(selector, mapping)
    work_name, work = inner
    iteration = World(item, world.variables, item=Cel("item"))
    if isinstance(work.get("InputPath"), str):
        iteration = replace(iteration, doc=read_path(work["InputPath"], iteration))
    document = _iteration(d, name, work_name, work, iteration)
    parallel = state.get("MaxConcurrency")
    fits = isinstance(parallel, int) and 1 <= parallel <= 100
    document["for_each"] = {"items": listed, "parallel": parallel if fits else 40, "max_items": 1000}
    node = d.sketch.step(name, document)
    d.enter(name, node)
    d.caught(name, state, node, world)
    d.leave(name, state, node, replace(world, result=Cel(f"steps.{node.id}.output")))


def _iteration(d: Drawing, name: str, work_name: str, work: dict[str, Any], world: World) -> dict[str, Any]:
    if work.get("Catch"):
        d.sketch.note(f"An error of an item of '{name}' is not caught in the item but fails the step.")
    if work["Type"] == "Pass":
        doc = payload(work["Parameters"], world) if "Parameters" in work else world.doc
        doc = Literal(work["Result"]) if "Result" in work else doc
        if d.uses_jsonata(work) and "Output" in work:
            doc = jsonata(work["Output"], world)
        return {"kind": "activity", "connector": PASS, "input": d.mapping(work_name, doc)}
    resource = str(work.get("Resource", ""))
    if resource.endswith(CALLBACK):
        d.sketch.refuse("map", f"the Map '{name}' whose items wait for a callback")
    return {
        "kind": "activity",
        "connector": connector_of(resource),
        "input": d.given(work_name, work, world),
        "retry": retry_of(work, d.sketch, work_name),
        "timeouts": timeouts_of(work, d.sketch, work_name),
    }
