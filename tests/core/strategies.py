"""Hypothesis generators: valid definitions of every shape, and what people, workers and clocks may send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from signoff.core import commands as c
from signoff.core.definition import OUTCOMES, StepKind
from signoff.core.document import read_document
from signoff.core.implied import implied_signal
from signoff.core.states import Actor, TimerKind, waits_for_child
from signoff.core.validate import validate
from tests.core.kit import CLOCK, JSON, OPERATOR, WORKER, World, document, person

INPUT_FORM = [
    {"name": "flag", "type": "boolean"},
    {"name": "amount", "type": "number"},
    {"name": "extra", "type": "number", "required": False},
]
CONDITIONS = ("input.flag", "!input.flag", "input.amount > 10.0", "input.extra > 1.0")
KINDS = ("activity", "activity", "approval", "wait", "form", "signal", "subflow")
RETRIES: tuple[JSON, ...] = (
    {"max_attempts": 1},
    {"max_attempts": 2, "initial_s": 5.0},
    {"max_attempts": 3, "jitter": 0.5, "total_s": 120.0},
)

LADDERS: tuple[JSON, ...] = (
    {},
    {},
    {"reminders": {"every": "PT40M", "at_most": 2}},
    {"escalation": [{"after": "PT1H", "groups": ["solo"], "hand_over": True}]},
    {"reminders": {"every": "PT30M"}, "escalation": [{"after": "PT30M", "people": ["cem"]}]},
)

POLICIES: tuple[JSON, ...] = (
    {"quotas": [{"groups": ["team"], "required": 2}, {"groups": ["solo"]}]},
    {"quotas": [{"groups": ["pair"]}, {"groups": ["team"]}, {"groups": ["solo"], "when": "input.flag"}]},
    {"quotas": [{"groups": ["pair"]}, {"groups": ["team"], "required": 2}], "in_sequence": True},
    {"quotas": [{"people": ["cem"]}, {"groups": ["solo", "pair"], "required": 0}], "in_sequence": True},
    {"groups": ["team"], "required_by": "input.amount > 10.0 ? 2 : 1"},
    {"groups_by": "input.flag ? ['pair'] : ['team', 'solo']", "required": 2},
)


@st.composite
def steps(draw: st.DrawFn, number: int) -> JSON:
    id = f"s{number}"
    made: JSON = {"id": id, "kind": draw(st.sampled_from(KINDS)), "label": f"Step {number}"}
    if draw(st.booleans()):
        made["join"] = draw(st.sampled_from(["any", "cancel_rest"]))
    match made["kind"]:
        case "activity":
            made |= {"connector": "python:work", "retry": draw(st.sampled_from(RETRIES))}
            made["effect"] = draw(st.sampled_from(["idempotent", "at_most_once", "check_first"]))
            if made["effect"] == "check_first":
                made["probe"] = {"connector": "python:look", "happened": "answer.n > 3", "output": "answer"}
            elif made["effect"] == "idempotent" and draw(st.integers(0, 3)) == 0:
                made["poll"] = {"until": "answer.n > 3", "every": "PT30S", "for": "PT2M"}
            made["input"] = draw(st.sampled_from([{}, {"n": "=input.amount"}, {"n": "=input.extra + 1.0"}]))
            if draw(st.booleans()):
                made["timeouts"] = {"queue_s": 30.0}
            if draw(st.booleans()):
                made["output"] = [{"name": "n", "type": "integer"}]
            made["skip"] = draw(st.sampled_from([{}, {"allowed": False}, {"condition": "input.flag"}]))
        case "approval":
            made["groups"] = draw(st.sampled_from([["team"], ["pair"], ["solo", "pair"], ["solo"]]))
            made["required"] = draw(st.integers(0, 2)) if made["groups"] != ["solo"] else 1
            made["expires"] = draw(st.sampled_from(["", "PT2H"]))
            made["requester_may_decide"] = draw(st.booleans())
            made["skip"] = draw(st.sampled_from([{}, {"allowed": True}]))
            made |= draw(st.sampled_from(LADDERS))
            if draw(st.integers(0, 2)) == 0:
                del made["groups"], made["required"]
                made |= draw(st.sampled_from(POLICIES))
        case "subflow":
            made |= {"definition": "other", "version": 3, "digest": "sha256:" + "0" * 64}
            made["input"] = draw(st.sampled_from([{}, {"n": "=input.amount"}, {"n": "=input.extra + 1.0"}]))
        case "signal":
            made["signal"] = "paid"
            made["key"] = draw(st.sampled_from(["", "k", "=input.amount", "=input.extra"]))
            made["payload"] = draw(st.sampled_from([[], [{"name": "n", "type": "integer"}]]))
            made["expires"] = draw(st.sampled_from(["", "PT2H"]))
        case "form":
            made["groups"] = draw(st.sampled_from([["team"], ["pair"], ["solo"]]))
            made["requester"] = draw(st.booleans())
            made["fields"] = [{"name": "n", "type": "integer", "minimum": 0}]
            made["prefill"] = draw(st.sampled_from([{}, {"n": 2}, {"n": "=input.extra"}]))
            made["expires"] = draw(st.sampled_from(["", "PT2H"]))
            made |= draw(st.sampled_from(LADDERS))
        case _:
            made["duration"] = draw(st.sampled_from(["PT1H", "P1D"]))
    return made


@st.composite
def edges(draw: st.DrawFn, made: list[JSON]) -> list[JSON]:
    found: list[JSON] = []
    for target in range(1, len(made)):
        sources = draw(st.sets(st.integers(0, target - 1), max_size=3))
        for source in sorted(sources):
            outcomes = [o.value for o in OUTCOMES[_kind(made[source])]]
            on = draw(st.sampled_from(["", "", "", "any", *outcomes[1:]]))
            one: JSON = {"from": f"s{source}", "to": f"s{target}", "on": on}
            match draw(st.integers(0, 4)):
                case 0:
                    usual = [*CONDITIONS, f"steps.s{source}.outcome != 'failed'"]
                    one["when"] = draw(st.sampled_from(usual))
                case 1:
                    one["otherwise"] = True
            found.append(one)
    return found


def _kind(step: JSON) -> Any:
    return next(k for k in OUTCOMES if k.value == step["kind"])


@st.composite
def documents(draw: st.DrawFn, most: int = 6) -> JSON:
    """A valid definition; edges that validation objects to are dropped."""
    made = [draw(steps(i)) for i in range(draw(st.integers(1, most) | st.integers(3, most)))]
    policies = {"failure": draw(st.sampled_from(["stall", "stall", "fail"]))}
    doc = document(*made, edges=draw(edges(made)), input=INPUT_FORM, policies=policies)
    while True:
        definition, problems = read_document(doc)
        assert definition is not None
        assert not problems
        errors = [p for p in validate(definition) if p.severity == "error"]
        if not errors:
            return draw(with_returns(doc))
        bad = {p.edge for p in errors}
        assert bad != {""}, errors
        kept = [edge for edge in doc["edges"] if _key(edge) not in bad]
        doc = {**doc, "edges": kept}


@st.composite
def with_returns(draw: st.DrawFn, doc: JSON) -> JSON:
    """Some approvals may send the work back to steps that come before them."""
    before: dict[str, set[str]] = {s["id"]: set() for s in doc["steps"]}
    for link in sorted(doc["edges"], key=lambda x: x["to"]):
        before[link["to"]] |= {link["from"], *before[link["from"]]}
    for made in doc["steps"]:
        earlier = sorted(before[made["id"]])
        if made["kind"] in ("approval", "form") and earlier and draw(st.booleans()):
            made["returns_to"] = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=2, unique=True))
            made["max_rounds"] = 3
        others = [x["id"] for x in doc["steps"] if x["kind"] == "approval" and x["id"] in earlier]
        if made["kind"] == "approval" and others and draw(st.booleans()):
            made["deciders_differ_from"] = others[:1]
    return doc


def _key(edge: JSON) -> str:
    return f"{edge['from']}:{edge['on']}>{edge['to']}" if edge["on"] else f"{edge['from']}>{edge['to']}"


def inputs() -> st.SearchStrategy[JSON]:
    extra = st.sampled_from([None, None, 0.5, 3.0])
    return st.fixed_dictionaries({"flag": st.booleans(), "amount": st.sampled_from([5.0, 50.0]), "extra": extra})


def sensible(world: World) -> list[c.Command]:
    """What honest workers, clocks and people would send now."""
    found: list[c.Command] = []
    for i, s in world.state.steps.items():
        if s.status == "scheduled":
            found.append(c.ClaimActivity(actor=WORKER, step=i, generation=s.generation, attempt=s.attempt))
        if s.status == "running":
            found.append(world.completion(i, {"n": 3}))
            found.append(world.failure(i))
        if s.timer:
            found.append(world.timer(i))
        if s.approval and s.status == "waiting":
            shown = s.approval.shown_digest
            if world.plan.steps[i].kind is StepKind.FORM:
                found.extend(world.submission(i, who) for who in s.approval.roster)
                for to in world.plan.steps[i].config.returns_to:  # type: ignore[union-attr]
                    found.append(world.returning(i, s.approval.roster[0], to=to, shown_digest=shown))
                continue
            for who in s.approval.roster:
                found.append(world.vote(i, who, shown_digest=shown))
            found.append(world.vote(i, s.approval.roster[-1], "rejected"))
            found.extend(world.withdrawal(i, v.person) for v in s.approval.votes)
            for to in world.plan.steps[i].config.returns_to:  # type: ignore[union-attr]
                found.append(world.vote(i, s.approval.roster[0], "returned", to=to))
        if waits_for_child(s):
            found += [world.child_ended(i, x) for x in ("succeeded", "succeeded", "rejected", "failed", "cancelled")]
        if implied_signal(world.plan, world.state, i):
            found += [world.message(i), world.message(i, kept=True)]
        if s.approval and s.status == "waiting":
            found += [world.reassignment(i, "eve"), world.reassignment(i, "dan", remove=s.approval.roster[:1])]
        if s.status == "outcome_unknown":
            found.append(world.by_hand(i, {"n": 2}))
            found += [world.outcome(i, True, {"n": 1}), world.outcome(i, False)]
    for i, s in world.state.steps.items():
        if s.status in ("failed", "expired"):
            found.append(world.retry(i, seen_sequence=world.state.sequence))
            found.append(world.skip(i, output={"n": 1}))
            found.append(world.by_hand(i, {"n": 2}))
    if world.run == "paused":
        found.append(c.ResumeRun(actor=OPERATOR, reason="On we go."))
    if world.run == "stalled":
        found.append(world.edit({"flag": True, "amount": 50.0, "extra": 3.0}))
    return found


def mischief(world: World) -> Iterator[c.Command]:
    """Stale, duplicate, late, wrong, early: mostly to be refused, never to do harm."""
    yield world.start
    yield c.PauseRun(actor=OPERATOR, reason="Audit.")
    yield c.ResumeRun(actor=OPERATOR, reason="Audit over.")
    yield c.PauseRun(actor=OPERATOR, reason=" ")
    yield world.edit({"flag": False, "amount": 5.0, "extra": None}, seen_sequence=1)
    yield world.edit({"flag": "no"})
    for i, s in world.state.steps.items():
        yield world.completion(i, {"n": 4})
        yield world.completion(i, {"n": 5}, fence=s.fence - 1)
        yield world.completion(i, {"n": "text", "deep": float("nan")})
        yield world.completion(i, {"n": 5}, digest="sha256:" + "0" * 64)
        yield world.completion(i, {"n": 5}, generation=s.generation + 1)
        yield world.failure(i, "fatal", retryable=False)
        yield world.failure(i, attempt=s.attempt - 1)
        yield world.lost(i)
        yield c.ClaimActivity(actor=WORKER, step=i, generation=s.generation, attempt=s.attempt + 1)
        for kind in TimerKind:
            yield world.timer(i, kind)
        yield world.vote(i, "ANN")
        yield world.vote(i, "dan")
        yield world.vote(i, "bob", "rejected", shown_digest="sha256:" + "0" * 64)
        yield world.vote(i, "cem", "maybe")
        yield world.vote(i, "bob", "returned")
        yield world.vote(i, "ann", "returned", to="nowhere")
        yield world.vote(i, "eve", generation=s.generation - 1)
        yield replace(world.vote(i, "ann"), actor=Actor("worker", "ann"))
        yield world.child_ended(i, child="r-other")
        yield world.child_ended(i, "terminated", generation=s.generation - 1)
        yield world.message(i, key="other")
        yield world.message(i, payload={"n": "text"})
        yield world.message(i, payload={"m": 1}, kept=True)
        yield world.message(i, generation=s.generation - 1)
        yield world.submission(i, "ANN", n=3)
        yield world.submission(i, "dan")
        yield world.submission(i, "bob", n=-1)
        yield world.submission(i, "bob", m="text")
        yield replace(world.submission(i, "cem"), shown_digest="sha256:" + "0" * 64)
        yield world.returning(i, "ann", comment=" ")
        yield world.returning(i, "eve", generation=s.generation - 1)
        yield c.CheckApprovers(actor=CLOCK, step=i)
        yield world.by_hand(i)
        yield world.by_hand(i, {"n": "text"})
        yield world.withdrawal(i, "ANN")
        yield world.withdrawal(i, "dan", generation=s.generation - 1)
        yield world.reassignment(i, "EVE", remove=("bob",))
        yield world.reassignment(i, "olga", seen_sequence=1)
        yield world.reassignment(i, remove=("ann", "bob", "cem", "eve"))
        yield world.retry(i, seen_sequence=1)
        yield world.retry(i, new_effect=True)
        yield world.replay(i)
        yield world.skip(i)
        yield world.skip(i, output={"n": "text"})
        yield world.outcome(i, True, {"n": "text"})
        yield world.outcome(i, False, seen_sequence=1)
    yield world.retry("nowhere")
    yield world.skip("nowhere")
    yield world.vote(next(iter(world.state.steps)), "ann", step="nowhere")


def rare(world: World) -> list[c.Command]:
    return [
        c.PauseRun(actor=OPERATOR, reason="Audit."),
        c.PauseRun(actor=OPERATOR, reason="Another audit"),
        c.CancelRun(actor=OPERATOR, reason="No longer needed."),
        c.TerminateRun(actor=person("olga"), reason="Wrong customer."),
    ]


MOVES = (timedelta(0), timedelta(seconds=1), timedelta(seconds=40), timedelta(hours=1), timedelta(days=1))
