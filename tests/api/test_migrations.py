"""REST of migration plans."""

from __future__ import annotations

from tests.api.test_api import PASSWORD, Desk, desk
from tests.engine.office import ask, call, chain

__all__ = ["desk"]


def test_a_plan_goes_from_proposal_to_moved_runs(desk: Desk) -> None:
    desk.office.running.save_person("pia", roles=("publisher",), password=PASSWORD)
    desk.office.publish(chain("buy", ask("manager"), call("order")))
    run_id = desk.office.start("buy")
    desk.office.publish(chain("buy", ask("boss"), call("order"), policies={"migration": "approved"}))
    plan = {"target": 2, "steps": {"manager": "boss"}}
    body = {"definition": "buy", "version": 1, "plan": plan, "reason": "new wording"}
    assert desk.post("dan", "/migrations", body).status_code == 403
    assert desk.post("katherine", "/migrations", {**body, "version": 7}).status_code == 404
    assert desk.post("katherine", "/migrations", {**body, "plan": {"target": 1}}).status_code == 422
    made = desk.post("katherine", "/migrations", body).json()
    path = f"/migrations/{made['plan_id']}"
    assert desk.get("dan", path).status_code == 403
    assert desk.get("katherine", "/migrations?definition=buy").json()["items"][0]["status"] == "proposed"
    assert [i["can"] for i in desk.get("katherine", f"{path}/dry-run").json()["items"]] == [False]
    move = {"plan_id": made["plan_id"], "reason": "go"}
    assert desk.post("katherine", f"/runs/{run_id}/migrate", move).json()["code"] == "plan_not_approved"
    assert desk.post("katherine", f"{path}/decision", {"outcome": "approved"}).status_code == 403
    assert desk.post("pia", f"{path}/decision", {"outcome": "maybe"}).status_code == 422
    assert desk.post("pia", f"{path}/decision", {"outcome": "approved"}).json()["status"] == "approved"
    found = desk.get("katherine", f"{path}/dry-run").json()
    send = {"command": "migrate_run", "items": found["sendable"], "args": {"plan_id": made["plan_id"]}, "reason": "go"}
    assert desk.post("katherine", "/runs/bulk", send).json()["done"] == 1
    assert desk.get("katherine", f"/runs/{run_id}").json()["version"] == 2
    assert desk.post("pia", f"{path}/withdraw", {"reason": "over"}).json()["status"] == "withdrawn"
    assert desk.get("katherine", "/migrations/p-none").status_code == 404
