"""States of Step Functions that do one thing: Pass, Wait, Succeed, Fail, Choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.interchange.asl_choice import condition_of
from signoff.interchange.asl_data import (
    Cel,
    Doc,
    Literal,
    in_parts,
    to_cel,
    to_template,
)
from signoff.interchange.asl_drawing import Arrival, Drawing
from signoff.interchange.asl_payload import World, dynamic, jsonata, payload, read_path
from signoff.interchange.asl_polling import POLL
from signoff.interchange.cel import both, literal, negated, path
from signoff.interchange.naming import name_of
from signoff.interchange.sketch import Node
from signoff.interchange.translated import CannotExpress

PASS, FAIL = "pass", "fail"


def draw_pass(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """A step that passes on what the state makes of its input."""
    if d.uses_jsonata(state):
        result: Doc = jsonata(state["Output"], world) if "Output" in state else world.doc
    elif "Result" in state:
        result = Literal(state["Result"])
    elif "Parameters" in state:
        result = payload(state["Parameters"], world)
    else:
        result = world.doc
    known, given = True, {}
    try:
        given = to_template(result)
    except CannotExpress as error:
        known = in_parts(result) is not None
        given = in_parts(result) or {}
        if not known:
            d.sketch.note(f"'{name}' computes something that CEL cannot ({error}): its function has to.")
    connector = PASS if known else f"python:{name_of(name)}"
    given = given if isinstance(given, dict) else {"value": given}
    if not known:
        given = d.mapping(name, result)
    node = d.sketch.step(name, {"kind": "activity", "connector": connector, "input": given})
    d.enter(name, node)
    result = result if known else Cel(path(f"steps.{node.id}", ["output"]))
    d.leave(name, state, node, replace(world, result=result))


def draw_wait(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """A wait; no seconds at all are a step that passes on."""
    seconds, at = state.get("Seconds"), state.get("Timestamp")
    if "SecondsPath" in state or (isinstance(seconds, str) and "{%" in seconds):
        doc = jsonata(seconds, world) if isinstance(seconds, str) else read_path(state["SecondsPath"], world)
        try:
            document: dict[str, Any] = {"kind": "wait", "duration": f'="PT" + string({to_cel(doc)}) + "S"'}
        except CannotExpress as error:
            d.sketch.refuse("wait", f"the wait '{name}' that depends on {error}")
            return
    elif "TimestampPath" in state or (isinstance(at, str) and "{%" in at):
        doc = jsonata(at, world) if isinstance(at, str) else read_path(state["TimestampPath"], world)
        try:
            document = {"kind": "wait", "until": f"={to_cel(doc)}"}
        except CannotExpress as error:
            d.sketch.refuse("wait", f"the wait '{name}' that depends on {error}")
            return
    elif at is not None:
        document = {"kind": "wait", "until": str(at)}
    elif seconds == 0:
        document = {"kind": "activity", "connector": PASS}
    else:
        document = {"kind": "wait", "duration": f"PT{seconds}S"}
    node = d.sketch.step(name, document)
    d.enter(name, node)
    d.leave(name, state, node, world)


def draw_succeed(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """An end."""
    node = d.sketch.point(name)
    d.enter(name, node)
    world = d.output(state, world)
    d.go(None, Arrival(node.id, "", "", world.doc, dict(world.variables), ""))


def draw_fail(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """An end that fails the run."""
    given: dict[str, Any] = {}
    for key, ours in (("Error", "error"), ("Cause", "cause")):
        if f"{key}Path" in state:
            given[ours] = d.template(name, dynamic(state[f"{key}Path"], world))
        elif key in state:
            value = state[key]
            given[ours] = d.template(name, jsonata(value, world) if d.uses_jsonata(state) else Literal(value))
    document = {"kind": "activity", "connector": FAIL, "input": given, "retry": {"max_attempts": 1}}
    node = d.sketch.step(name, document)
    d.enter(name, node)


def draw_choice(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """Conditions on the ways on; one that is not understood is left to a function."""
    rules = state.get("Choices") or []
    if not rules and "Default" not in state:
        d.sketch.refuse("choice", f"the choice '{name}' that leads nowhere")
        return
    try:
        conditions = [condition_of(r, world) for r in rules]
        node = d.sketch.point(name)
        d.enter(name, node)
    except CannotExpress as error:
        d.sketch.note(f"'{name}' depends on {error}: its function answers the name of the next state as `next`.")
        given = d.mapping(name, world.doc)
        document = {"kind": "activity", "connector": f"python:{name_of(name)}", "input": given}
        node = d.sketch.step(name, document)
        d.enter(name, node)
        conditions = [f"steps.{node.id}.output.next == {literal(str(r.get('Next')))}" for r in rules]
    before: list[str] = []
    for rule, mine in zip(rules, conditions, strict=True):
        when = both(*(negated(b) for b in before if not excludes(b, mine)), mine)
        before.append(mine)
        _decided(d, state, rule, node, world, when)
    if "Default" in state:
        rest = both(*(negated(b) for b in before))
        _decided(d, state, {**state, "Next": state["Default"]}, node, world, rest)
    elif before and not _covers(before) and POLL not in state:
        _no_choice(d, name, node, both(*(negated(b) for b in before)))


def _no_choice(d: Drawing, name: str, node: Node, when: str) -> None:
    document = {
        "kind": "activity",
        "connector": FAIL,
        "input": {"error": "States.NoChoiceMatched", "cause": ""},
        "retry": {"max_attempts": 1},
    }
    end = d.sketch.step(name, document, label=f"{name}: no choice", share="none")
    d.sketch.link(node.id, end.id, "", when)


def _decided(d: Drawing, state: dict[str, Any], rule: dict[str, Any], node: Node, world: World, when: str) -> None:
    told = {k: v for k, v in rule.items() if k in ("Assign", "Output")}
    told["QueryLanguage"] = state.get("QueryLanguage", d.language)
    after = replace(world, doc=jsonata(told["Output"], world)) if "Output" in told else world
    if "OutputPath" in state:
        after = d.output({"OutputPath": state["OutputPath"], "QueryLanguage": "JSONPath"}, after)
    variables = d.assigned(told, after)
    d.go(rule.get("Next"), Arrival(node.id, "", when, after.doc, variables, ""))


def excludes(a: str, b: str) -> bool:
    """Whether two comparisons of the same value with different literals cannot both hold."""
    left, sep, right = a.partition(" == ")
    other, also, value = b.partition(" == ")
    plain = sep and also and "&" not in a + b and "|" not in a + b and "!" not in a + b
    return (
        bool(plain)
        and left == other
        and right != value
        and right[:1] in '"tf-0123456789'
        and value[:1] in '"tf-0123456789'
    )


def _covers(conditions: list[str]) -> bool:
    """Whether one of them is simply the opposite of another."""
    return any(negated(c) in conditions for c in conditions)
