"""Trials: every template plays through, the clock is virtual, decisions are chosen, and recordings play again."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest

from signoff.core.definition import Definition
from signoff.core.document import read_document
from signoff.core.script import Answer, Choice, Message, Script, made_up, script_of
from signoff.core.simulate import Trial, run_trial
from tests.arch.sources import ROOT
from tests.core.kit import activity, approval, definition_of, document, edge, form, once, signal, subflow, wait

TEMPLATES = sorted((ROOT / "assets" / "templates").glob("*.json"))


def play(doc: dict[str, Any], input: dict[str, Any] | None = None, **script: Any) -> Any:
    return run_trial(Trial(definition_of(doc), input, script=Script(**script)))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda f: f.stem)
def test_every_template_plays_through_with_what_is_made_up(file: Any) -> None:
    definition, _ = read_document(json.loads(file.read_text("utf-8"))["document"])
    assert isinstance(definition, Definition)
    began = time.perf_counter()
    result = run_trial(Trial(definition))
    assert time.perf_counter() - began < 1.0
    assert result.status in ("succeeded", "stalled"), result.stopped
    assert result.path


def test_the_path_the_times_and_who_was_asked() -> None:
    doc = document(activity("a"), approval("p", expires="P3D"), wait("w", "P30D"), edges="a>p p>w")
    result = play(doc)
    assert result.status == "succeeded"
    assert [(i, how) for i, how, _ in result.path] == [("a", "succeeded"), ("p", "approved"), ("w", "elapsed")]
    assert result.took == timedelta(days=30, hours=1, seconds=1)
    (asked,) = result.asked
    assert (asked.label, asked.people) == ("P", ("Team 1", "Team 2"))
    assert asked.due == asked.at + timedelta(days=3)


def test_decisions_and_answers_are_chosen() -> None:
    doc = document(once("a"), approval("p"), activity("b"), activity("c"), edges="a>p p>b p:rejected>c")
    result = play(doc, choices={"p": [Choice("rejected")]}, answers={"c": [Answer({"n": 7})]})
    assert result.status == "succeeded"
    assert result.outputs["c"] == {"n": 7}
    assert result.not_done == ("b",)
    failed = play(doc, answers={"a": [Answer(error="http_503", message="Down.")]})
    assert failed.status == "stalled"
    assert "'A' failed: Down." in failed.stopped


def test_retries_and_send_backs_use_the_script_in_order() -> None:
    doc = document(
        activity("a", retry={"initial_s": 60.0, "jitter": 0.0}), approval("p", returns_to=["a"]), edges="a>p"
    )
    flaky = [Answer(error="boom"), Answer({"page": 1}), Answer({"page": 2})]
    result = play(doc, answers={"a": flaky}, choices={"p": [Choice("returned"), Choice("approved")]})
    assert result.status == "succeeded"
    assert result.outputs["a"] == {"page": 2}
    endless = play(doc, choices={"p": [Choice("returned")]})
    assert "last of 3" in endless.stopped


def test_nobody_decides_and_no_message_comes() -> None:
    doc = document(approval("p", expires="P1D"), activity("a"), edges="p:expired>a")
    result = play(doc, choices={"p": [Choice("nobody")]})
    assert (result.status, result.took) == ("succeeded", timedelta(days=1, seconds=1))
    waits = play(document(approval("p")), choices={"p": [Choice("nobody")]})
    assert waits.status == "running"
    assert waits.stopped
    signals = document(signal("s", expires="PT2H"), activity("a"), edges="s:expired>a")
    assert play(signals, messages={"s": [Message(comes=False)]}).status == "succeeded"


def test_forms_and_signals_are_filled_in() -> None:
    fields = [{"name": "n", "type": "integer", "minimum": 5}, {"name": "what", "type": "choice", "options": ["x", "y"]}]
    doc = document(form("f", fields=fields), signal("s", payload=fields), edges="f>s")
    result = play(doc)
    assert result.outputs == {"f": {"n": 5, "what": "x"}, "s": {"n": 5, "what": "x"}}
    chosen = play(doc, choices={"f": [Choice("submitted", values={"n": 9, "what": "y"})]})
    assert chosen.outputs["f"] == {"n": 9, "what": "y"}


def test_people_who_must_differ_are_found() -> None:
    doc = document(approval("p", required=2), approval("q", deciders_differ_from=["p"]), edges="p>q")
    assert play(doc).status == "succeeded"


def test_an_input_that_does_not_fit_is_said() -> None:
    result = play(document(activity("a"), input=[{"name": "n", "type": "number"}]), {})
    assert result.status == "refused"
    assert "is missing" in result.stopped


def test_what_is_made_up_is_valid_for_every_type() -> None:
    kinds = ("text", "long_text", "number", "integer", "boolean", "date", "choice", "list", "object")
    fields = [{"name": k, "type": k, **({"options": ["a"]} if k == "choice" else {})} for k in kinds]
    definition = definition_of(document(activity("a"), input=fields))
    assert set(made_up(definition.input)) == set(kinds)
    assert run_trial(Trial(definition)).status == "succeeded"


def test_a_trial_can_be_played_again_from_its_own_history() -> None:
    doc = document(
        activity("a", retry={"jitter": 0.0}), approval("p", required=2, returns_to=["a"]), form("f"), signal("s"),
        edges=[edge("a>p"), edge("p>f"), edge("f>s")],
    )  # fmt: skip
    first = play(
        doc,
        answers={"a": [Answer(error="boom"), Answer({"n": 1}), Answer({"n": 2})]},
        choices={"p": [Choice("approved"), Choice("returned", to="a"), Choice()], "f": [Choice(values={"n": 3})]},
    )
    assert first.status == "succeeded"
    again = run_trial(Trial(definition_of(doc), script=script_of(first.events)))
    assert again.outputs == first.outputs
    assert [e.wire for e in again.events] == [e.wire for e in first.events]
    assert again.took == first.took


def test_a_child_ends_as_the_script_says() -> None:
    doc = document(subflow("s"), activity("a"), activity("x"), edges=[edge("s>a"), edge("s:failed>x")])
    good = play(doc, answers={"s": (Answer(output={"end": {"n": 3}}),)})
    assert good.outputs["s"] == {"end": {"n": 3}}
    assert "a" in good.outputs
    bad = play(doc, answers={"s": (Answer(error="no"),)})
    assert "x" in bad.outputs
    assert "a" not in bad.outputs


def test_each_item_of_a_list_is_answered() -> None:
    each = {"for_each": {"items": "input.rows", "parallel": 2}, "input": {"n": "=item"}}
    doc = document(activity("a", **{**each, "connector": "pass"}), input=[{"name": "rows", "type": "list"}])
    assert play(doc, {"rows": [1, 2, 3]}).outputs["a"] == [{"n": 1}, {"n": 2}, {"n": 3}]
    failed = play(doc, {"rows": [1, 2]}, answers={"a": [Answer({}), Answer(error="bad", retryable=False)]})
    assert (failed.status, dict(failed.outputs)) == ("stalled", {})
    again = play(doc, {"rows": [1]}, answers={"a": [Answer(error="bad"), Answer(7)]})
    assert again.outputs["a"] == [7]


def test_pass_and_fail_do_what_they_always_do() -> None:
    end = once("b", connector="fail", input={"error": "no_stock", "cause": "=steps.a.output.why"})
    result = play(document(once("a", connector="pass", input={"why": "None is left."}), end, edges="a>b"))
    assert result.status == "stalled"
    assert result.outputs["a"] == {"why": "None is left."}
    assert "None is left." in result.stopped


def test_who_acts_at_the_very_instant_of_an_expiry_is_too_late() -> None:
    result = play(document(form("f", expires="PT1H"), once("late"), edges="f:expired>late"))
    assert (result.status, result.stopped) == ("succeeded", "")
    assert [(i, how) for i, how, _ in result.path] == [("f", "expired"), ("late", "succeeded")]
