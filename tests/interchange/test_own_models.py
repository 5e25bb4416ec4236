"""Small models of our own, one for each format: what they become, and that they run every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.core.script import Answer, Message
from signoff.interchange.formats import TRANSLATORS, guess_format, translate
from signoff.interchange.translated import Translated
from signoff.testing import given
from signoff.testing.process import Script
from tests.interchange.playing import play_all_ways

FOLDER = Path(__file__).with_name("models")
FILES = sorted(FOLDER.iterdir())


def model(name: str) -> Translated:
    return translate((FOLDER / name).read_text("utf-8"))


def document(name: str) -> dict[str, Any]:
    made = model(name)
    assert made.document is not None, made.refusals
    return made.document


def steps(name: str) -> dict[str, dict[str, Any]]:
    return {s["id"]: s for s in document(name)["steps"]}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_way_through_comes_to_an_end_or_waits_for_an_operator(file: Path) -> None:
    made = model(file.name)
    assert made.document is not None, made.refusals
    first, *others = play_all_ways(made.document)
    assert first.status == "succeeded", first.stopped
    assert others
    assert {p.status for p in others} <= {"succeeded", "failed", "rejected", "stalled"}, others


def test_there_is_a_model_for_each_format_and_its_format_is_seen() -> None:
    assert {guess_format(f.read_text("utf-8")) for f in FILES} == set(TRANSLATORS)


ORDER = {"data": {"amount": 20, "kind": "usual", "people": ["ann", "bob"]}}


def order(amount: float = 20, kind: str = "usual", answers: Any = None, messages: Any = None) -> Any:
    script = Script(answers={"ready": [Answer({"status": "DONE"})], **(answers or {})}, messages=messages or {})
    told = {"data": {**ORDER["data"], "amount": amount, "kind": kind}}
    return given(document("order.asl.json"), script=script).when_played(input=told)


def path(result: Any) -> list[str]:
    return [step for step, _, _ in result.path]


def test_choices_take_the_first_rule_that_holds() -> None:
    assert path(order())[:2] == ["enough", "pay"]
    assert path(order(kind="gift"))[:3] == ["enough", "wrap", "pay"]
    both = order(2000, "gift", messages={"ask_answer": [Message({"yes": True}, after=Message().after / 60)]})
    assert path(both)[:4] == ["enough", "ask", "ask_answer", "pay"]


def test_a_callback_that_fails_or_does_not_come_is_caught() -> None:
    told = {"ask_answer": [Message({"error": "Refused", "cause": "No."}, after=Message().after / 60)]}
    refused = order(2000, messages=told)
    assert (refused.status, refused.outputs["sorry"]) == ("succeeded", {"why": "Refused"})
    silent = order(2000, messages={"ask_answer": [Message(comes=False)]})
    assert (silent.status, silent.outputs["sorry"]) == ("succeeded", {"why": "States.Timeout"})


def test_errors_are_told_apart_and_retried() -> None:
    declined = order(answers={"pay": [Answer(error="CardDeclined", retryable=False)]})
    assert (declined.status, declined.outputs["sorry"]) == ("succeeded", {"why": "CardDeclined"})
    broken = order(answers={"pay": [Answer(error="Boom")]})
    assert broken.status == "failed"
    assert sum(x.wire == "activity.failed" and getattr(x, "step", "") == "pay" for x in broken.events) == 3
    assert "broken" in path(broken)
    twice = order(answers={"pay": [Answer(error="Boom"), Answer(error="Boom"), Answer({"paid": True})]})
    assert (twice.status, twice.outputs["pay"]) == ("succeeded", {"paid": True})


def test_maps_and_polling() -> None:
    polled = order(answers={"ready": [Answer({"status": "RUNNING"})] * 3 + [Answer({"status": "DONE"})]})
    assert polled.outputs["ready"] == {"status": "DONE"}
    assert len(polled.outputs["tell"]) == 2
    assert steps("order.asl.json")["ready"]["poll"]["every"] == "PT30S"


def test_data_are_followed_through_the_states() -> None:
    found = steps("order.asl.json")
    assert found["ask"]["input"] == {"Body": {"amount": "=input.data.amount", "token": "=run.id"}}
    assert found["pay"]["connector"] == "python:charge_card"
    assert found["tell"]["for_each"]["items"] == "input.data.people"


def test_a_bpmn_task_before_a_yes_or_no_gateway_is_an_approval_with_a_way_back() -> None:
    found = steps("leave.bpmn")
    assert found["ask_for_leave"]["kind"] == "form"
    approve = found["approve_the_leave"]
    assert (approve["kind"], approve["groups"], approve["expires"]) == ("approval", ["managers"], "P3D")
    assert approve["returns_to"] == ["ask_for_leave"]
    run = given(document("leave.bpmn"), groups={"managers": ["grace"]}).when_started(by="dan")
    run.submits("ask_for_leave", "dan", days=3)
    run.returns("approve_the_leave", "grace").submits("ask_for_leave", "dan", days=2)
    run.approves("approve_the_leave", "grace").fails("book_the_days", "NO_DAYS", retryable=False)
    run.then(tell_them="scheduled", two_days="not_taken")


def test_conductor_and_kestra_values_become_expressions() -> None:
    release = steps("release.conductor.json")
    assert release["build_ref"]["input"] == {"where": '="to " + string(input.target)'}
    assert release["ship_ref"]["input"] == {"number": "=steps.build_ref.output.number"}
    publish = steps("publish.kestra.yaml")
    assert publish["check"]["input"] == {"token": "secret:CHECK"}
    assert publish["each"]["for_each"] == {"items": "input.rows", "parallel": 3, "max_items": 1000}
    assert publish["ask"]["expires"] == "P2D"


def test_the_same_model_gives_the_same_definition() -> None:
    for file in FILES:
        assert model(file.name) == model(file.name)
