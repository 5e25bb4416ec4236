"""Acceptance cases about who decides and what stays on record, through REST on a real engine."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.api.test_api import PASSWORD, Desk, desk
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import PEOPLE, Clock, Office, ask, call, chain, open_office

__all__ = ["desk", "office", "shell"]

REASON = (
    'Not like this: the offer says "as agreed", but nobody agreed.\n'
    + "Second line with 'quotes', commas, and Łódź – 李.\n"
    + "The price is too high, and two more offers are missing. " * 4
).strip()


def vote(desk: Desk, who: str, run_id: str, outcome: str, comment: str = "") -> Any:
    task = desk.get(who, f"/inbox/{run_id}/manager").json()
    body = {"outcome": outcome, "generation": task.get("generation", 1), "comment": comment}
    return desk.post(who, f"/inbox/{run_id}/manager/decision", {**body, "shown_digest": task["shown_digest"]})


def inbox(desk: Desk, who: str) -> list[str]:
    return [i["run_id"] for i in desk.get(who, "/inbox").json()["items"]]


def test_c03_one_rejection_settles_three_of_three(desk: Desk) -> None:
    """C03: settled at once, the reject path runs, the others see it no more, and a late vote is refused in words."""
    document = chain("buy", ask("manager", required=3), call("order"), call("tell", join="any"))
    document["edges"] = [
        {"from": "manager", "to": "order"},
        {"from": "manager", "to": "tell", "on": "rejected"},
        {"from": "order", "to": "tell"},
    ]
    desk.office.publish(document)
    run_id = desk.office.start("buy")
    desk.office.until_step(run_id, "manager", "waiting")
    assert [inbox(desk, who) for who in ("grace", "alan", "edith")] == [[run_id]] * 3
    late = desk.get("alan", f"/inbox/{run_id}/manager").json()
    assert vote(desk, "grace", run_id, "rejected", "Too dear.").json()["step_status"] == "rejected"
    assert [inbox(desk, who) for who in ("grace", "alan", "edith")] == [[]] * 3
    desk.office.until_step(run_id, "tell", "succeeded")
    assert (desk.office.connectors.count("order"), desk.office.connectors.count("tell")) == (0, 1)
    body = {"outcome": "approved", "generation": late["generation"], "shown_digest": late["shown_digest"]}
    refused = desk.post("alan", f"/inbox/{run_id}/manager/decision", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "already_handled")
    assert "already handled by Grace" in refused.json()["title"]
    events = desk.get("katherine", f"/runs/{run_id}/events").json()
    assert [e["type"] for e in events].count("approval.decision_recorded") == 1
    assert [e["data"]["kind"] for e in events if e["type"] == "evidence.recorded"] == ["already_handled"]


def test_c09_reasons_and_reassignments_are_on_record_after_a_restart(tmp_path: Path) -> None:
    """C09, by hand: an operator hands the approval to Eve, who rejects it."""
    with open_office(tmp_path / "data") as office:
        people = {**PEOPLE, "eve": (("approver",), ()), "audrey": (("auditor",), ())}
        for login, (roles, groups) in people.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        first = Desk(office)
        office.publish(chain("buy", ask("manager")))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        body = {"step": "manager", "add": ["eve"], "remove": ["alan", "edith", "grace"], "reason": "Nobody answered."}
        assert first.post("katherine", f"/runs/{run_id}/reassign", body).status_code == 200
        assert len(REASON) >= 300
        assert vote(first, "eve", run_id, "rejected", REASON).status_code == 200
        office.until_status(run_id, "rejected")
    with open_office(tmp_path / "data") as office:
        again = Desk(office)
        events = again.get("audrey", f"/runs/{run_id}/events").json()
        opened, handed, rejected = (
            next(e for e in events if e["type"] == kind)
            for kind in ("approval.opened", "people.reassigned", "approval.decision_recorded")
        )
        assert opened["data"]["roster"] == ["alan", "edith", "grace"]
        assert handed["at"] <= rejected["at"]
        assert (handed["data"]["added"], handed["actor"]) == (["eve"], "Katherine")
        assert (rejected["actor"], rejected["data"]["comment"]) == ("Eve", REASON)
        table = again.get("audrey", f"/runs/{run_id}/events.csv").content.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(table, newline="")))
        assert any(REASON in row for row in rows)
        bundle = [json.loads(x) for x in again.get("audrey", f"/runs/{run_id}/evidence").text.splitlines()]
        assert any("Second line" in json.dumps(x) for x in bundle)


def escalating(**more: Any) -> dict[str, Any]:
    """C13: a reminder each day, and after three days the director is asked."""
    ladder = {"reminders": {"every": "P1D", "at_most": 3}, "escalation": [{"after": "P3D", "people": ["eve"], **more}]}
    document = chain("buy", ask("manager", **ladder), call("order"), call("tell", join="any"))
    document["edges"] = [
        {"from": "manager", "to": "order"},
        {"from": "manager", "to": "tell", "on": "rejected"},
        {"from": "order", "to": "tell"},
    ]
    return document


def ladder_of(events: list[dict[str, Any]]) -> list[str]:
    return [e["type"] for e in events if e["type"] in ("reminder.sent", "people.escalated")]


def test_c13_reminders_and_escalation_when_nobody_answers(tmp_path: Path) -> None:
    """C13: one reminder a day, one escalation, all audited; the director decides; the first approver is too late."""
    clock = Clock()
    with open_office(tmp_path / "data", now=clock) as office:
        for login, (roles, groups) in {**PEOPLE, "eve": (("approver",), ())}.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        office.publish(escalating())
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        for day in (1, 2, 3):
            clock.move(days=1)
            office.until(run_id, lambda v, n=day: getattr(v.state.steps["manager"].approval, "reminded", 0) == n)
        office.until(run_id, lambda v: bool(getattr(v.state.steps["manager"].approval, "escalated", ())))
        desk = Desk(office)
        events = desk.get("katherine", f"/runs/{run_id}/events").json()
        assert ladder_of(events) == ["reminder.sent"] * 3 + ["people.escalated"]
        assert events[-1]["data"]["asked"] == ["alan", "edith", "grace"]
        assert events[-1]["sentence"].endswith("so it was escalated to eve as well.")
        task = desk.get("grace", f"/inbox/{run_id}/manager").json()
        assert inbox(desk, "eve") == [run_id]
        assert vote(desk, "eve", run_id, "approved").json()["step_status"] == "succeeded"
        body = {"outcome": "rejected", "comment": "No!", "generation": task["generation"]}
        late = desk.post("grace", f"/inbox/{run_id}/manager/decision", {**body, "shown_digest": task["shown_digest"]})
        assert (late.status_code, late.json()["code"]) == (409, "already_handled")
        office.until_status(run_id, "succeeded")
        office.check_replay()


def test_c13_after_a_handover_a_late_vote_is_refused_and_kept(tmp_path: Path) -> None:
    clock = Clock()
    with open_office(tmp_path / "data", now=clock) as office:
        for login, (roles, groups) in {**PEOPLE, "eve": (("approver",), ())}.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        desk = Desk(office)
        office.publish(escalating(hand_over=True))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        told = desk.get("katherine", f"/runs/{run_id}").json()["explanation"]["steps"][0]
        assert told["next"] == "A reminder is sent at 2026-12-01 08:00 UTC. At 2026-12-03 08:00 UTC eve takes over."
        task = desk.get("grace", f"/inbox/{run_id}/manager").json()
        clock.move(days=3)
        office.until(run_id, lambda v: bool(getattr(v.state.steps["manager"].approval, "escalated", ())))
        fresh = Desk(office)  # the sessions of three days ago are over
        assert inbox(fresh, "grace") == []
        body = {"outcome": "approved", "generation": task["generation"], "shown_digest": task["shown_digest"]}
        late = fresh.post("grace", f"/inbox/{run_id}/manager/decision", body)
        assert (late.status_code, late.json()["code"]) == (409, "handed_over")
        assert fresh.get("grace", f"/inbox/{run_id}/manager").json()["why_not"].startswith("'Manager' was handed over")
        assert office.evidence(run_id) == ["handed_over"]
        assert vote(fresh, "eve", run_id, "rejected", REASON).status_code == 200
        office.until_step(run_id, "tell", "succeeded")
        office.check_replay()


def test_c13_on_the_command_line(office: Office, shell: Shell) -> None:
    """A ladder of a second: the first is reminded, the director takes over, and decides with `signoff reject`."""
    office.running.save_person("eve", name="Eve", roles=("approver",))
    document = escalating(hand_over=True)
    document["steps"][0] |= {"reminders": {"every": "PT0.2S", "at_most": 1}}
    document["steps"][0]["escalation"][0]["after"] = "PT0.4S"
    office.publish(document)
    run_id = office.start("buy")
    office.until(run_id, lambda v: bool(getattr(v.state.steps["manager"].approval, "escalated", ())))
    assert run_id not in shell.run("inbox", login="grace")
    assert "Eve is asked instead of Alan, Edith and Grace." in shell.run("run", "show", run_id)
    said = shell.run("approve", run_id, "manager", login="grace", status=1)
    assert "handed over to eve" in said
    shell.run("reject", run_id, "manager", "--comment", "Too dear.", login="eve")
    story = shell.run("run", "history", run_id)
    for words in ("reminder 1 went to alan, edith, grace", "escalated to eve, who took over", "Eve rejected 'Manager'"):
        assert words in story
    assert office.evidence(run_id) == ["handed_over"]


def test_c09_who_was_asked_first_and_to_whom_it_went_is_on_record_after_a_restart(tmp_path: Path) -> None:
    """C09: escalated to Eve, who rejects with a long reason; history and export say all of it after a restart."""
    clock = Clock()
    with open_office(tmp_path / "data", now=clock) as office:
        people = {**PEOPLE, "eve": (("approver",), ()), "audrey": (("auditor",), ())}
        for login, (roles, groups) in people.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        office.publish(escalating(hand_over=True))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        clock.move(days=3)
        office.until(run_id, lambda v: bool(getattr(v.state.steps["manager"].approval, "escalated", ())))
        assert vote(Desk(office), "eve", run_id, "rejected", REASON).status_code == 200
        office.until_step(run_id, "tell", "succeeded")
    with open_office(tmp_path / "data", now=clock) as office:
        again = Desk(office)
        events = again.get("audrey", f"/runs/{run_id}/events").json()
        opened, handed, rejected = (
            next(e for e in events if e["type"] == kind)
            for kind in ("approval.opened", "people.escalated", "approval.decision_recorded")
        )
        assert opened["data"]["roster"] == handed["data"]["asked"] == ["alan", "edith", "grace"]
        assert (handed["data"]["added"], handed["data"]["removed"]) == (["eve"], ["alan", "edith", "grace"])
        assert handed["at"].startswith("2026-12-03T08:00")
        assert (rejected["actor"], rejected["data"]["comment"]) == ("Eve", REASON)
        assert rejected["data"]["authority"] == "asked by escalation"
        bundle = [json.loads(x) for x in again.get("audrey", f"/runs/{run_id}/evidence").text.splitlines()]
        told = json.dumps(bundle)
        assert all(words in told for words in ("people.escalated", "Second line", "asked by escalation"))


def test_so_many_of_each_with_typed_decisions_over_rest(desk: Desk) -> None:
    """2 of the managers, then Eve; each fills in a cost centre, and a later step gets Eve's."""
    desk.office.running.save_person("eve", name="Eve", roles=("approver",), password=PASSWORD)
    quotas = [{"groups": ["managers"], "required": 2}, {"people": ["eve"]}]
    fields = [{"name": "cost_center", "type": "integer"}]
    step = {"id": "manager", "kind": "approval", "quotas": quotas, "in_sequence": True, "fields": fields}
    desk.office.publish(chain("buy", step, call("order", input={"n": "=steps.manager.output.values.cost_center"})))
    run_id = desk.office.start("buy")
    desk.office.until_step(run_id, "manager", "waiting")
    early = desk.get("eve", f"/inbox/{run_id}/manager").json()
    assert (early["may_decide"], inbox(desk, "eve")) == (False, [])
    assert early["why_not"] == "'Manager' has not come to you yet: 2 of managers must approve it first."
    assert early["quotas"] == [["managers", 0, 2], ["eve", 0, 1]]
    for number, who in enumerate(("grace", "alan", "eve"), 1):
        task = desk.get(who, f"/inbox/{run_id}/manager").json()
        body = {"outcome": "approved", "generation": 1, "shown_digest": task["shown_digest"]}
        path = f"/inbox/{run_id}/manager/decision"
        wrong = desk.post(who, path, body)
        assert (wrong.status_code, wrong.json()["problems"][0]["field"]) == (422, "cost_center")
        assert desk.post(who, path, {**body, "values": {"cost_center": number}}).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.office.connectors.calls[-1].input == {"n": 3}
    events = desk.get("katherine", f"/runs/{run_id}/events").json()
    kinds = [x["type"] for x in events]
    assert kinds.count("approval.decision_recorded") == 3
    asked = next(x for x in events if x["type"] == "approval.next_asked")
    assert asked["sentence"] == "'Manager' was approved by enough, so it was put before eve: eve."
    decision = next(x for x in events if x["type"] == "approval.decision_recorded")["data"]
    assert decision["definition_digest"] == desk.get("katherine", f"/runs/{run_id}").json()["digest"]
    assert decision["form_digest"].startswith("sha256:")


def test_typed_decisions_on_the_command_line(office: Office, shell: Shell) -> None:
    office.publish(chain("buy", ask("manager", fields=[{"name": "cost_center", "type": "integer"}]), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    assert "cost_center" in shell.run("approve", run_id, "manager", login="grace", status=1)
    shell.run("approve", run_id, "manager", "--values", '{"cost_center": 7}', login="grace")
    assert "Grace approved 'Manager' (cost_center: 7)." in shell.run("run", "history", run_id)


def test_c21_by_hand_is_not_skipped(desk: Desk) -> None:
    """C21, the other half: who did a failed step by hand says so, and it counts as succeeded; a reason is needed."""
    desk.office.connectors.broken.add("copy")
    copy = call("copy", "flaky", output=[{"name": "files", "type": "integer"}])
    desk.office.publish(chain("job", copy, call("tell", input={"n": "=steps.copy.output.files"})))
    run_id = desk.office.start("job")
    desk.office.until_status(run_id, "stalled")
    path, body = f"/runs/{run_id}/complete", {"step": "copy", "output": {"files": 12}}
    assert desk.post("dan", path, {**body, "reason": "x"}).status_code == 403
    assert desk.post("katherine", path, {**body, "reason": " "}).json()["code"] == "no_reason"
    assert desk.post("katherine", path, {**body, "reason": "rsync"}).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.office.connectors.calls[-1].input == {"n": 12}
    steps = {s["step"]: s for s in desk.get("katherine", f"/runs/{run_id}").json()["explanation"]["steps"]}
    assert steps["copy"]["status"] == "succeeded"
    assert "done by hand by Katherine" in steps["copy"]["sentence"]
