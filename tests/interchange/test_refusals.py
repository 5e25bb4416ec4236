"""What cannot be expressed is refused by name, and nothing hostile is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.interchange import asl, bpmn, conductor, kestra
from signoff.interchange.formats import TRANSLATORS, translate
from signoff.interchange.translated import Translated

TASK = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage"}


def machine(start: str, **states: Any) -> Translated:
    return asl.translate({"StartAt": start, "States": states}, name="sample")


def process(inside: str, begin: str = "", attributes: str = "") -> Translated:
    ns = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    return bpmn.translate(f"{begin}<definitions {ns}><process id='p' {attributes}>{inside}</process></definitions>")


def flow(*pairs: str) -> str:
    made = ""
    for pair in pairs:
        source, target = pair.split(">")
        made += f"<sequenceFlow id='{source}_{target}' sourceRef='{source}' targetRef='{target}'/>"
    return made


def words(made: Translated) -> str:
    assert made.document is None
    assert made.refusals
    return " ".join(p.sentence for p in made.refusals)


LOOP = machine(
    "A",
    A={**TASK, "Next": "B"},
    B={"Type": "Choice", "Choices": [{"Variable": "$.x", "BooleanEquals": True, "Next": "A"}], "Default": "C"},
    C={"Type": "Succeed"},
)
LONG = machine("S0", **{f"S{i}": {**TASK, "Next": f"S{i + 1}"} for i in range(24)}, S24={"Type": "Succeed"})
ONE = {"StartAt": "X", "States": {"X": {"Type": "Pass", "Next": "Y"}, "Y": {"Type": "Pass", "End": True}}}
MAP = {"Type": "Map", "ItemProcessor": ONE, "End": True}
NO_END = "<startEvent id='a'/><subProcess id='s' name='Watch' triggeredByEvent='true'/>"
REMINDER = (
    "<userTask id='a' name='Sign'/><boundaryEvent id='b' name='Remind' attachedToRef='a' cancelActivity='false'>"
    "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>"
)
RING = "<startEvent id='s'/><scriptTask id='a' name='One'/><scriptTask id='b' name='Two'/>" + flow("s>a", "a>b", "b>a")
FOREVER = {"type": "DO_WHILE", "taskReferenceName": "again", "loopOver": []}
DYNAMIC = {"type": "FORK_JOIN_DYNAMIC", "taskReferenceName": "fan"}


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (LOOP, "a loop from 'B' to 'A'"),
        (LONG, "24 steps; a definition has at most 20"),
        (
            machine("M", M=MAP),
            "the Map 'M' whose iteration has 2 states",
        ),
        (process(NO_END), "the event subprocess 'Watch'"),
        (process(REMINDER), "the timer event 'Remind' beside 'Sign'"),
        (process(RING), "a loop from 'Two' to 'One'"),
        (process("<complexGateway id='g' name='Odd'/>"), "the complex gateway 'Odd'"),
        (conductor.translate({"name": "n", "tasks": [FOREVER]}), "the loop 'again'"),
        (conductor.translate({"name": "n", "tasks": [DYNAMIC]}), "only a run decides about: 'fan'"),
        (kestra.translate("id: k\ntasks:\n  - {id: w, type: io.x.LoopUntil}"), "the loop 'w'"),
    ],
)
def test_what_cannot_be_expressed_is_named(made: Translated, named: str) -> None:
    assert named in words(made)


def test_several_refusals_are_said_at_once() -> None:
    assert len(process(NO_END + REMINDER + "<complexGateway id='g'/>").refusals) == 3


BOMB = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
OUTSIDE = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"


@pytest.mark.parametrize("begin", [BOMB, OUTSIDE, "<!DOCTYPE x>"])
def test_document_types_and_entities_are_not_read(begin: str) -> None:
    assert "document type or entities" in words(process("<startEvent id='a'/>", begin))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("id: k\na: &a [1]\ntasks: *a", "kestra"),
        ("id: k\ntasks: !!python/object/apply:os.system [ls]", "kestra"),
        ("id: k\ntasks: " + "[" * 100 + "]" * 100, "kestra"),
        ("[" * 5_000, "asl"),
        ("{", "conductor"),
        ("<a>" * 500, "bpmn"),
        ("<a>\ud800</a>", "bpmn"),
        ("x" * 3_000_000, "asl"),
        ("", ""),
        ("hello", ""),
        ("{}", ""),
    ],
)
def test_what_is_hostile_or_nothing_is_said_to_be_unreadable(text: str, format: str) -> None:
    made = translate(text, format=format)
    assert made.document is None
    assert [p.code for p in made.refusals] == ["unreadable"]


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from(
    "Type Next End Choices Default Resource Catch Retry Parameters ResultPath Branches ItemProcessor StartAt States "
    "Seconds Variable StringEquals type taskReferenceName inputParameters decisionCases defaultCase forkTasks tasks id "
    "condition values cases onResume pauseDuration errors retry timeout name subWorkflowParam expression".split()
)
WORDS = st.sampled_from(
    "Pass Task Choice Map Parallel Wait Fail Succeed A B $.a $$.x SIMPLE SWITCH FORK_JOIN WAIT HUMAN x.If x.Switch "
    "x.Pause x.Parallel x.ForEach x.Dag ${a.output.b} {{inputs.a}} PT5S".split()
)
PART = st.recursive(
    VALUE | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(["A", "B"]), st.dictionaries(KEYS, PART, max_size=6), max_size=2),
    st.lists(PART, max_size=3),
)
def test_nonsense_is_refused_and_never_breaks(states: dict[str, Any], tasks: list[Any]) -> None:
    asl.translate({"StartAt": "A", "States": states})
    conductor.translate({"name": "n", "tasks": tasks})
    kestra.translate({"id": "k", "tasks": tasks, "inputs": tasks, "errors": tasks})


@settings(max_examples=100)
@given(st.text(alphabet="<>/ab='\" &;!-[]{}:,\n", max_size=80), st.sampled_from(sorted(TRANSLATORS)))
def test_any_text_gives_an_answer(text: str, format: str) -> None:
    made = translate(text, format=format)
    assert (made.document is None) == bool(made.refusals)


def test_a_document_that_is_given_is_valid() -> None:
    made = asl.translate(json.dumps({"StartAt": "A", "States": {"A": {**TASK, "End": True}}}), name="sample")
    assert made.document is not None
    assert made.origin == {"a": "A"}


def checking(*conditions: str) -> Translated:
    """Draw, then check: each flow behind the check has a condition; the first leads back to the drawing."""
    nodes = (
        "<startEvent id='s'/><userTask id='a' name='Draw'/><userTask id='b' name='Check'/><exclusiveGateway id='g'/>"
    )
    targets = ["a", *(f"e{n}" for n in range(1, len(conditions)))]
    for target, condition in zip(targets, conditions, strict=True):
        end = f"<serviceTask id='{target}' name='Go {target}'/>" if target != "a" else ""
        told = f"<conditionExpression>${{{condition}}}</conditionExpression>"
        nodes += f"{end}<sequenceFlow id='f{target}' sourceRef='g' targetRef='{target}'>{told}</sequenceFlow>"
    return process(nodes + flow("s>a", "a>b", "b>g"))


def form_of(made: Translated, step: str) -> dict[str, Any]:
    assert made.document is not None, made.refusals
    found: dict[str, Any] = next(s for s in made.document["steps"] if s["id"] == step)
    return found


def test_an_answer_that_led_back_is_not_asked_for_any_more() -> None:
    made = checking("again == true", "again == false")
    check = form_of(made, "check")
    assert check["returns_to"] == ["draw"]
    assert [f["name"] for f in check["fields"]] == ["note"]
    assert made.document is not None
    assert {"from": "check", "to": "go_e1"} in made.document["edges"]


def test_of_several_answers_only_the_one_that_led_back_goes() -> None:
    made = checking("how == 'badly'", "how == 'well'", "how == 'very well'")
    check = form_of(made, "check")
    assert (check["returns_to"], check["fields"][0]["options"]) == (["draw"], ["well", "very well"])


def test_a_way_back_that_depends_on_more_is_a_loop() -> None:
    assert "a loop from" in words(checking("score == 5", "score != 5"))
