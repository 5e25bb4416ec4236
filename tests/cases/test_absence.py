"""Somebody decides for somebody who is absent, through REST and the command line, on a real engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from signoff import errors
from tests.api.test_api import PASSWORD, Desk, desk
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import TENANT, Office, ask, call, chain, person

__all__ = ["desk", "office", "shell"]


def days(n: float) -> str:
    return (datetime.now(UTC) + timedelta(days=n)).isoformat()


def waiting(office: Office, **more: Any) -> str:
    office.publish(chain("buy", ask("manager", **more), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    return run_id


def test_eve_sees_and_decides_what_grace_is_asked(desk: Desk) -> None:
    desk.office.running.save_person("eve", name="Eve", roles=("approver",), password=PASSWORD)
    run_id = waiting(desk.office)
    path = f"/inbox/{run_id}/manager"
    assert desk.get("eve", path).status_code == 404
    made = desk.post("grace", "/absences", {"delegate": "eve", "ends": days(3), "reason": "Holiday"})
    assert (made.status_code, made.json()["person"]) == (201, "grace")
    (item,) = desk.get("eve", "/inbox").json()["items"]
    assert (item["on_behalf_of"], item["on_behalf_of_name"], item["may_decide"]) == ("grace", "Grace", True)
    assert desk.get("eve", f"/runs/{run_id}").status_code == 200
    body = {"outcome": "approved", "generation": 1, "shown_digest": item["shown_digest"]}
    assert desk.post("eve", f"{path}/decision", body).json()["code"] == "not_an_approver"
    done = desk.post("eve", f"{path}/decision", {**body, "on_behalf_of": "grace"})
    assert done.status_code == 200, done.text
    desk.office.until_status(run_id, "succeeded")
    events = desk.get("katherine", f"/runs/{run_id}/events").json()
    decision = next(x for x in events if x["type"] == "approval.decision_recorded")
    assert decision["actor"] == "Eve on behalf of Grace"
    told = decision["data"]
    assert (told["on_behalf_of"], told["delegation"]["reason"]) == ("grace", "Holiday")
    signed = told["signed_in"]
    assert (signed["method"], len(signed["session"])) == ("password", 16)
    assert datetime.fromisoformat(signed["at"]) <= datetime.now(UTC)
    assert signed["address"]
    desk.office.check_replay()


def test_it_ends_when_it_is_revoked_and_never_makes_two_of_one(desk: Desk) -> None:
    desk.office.running.save_person("eve", name="Eve", roles=("approver",), password=PASSWORD)
    run_id = waiting(desk.office, required=2)
    numbers = {}
    for who in ("grace", "alan"):
        numbers[who] = desk.post(who, "/absences", {"delegate": "eve", "ends": days(1)}).json()["id"]
    task = desk.get("eve", f"/inbox/{run_id}/manager").json()
    body = {"outcome": "approved", "generation": 1, "shown_digest": task["shown_digest"]}
    path = f"/inbox/{run_id}/manager/decision"
    assert desk.post("eve", path, {**body, "on_behalf_of": "alan"}).status_code == 200
    second = desk.post("eve", path, {**body, "on_behalf_of": "grace"})
    assert (second.status_code, second.json()["code"]) == (409, "counted_already")
    assert desk.get("eve", "/inbox").json()["items"] == []
    assert desk.http.delete(f"/absences/{numbers['alan']}", headers=desk.as_("grace")).status_code == 404
    assert desk.http.delete(f"/absences/{numbers['alan']}", headers=desk.as_("alan")).json()["revoked"]
    third = desk.post("eve", path, {**body, "on_behalf_of": "alan"})
    assert third.json()["code"] == "not_standing_in"
    assert desk.post("edith", path, body).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.office.evidence(run_id) == ["counted_already", "not_standing_in"]
    own = desk.get("alan", "/absences?everything=true").json()["own"]
    assert [(a["status"], a["revoked_by"]) for a in own] == [("revoked", "alan")]


@pytest.mark.parametrize(
    ("who", "more", "code"),
    [
        ("grace", {"delegate": "grace"}, "invalid_input"),
        ("grace", {"delegate": "ghost"}, "invalid_input"),
        ("grace", {"delegate": "robot"}, "invalid_input"),
        ("grace", {"ends": "yesterday"}, "invalid_input"),
        ("grace", {"ends": "2100-01-01T00:00:00"}, "invalid_input"),
        ("grace", {"ends": days(-1)}, "invalid_input"),
        ("grace", {"ends": days(500)}, "invalid_input"),
        ("grace", {"delegate": "alan"}, "delegate_absent"),
        ("alan", {"delegate": "edith"}, "absence_overlaps"),
        ("grace", {"person": "edith", "reason": "I say so"}, "forbidden"),
        ("root", {"person": "grace"}, "no_reason"),
        ("root", {"person": "ghost", "reason": "x"}, "not_found"),
    ],
)
def test_what_cannot_be_recorded(desk: Desk, who: str, more: dict[str, Any], code: str) -> None:
    """Alan is absent already, and Edith decides for him: he can be named by nobody, so there is no circle."""
    running = desk.office.running
    running.save_person("root", name="Root", roles=("administrator",), password=PASSWORD)
    running.save_person("robot", name="Robot", roles=("starter",), kind="service")
    assert desk.post("alan", "/absences", {"delegate": "edith", "ends": days(2)}).status_code == 201
    answer = desk.post(who, "/absences", {"delegate": "edith", "ends": days(1), **more})
    assert answer.status_code in (403, 404, 409, 422)
    assert answer.json()["code"] == code


def test_an_administrator_records_and_revokes_it_for_somebody(desk: Desk) -> None:
    desk.office.running.save_person("root", name="Root", roles=("administrator",), password=PASSWORD)
    given = {"person": "grace", "delegate": "edith", "ends": days(1), "reason": "Ill"}
    number = desk.post("root", "/absences", given).json()["id"]
    assert desk.get("edith", "/absences").json()["for_others"][0]["set_by"] == "root"
    assert desk.get("grace", "/absences?everybody=true").status_code == 403
    assert [a["id"] for a in desk.get("root", "/absences?everybody=true").json()["all"]] == [number]
    path = f"/absences/{number}"
    assert desk.http.delete(path, headers=desk.as_("root")).json()["code"] == "no_reason"
    assert desk.http.delete(f"{path}?reason=Well", headers=desk.as_("root")).json()["revoked"]
    with pytest.raises(errors.NotFound):
        desk.office.signoff.do("revoke_absence", person("edith"), TENANT, id=number)


def test_on_the_command_line(office: Office, shell: Shell) -> None:
    office.running.save_person("eve", name="Eve", roles=("approver",))
    run_id = waiting(office)
    said = shell.run("absence", "set", "--delegate", "eve", "--until", days(2), "--reason", "Holiday", login="grace")
    assert "eve decides for grace until" in said
    assert "Holiday" in shell.run("absence", "list")
    assert "for Grace, who is absent" in shell.run("inbox", login="eve")
    shell.run("reject", run_id, "manager", "--comment", "Too dear.", login="eve")
    story = shell.run("run", "history", run_id)
    assert "Eve on behalf of Grace rejected 'Manager': Too dear." in story
    assert "is revoked" in shell.run("absence", "revoke", "1", login="grace")
    events = office.signoff.queries.list_events(TENANT, run_id)
    decision = next(x for x in events if x.type == "approval.decision_recorded")
    assert decision.data["signed_in"] == {"method": "folder"}
