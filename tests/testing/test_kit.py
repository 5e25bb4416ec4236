"""`signoff.testing`, used as people use it who keep definitions in a repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.connectors.call import ActivityError, Call
from signoff.core import commands as c
from signoff.core.states import Actor
from signoff.errors import InvalidInput, Refused
from signoff.testing import Answer, Choice, Script, from_history, given
from tests.arch.sources import ROOT
from tests.core.kit import activity, approval, document, form, once, signal, wait
from tests.engine.office import TENANT, ask, call, chain, open_office

PURCHASE = ROOT / "assets" / "templates" / "purchase_approval.json"
GROUPS = {"managers": ["grace"], "finance": ["mia"]}
BIG = {"item": "Desk", "supplier": "Holz AG", "cost_centre": "IT", "amount": 9000, "reason": "Broken."}


def test_a_template_from_start_to_end() -> None:
    run = given(PURCHASE, groups=GROUPS).when_started(by="dan", **BIG)
    run.answers("check_budget", {"status": 200, "body": {"available": 12000.5, "ok": True}})
    assert run.waits_for("manager_approval") == ("grace",)
    run.then(status="running", manager_approval="waiting")
    run.approves("manager_approval", "grace").approves("finance_approval", "mia")
    run.answers("place_order", {"status": 200, "body": {}}).then(status="succeeded", finance_approval="approved")
    assert run.history[0] == "Dan started the run with version 0."


def test_what_stands_otherwise_is_told_with_the_history() -> None:
    run = given(document(approval("p"))).when_started()
    wrong = (
        r"(?s)the run is running, not succeeded; step 'p' is waiting, not approved.*What happened:\n  Starter started"
    )
    with pytest.raises(AssertionError, match=wrong):
        run.then(status="succeeded", p="approved")


def test_connectors_are_called_with_the_key_and_may_fail() -> None:
    seen: list[Call] = []

    def work(call: Call) -> Any:
        seen.append(call)
        if len(seen) == 1:
            raise ActivityError("Busy.", code="busy")
        return {"n": call.input["n"] * 2}

    doc = document(
        activity("a", input={"n": "=input.n"}), approval("p"), edges="a>p", input=[{"name": "n", "type": "integer"}]
    )
    run = given(doc, connectors={"python:work": work}).when_started(n=21)
    run.then(a="retrying").passes(minutes=5).then(a="succeeded", p="waiting")
    assert run.outputs["a"] == {"n": 42}
    assert seen[0].key == seen[1].key
    assert [x.attempt for x in run.calls] == [1, 2]


def test_time_passes_and_timers_fire_in_order() -> None:
    doc = document(wait("w", "P30D"), approval("p", expires="P2D"), activity("late"), edges="p:expired>late")
    run = given(doc, connectors={"python:work": lambda call: {}}).when_started()
    run.passes(days=1).then(p="waiting", w="waiting")
    run.passes(days=1).then(p="expired", late="succeeded", w="waiting")
    run.passes(days=28).then(status="succeeded")


def test_people_reject_return_and_fill_in_and_messages_come() -> None:
    steps = [activity("a"), approval("p", returns_to=["a"]), form("f"), signal("s")]
    run = given(document(*steps, edges="a>p p>f f>s")).when_started()
    run.answers("a").returns("p", comment="Again.").answers("a").approves("p")
    run.submits("f", n=4).receives("s", n=5).then(status="succeeded", f="submitted", s="received")
    assert run.outputs["f"] == {"n": 4}
    given(document(approval("p"))).when_started().rejects("p").then(status="rejected", p="rejected")


def test_operators_and_any_command() -> None:
    run = given(document(once("a"), activity("b"), edges="a>b")).when_started()
    run.fails("a", "http_503").then(status="stalled").retries("a").answers("a").skips("b").then(status="succeeded")
    run = given(document(wait("w"))).when_started()
    run.sends(c.PauseRun(actor=Actor("person", "olga"), reason="x")).passes(days=9).then(status="paused", w="waiting")


def test_what_the_rules_refuse_is_raised() -> None:
    run = given(document(approval("p"))).when_started(by="dan")
    with pytest.raises(Refused):
        run.approves("p", "stranger")
    with pytest.raises(InvalidInput, match="Its steps are: p"):
        run.approves("nobody")
    with pytest.raises(InvalidInput, match="cannot be published"):
        given({**document(approval("p")), "edges": [{"from": "p", "to": "ghost"}]})
    with pytest.raises(Refused, match="is missing"):
        given(document(activity("a"), input=[{"name": "n"}])).when_started(input={})


def test_a_script_is_played_to_the_end() -> None:
    script = Script(answers={"a": [Answer({"n": 1})]}, choices={"p": [Choice("rejected")]})
    result = given(document(activity("a"), approval("p"), edges="a>p"), script=script).when_played()
    assert (result.status, result.outputs["a"]) == ("rejected", {"n": 1})


def test_a_real_run_is_recorded_and_played_against_another_version(tmp_path: Path) -> None:
    old = chain("buy", call("check"), ask("manager"), call("order"), input=[{"name": "amount", "type": "number"}])
    with open_office(tmp_path / "data") as office:
        office.publish(old)
        run_id = office.start("buy", amount=5)
        office.until_step(run_id, "manager", "waiting")
        office.decide(run_id, "manager", "grace")
        office.until_status(run_id, "succeeded")
        events = office.signoff.queries.list_events(TENANT, run_id)
    exported = tmp_path / "run.json"
    exported.write_text(
        json.dumps([{"at": e.at.isoformat(), "type": e.type, "step": e.step, "data": e.data} for e in events]), "utf-8"
    )
    for recording in (from_history(events), from_history(exported)):
        assert (recording.started_by, recording.outcome, recording.input["amount"]) == ("ada", "succeeded", 5.0)
        process = given(old, groups={"managers": recording.people}, script=recording.script)
        same = process.when_played(by=recording.started_by, input=recording.input)
        assert (same.status, same.outputs["order"]["step"]) == ("succeeded", "order")
        new = {**old, "steps": [*old["steps"], {"id": "w", "kind": "wait", "label": "W", "duration": "P1D"}]}
        other = given(new, groups={"managers": recording.people}, script=recording.script)
        assert other.when_played(by="ada", input=recording.input).status == "succeeded"
    with pytest.raises(InvalidInput):
        from_history([])
    with pytest.raises(InvalidInput, match="does not know"):
        from_history([{"at": "2027-01-04T09:00:00+00:00", "type": "no.such", "step": "", "data": {}}])
