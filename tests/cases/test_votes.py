"""Acceptance cases about counting votes and about silence, through REST and the command line on a real engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.api.test_api import PASSWORD, Desk, desk
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import PEOPLE, Clock, Office, ask, call, chain, open_office

__all__ = ["desk", "office", "shell"]


def body_of(desk: Desk, who: str, run_id: str) -> dict[str, Any]:
    task = desk.get(who, f"/inbox/{run_id}/manager").json()
    return {"outcome": "approved", "generation": task["generation"], "shown_digest": task["shown_digest"]}


def decisions(desk: Desk, run_id: str) -> list[str]:
    events = desk.get("katherine", f"/runs/{run_id}/events").json()
    return [e["actor"] for e in events if e["type"] == "approval.decision_recorded"]


def test_c01_two_approve_at_once_and_one_decision_counts(desk: Desk) -> None:
    """C01: 20 repetitions, 2 threads: one accepted decision, the other a conflict, the next step runs once."""
    desk.office.publish(chain("buy", ask("manager"), call("order")))
    runs = [desk.office.start("buy") for _ in range(20)]
    for login in ("grace", "alan", "katherine"):
        desk.as_(login)
    with ThreadPoolExecutor(2) as both:
        for run_id in runs:
            desk.office.until_step(run_id, "manager", "waiting")
            bodies = {who: body_of(desk, who, run_id) for who in ("grace", "alan")}

            def decide(who: str, run_id: str = run_id, bodies: dict[str, Any] = bodies) -> tuple[int, str]:
                answer = desk.post(who, f"/inbox/{run_id}/manager/decision", bodies[who])
                return answer.status_code, str(answer.json().get("code", ""))

            answers = sorted(both.map(decide, bodies))
            assert answers == [(200, ""), (409, "already_handled")]
    for run_id in runs:
        desk.office.until_status(run_id, "succeeded")
        assert len(decisions(desk, run_id)) == 1
        assert desk.office.evidence(run_id) == ["already_handled"]
    assert desk.office.connectors.count("order") == 20


def test_c04_one_person_twice_is_one_of_two(desk: Desk) -> None:
    """C04: from a second session and in another letter case too; the count shown is 1 of 2, and Alan completes it."""
    desk.office.publish(chain("buy", ask("manager", required=2), call("order")))
    run_id = desk.office.start("buy")
    desk.office.until_step(run_id, "manager", "waiting")
    body = body_of(desk, "grace", run_id)
    path = f"/inbox/{run_id}/manager/decision"
    assert desk.post("grace", path, body).status_code == 200
    second = desk.http.post("/session", json={"login": "GRACE", "password": PASSWORD}).json()["token"]
    for headers in (desk.as_("grace"), {"Authorization": f"Bearer {second}"}):
        again = desk.http.post(path, json=body, headers=headers)
        assert (again.status_code, again.json()["code"]) == (409, "already_decided")
    task = desk.get("alan", f"/inbox/{run_id}/manager").json()
    assert (task["given"], task["required"]) == (1, 2)
    told = desk.get("katherine", f"/runs/{run_id}").json()["explanation"]["sentence"]
    assert "(1 of 2 approvals given)" in told
    assert desk.post("alan", path, body_of(desk, "alan", run_id)).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert decisions(desk, run_id) == ["Grace", "Alan"]


def test_c04_on_the_command_line(office: Office, shell: Shell) -> None:
    office.publish(chain("buy", ask("manager", required=2), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    assert "1 of 2 approvals given" in shell.run("approve", run_id, "manager", login="grace")
    assert "already decided" in shell.run("approve", run_id, "manager", login="GRACE", status=1)
    shell.run("approve", run_id, "manager", login="alan")
    office.until_status(run_id, "succeeded")


def test_c12_silence_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    """C12: after the hour it is expired, neither approved nor rejected; nothing is ordered; no decider is named."""
    clock = Clock()
    with open_office(tmp_path / "data", now=clock) as office:
        for login, (roles, groups) in {**PEOPLE, "audrey": (("auditor",), ())}.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        office.publish(chain("buy", ask("manager", expires="PT1H"), call("order")))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        first = Desk(office)
        body = body_of(first, "grace", run_id)
        clock.move(hours=1)
        office.until_step(run_id, "manager", "expired")
        step = first.get("katherine", f"/runs/{run_id}").json()["explanation"]["steps"][0]
        assert (step["status"], step["waits_for"]) == ("expired", [])
        assert step["sentence"].endswith("nobody decided it in time.")
        late = first.post("grace", f"/inbox/{run_id}/manager/decision", body)
        assert (late.status_code, late.json()["code"]) == (409, "expired")
        events = first.get("audrey", f"/runs/{run_id}/events").json()
        expiry = next(e for e in events if e["type"] == "approval.expired")
        assert expiry["actor"] == ""
        assert not [e for e in events if e["type"] in ("approval.settled", "approval.decision_recorded")]
        assert office.connectors.count("order") == 0
        bundle = first.get("audrey", f"/runs/{run_id}/evidence").text
        assert "approval.expired" in bundle
        assert office.view(run_id).row.status == "stalled"
        office.check_replay()


def test_c12_on_the_command_line(office: Office, shell: Shell) -> None:
    office.publish(chain("buy", ask("manager", expires="PT0.2S"), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "expired")
    assert "expired" in shell.run("run", "show", run_id)
    assert "The time to decide 'Manager' is over." in shell.run("approve", run_id, "manager", login="grace", status=1)
    assert "nobody decided by" in shell.run("run", "history", run_id)
    assert office.connectors.count("order") == 0
