"""Random valid definitions from a seed: 1 to 8 steps of every kind, joins, conditions, handlers, send-back."""

from __future__ import annotations

from random import Random
from typing import Any

from signoff.core.document import read_document
from signoff.core.validate import validate

JSON = dict[str, Any]
CONNECTOR = "work"
LOOK = "look"
"""Asks whether a call happened; it tells the truth."""
UNDO = "undo"
PROBE = {"connector": LOOK, "input": {"key": "=call.key"}, "happened": "answer.found", "output": "answer.given"}
OUTCOMES = {
    "activity": ("failed",),
    "approval": ("rejected", "expired"),
    "wait": (),
    "form": ("expired",),
    "signal": ("expired",),
    "subflow": ("failed", "rejected"),
}
CHILD = "child"
"""The definition whose runs are started by steps; it starts none itself."""
CONDITIONS = ("input.flag", "!input.flag", "input.amount > 10.0", "input.extra > 1.0")
INPUT = [
    {"name": "flag", "type": "boolean"},
    {"name": "amount", "type": "number"},
    {"name": "extra", "type": "number", "required": False},
]
LADDERS: tuple[JSON, ...] = (
    {},
    {},
    {"reminders": {"every": "PT30S", "at_most": 2}},
    {"escalation": [{"after": "PT45S", "groups": ["solo"], "hand_over": True}]},
    {"reminders": {"every": "PT20S"}, "escalation": [{"after": "PT20S", "people": ["cem"]}]},
)
POLICIES: tuple[JSON, ...] = (
    {"quotas": [{"groups": ["team"], "required": 2}, {"groups": ["solo"]}]},
    {"quotas": [{"groups": ["pair"]}, {"groups": ["team"]}, {"groups": ["solo"], "when": "input.flag"}]},
    {"quotas": [{"groups": ["pair"]}, {"groups": ["team", "solo"]}], "in_sequence": True},
    {"groups": ["team", "solo"], "required_by": "input.amount > 10.0 ? 2 : 1"},
    {"groups_by": "input.flag ? ['pair'] : ['team', 'solo']", "required": 2},
)
GROUPS = {"team": ("ann", "bob", "cem"), "pair": ("ann", "bob"), "solo": ("eve",)}


def draw_input(dice: Random) -> JSON:
    """An input that the form accepts; `extra` is missing half of the time."""
    return {
        "flag": dice.random() < 0.5,
        "amount": dice.choice((5.0, 50.0)),
        "extra": dice.choice((None, None, 0.5, 3.0)),
    }


def draw_document(dice: Random, name: str) -> JSON:
    """A publishable definition; edges that validation objects to are dropped."""
    count = dice.choice((1, 2, 3, 3, 4, 4, 5, 6, 8))
    steps = [_step(dice, i, name) for i in range(count)]
    edges = _edges(dice, steps)
    _returns(dice, steps, edges)
    if dice.random() < 0.06:
        steps, edges = _both_open(dice)
    policies = {"failure": dice.choice(("stall", "stall", "fail", "compensate", "compensate"))}
    if dice.random() < 0.25:
        policies |= {"deadline": dice.choice(("PT1M", "PT10M", "PT2H")), "on_deadline": dice.choice(("notify", "fail"))}
    doc = {"name": name, "title": name.title(), "input": INPUT, "steps": steps, "edges": edges, "policies": policies}
    while True:
        definition, problems = read_document(doc)
        assert definition is not None, problems
        bad = {p.edge for p in (*problems, *validate(definition)) if p.severity == "error"}
        if not bad:
            return doc
        if bad == {""}:
            for step in steps:
                step.pop("returns_to", None)
                step.pop("deciders_differ_from", None)
            bad = {_key(e) for e in edges if e.get("when") or e.get("otherwise")}
        edges = doc["edges"] = [e for e in doc["edges"] if _key(e) not in bad]


def _key(edge: JSON) -> str:
    on = edge.get("on", "")
    return f"{edge['from']}:{on}>{edge['to']}" if on else f"{edge['from']}>{edge['to']}"


def _step(dice: Random, number: int, name: str) -> JSON:
    kind = dice.choice(("activity", "activity", "activity", "approval", "approval", "wait"))
    if kind == "wait" and dice.random() < 0.7:
        kind = dice.choice(("form", "signal", "subflow") if name != CHILD else ("form", "signal"))
    made: JSON = {"id": f"s{number}", "kind": kind, "label": f"Step {number}"}
    if dice.random() < 0.4:
        made["join"] = dice.choice(("any", "cancel_rest"))
    if kind == "activity":
        attempts = dice.choice((1, 2, 2, 4))
        retry = {"max_attempts": attempts, "initial_s": dice.choice((1.0, 5.0)), "jitter": dice.choice((0.0, 0.5))}
        timeouts = {"heartbeat_s": dice.choice((10.0, 30.0)), "run_s": dice.choice((20.0, 60.0, 300.0))}
        if dice.random() < 0.2:
            timeouts["queue_s"] = 30.0
        made |= {"connector": CONNECTOR, "retry": retry, "timeouts": timeouts}
        made["effect"] = dice.choice(("idempotent", "idempotent", "at_most_once", "check_first"))
        if made["effect"] == "check_first":
            made["probe"] = PROBE
        elif made["effect"] == "idempotent" and dice.random() < 0.2:
            made["poll"] = {"until": "answer.n % 3 == 0", "every": "PT5S", "for": "PT30S"}
        elif made["effect"] == "idempotent" and dice.random() < 0.25:
            made["for_each"] = {
                "items": dice.choice(("[1, 2, 3, 4]", "[1, 2]", "[]")),
                "parallel": dice.choice((1, 2, 3)),
            }
        if dice.random() < 0.4:
            tries = {"max_attempts": dice.choice((1, 3)), "initial_s": 1.0}
            made["compensation"] = {"connector": UNDO, "retry": tries, "input": {"n": "=input.amount"}}
            if dice.random() < 0.2:
                made["compensation"]["input"] = {"n": "=input.extra + 1.0"}
        made["input"] = dice.choice(({}, {"n": "=input.amount"}, {"n": "=input.extra + 1.0"}))
        made["pool"] = dice.choice(("default", "default", "gpu"))
        if dice.random() < 0.4:
            made["output"] = [{"name": "n", "type": "integer"}]
        made["skip"] = dice.choice(({}, {"allowed": False}, {"condition": "input.flag"}))
    elif kind == "form":
        made |= {"groups": dice.choice((["team"], ["pair"])), "requester": dice.random() < 0.3}
        made["fields"] = [{"name": "n", "type": "integer", "minimum": 0}]
        made["prefill"] = dice.choice(({}, {"n": 2}, {"n": "=input.extra"}))
        made["expires"] = dice.choice(("", "", "PT2H"))
        made |= dice.choice(LADDERS)
    elif kind == "signal":
        made |= {"signal": "paid", "key": dice.choice(("", "shared", "=input.amount"))}
        made["payload"] = dice.choice(([], [{"name": "n", "type": "integer"}]))
        made["expires"] = dice.choice(("", "", "PT2H"))
    elif kind == "subflow":
        made |= {"definition": CHILD, "input": {"flag": "=input.flag", "amount": "=input.amount"}}
        if dice.random() < 0.3:
            made["input"]["extra"] = "=input.extra"
    elif kind == "approval":
        groups = dice.choice((["team"], ["pair"], ["solo", "pair"], ["solo"]))
        made |= {"groups": groups, "required": 1 if groups == ["solo"] else dice.choice((0, 1, 1, 2))}
        made["expires"] = dice.choice(("", "", "PT1M", "PT2H"))
        made["requester_may_decide"] = dice.random() < 0.3
        made["skip"] = dice.choice(({}, {"allowed": True}))
        made |= dice.choice(LADDERS)
        if dice.random() < 0.35:
            del made["groups"], made["required"]
            made |= dice.choice(POLICIES)
    else:
        made["duration"] = dice.choice(("PT5S", "PT1M", "PT1H"))
    return made


def _edges(dice: Random, steps: list[JSON]) -> list[JSON]:
    found: list[JSON] = []
    for target in range(1, len(steps)):
        many = dice.choice((0, 1, 1, 1, 2, 3))
        for source in sorted(dice.sample(range(target), min(many, target))):
            kind = steps[source]["kind"]
            edge = {"from": f"s{source}", "to": f"s{target}", "on": dice.choice(("", "", "", "any", *OUTCOMES[kind]))}
            chance = dice.random()
            if chance < 0.2:
                edge["when"] = dice.choice(CONDITIONS)
            elif chance < 0.3:
                edge["otherwise"] = True
            found.append(edge)
    return found


def _both_open(dice: Random) -> tuple[list[JSON], list[JSON]]:
    """Two approvals that are open together, which one person may not both decide."""
    asked: JSON = {"kind": "approval", "groups": ["pair"], "required": 1, "requester_may_decide": True}
    steps = [
        asked | {"id": "s0", "label": "Step 0", "required": dice.choice((1, 2))},
        {"id": "s1", "kind": "wait", "label": "Step 1", "duration": "PT5S"},
        asked
        | {"id": "s2", "label": "Step 2", "join": "any", "groups": ["pair", "solo"], "deciders_differ_from": ["s0"]},
    ]
    return steps, [{"from": "s0", "to": "s2"}, {"from": "s1", "to": "s2"}]


def _returns(dice: Random, steps: list[JSON], edges: list[JSON]) -> None:
    before: dict[str, set[str]] = {s["id"]: set() for s in steps}
    for link in sorted(edges, key=lambda e: int(e["to"][1:])):
        before[link["to"]] |= {link["from"], *before[link["from"]]}
    for made in steps:
        earlier = sorted(before[made["id"]])
        if made["kind"] not in ("approval", "form") or not earlier:
            continue
        if dice.random() < 0.5:
            made["returns_to"] = sorted(dice.sample(earlier, min(len(earlier), dice.choice((1, 1, 2)))))
            made["max_rounds"] = dice.choice((2, 3))
        others = [s["id"] for s in steps if s["kind"] == "approval" and s["id"] in earlier]
        if made["kind"] == "approval" and others and dice.random() < 0.6:
            made["deciders_differ_from"] = others[:1]
            if dice.random() < 0.5:  # so that both may be open together
                made["join"] = "any"
