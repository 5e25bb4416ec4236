"""Acceptance cases about who decides and what stays on record, through REST on a real engine."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.api.test_api import PASSWORD, Desk, desk
from tests.engine.office import PEOPLE, ask, call, chain, open_office

__all__ = ["desk"]

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
    """C09, as far as it goes without escalation by the clock: an operator hands the approval to Eve, who rejects it."""
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
