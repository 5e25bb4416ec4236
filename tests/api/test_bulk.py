"""REST of bulk commands and migration."""

from __future__ import annotations

from tests.api.test_api import Desk, desk
from tests.engine.office import ask, call, chain

__all__ = ["desk"]


def test_a_command_is_previewed_and_sent_to_many_runs(desk: Desk) -> None:
    desk.office.publish(chain("buy", ask("manager"), call("order")))
    runs = [desk.office.start("buy") for _ in range(2)]
    desk.office.publish(chain("buy", ask("manager"), call("check"), call("order")))
    body = {"command": "migrate_run", "which": {"definition": "buy", "version": 1}, "args": {"plan": {"target": 2}}}
    assert desk.post("ada", "/runs/bulk/preview", body).status_code == 403
    found = desk.post("katherine", "/runs/bulk/preview", body).json()
    assert [i["sentence"] for i in found["items"]] == ["Would move the run to version 2."] * 2
    send = {"command": "migrate_run", "items": found["sendable"], "args": body["args"], "reason": "new rule"}
    done = desk.post("katherine", "/runs/bulk", send).json()
    assert done["done"] == 2
    assert done["bulk_id"].startswith("b-")
    back = {"plan": {"target": 1}, "reason": "it was right"}
    assert desk.post("ada", f"/runs/{runs[0]}/migrate", back).status_code == 403
    assert desk.post("katherine", f"/runs/{runs[0]}/migrate", back).status_code == 200
    assert desk.get("katherine", f"/runs/{runs[0]}").json()["version"] == 1
    refused = desk.post("katherine", f"/runs/{runs[0]}/migrate", {**back, "plan": {"target": 1, "steps": {"x": "y"}}})
    assert refused.status_code == 409
    assert desk.post("katherine", "/runs/bulk/preview", {"command": "decide"}).status_code == 422
