"""REST of completing by hand, reassigning and withdrawing."""

from __future__ import annotations

from tests.api.test_api import Desk, decision, desk
from tests.engine.office import ask, call, chain

__all__ = ["desk"]


def test_other_people_are_asked_and_a_vote_is_taken_back(desk: Desk) -> None:
    desk.office.running.save_person("eve", name="Eve", roles=("approver",), password="one for all")
    desk.office.publish(chain("buy", ask("manager", required=2)))
    run_id = desk.office.start("buy")
    desk.office.until_step(run_id, "manager", "waiting")
    body = {"step": "manager", "add": ["eve"], "remove": ["alan"], "reason": "On leave."}
    assert desk.post("ada", f"/runs/{run_id}/reassign", body).status_code == 403
    assert desk.post("katherine", f"/runs/{run_id}/reassign", body).status_code == 200
    assert desk.get("alan", f"/inbox/{run_id}/manager").status_code == 404
    assert desk.post("eve", f"/inbox/{run_id}/manager/decision", decision(desk, run_id, "eve")).status_code == 200
    task = desk.get("eve", f"/inbox/{run_id}/manager").json()
    assert task["may_withdraw"] is True
    back = {"generation": task["generation"], "comment": "Too early."}
    assert desk.post("grace", f"/inbox/{run_id}/manager/withdrawal", back).json()["code"] == "no_vote"
    assert desk.post("dan", f"/inbox/{run_id}/manager/withdrawal", back).status_code in (403, 404)
    assert desk.post("eve", f"/inbox/{run_id}/manager/withdrawal", back).status_code == 200
    assert desk.get("eve", f"/inbox/{run_id}/manager").json()["given"] == 0
    actions = desk.get("katherine", f"/runs/{run_id}").json()["explanation"]["steps"][0]["actions"]
    assert actions == ["reassign_step"]


def test_an_activity_is_completed_by_hand(desk: Desk) -> None:
    desk.office.connectors.broken.add("copy")
    desk.office.publish(chain("job", call("copy", "flaky", output=[{"name": "n", "type": "integer"}])))
    run_id = desk.office.start("job")
    desk.office.until_status(run_id, "stalled")
    path = f"/runs/{run_id}/complete"
    wrong = desk.post("katherine", path, {"step": "copy", "reason": "by hand", "output": {"n": "three"}})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "invalid_output")
    good = desk.post("katherine", path, {"step": "copy", "reason": "by hand", "output": {"n": 3}})
    assert (good.status_code, good.json()["status"]) == (200, "succeeded")
    assert desk.get("katherine", f"/runs/{run_id}").json()["outputs"] == {"copy": {"n": 3}}


def test_the_types_of_a_version_are_json_schemas(desk: Desk) -> None:
    step = call("copy", output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    desk.office.publish(chain("job", step, input=[{"name": "amount", "type": "number", "minimum": 0}]))
    found = desk.get("ada", "/definitions/job/versions/1/schemas").json()
    assert found["input"]["properties"] == {"amount": {"type": "number", "minimum": 0}}
    assert found["outputs"]["copy"]["required"] == ["n"]
    assert desk.get("ada", "/definitions/job/versions/1").json()["document"]["steps"][0]["output"] == [
        {"name": "n", "type": "integer"}
    ]
    draft = desk.get("ada", "/definitions/job/draft").json()["document"]["steps"][0]["output"]
    assert draft == [{"name": "n", "type": "integer"}], "the designer reads fields"
    assert desk.get("ada", "/definitions/job/versions/9/schemas").status_code == 404
