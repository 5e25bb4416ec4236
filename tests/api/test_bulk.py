"""REST of bulk commands and migration."""

from __future__ import annotations

import json

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


def test_numbers_and_texts_that_no_store_holds_are_refused_as_the_callers_fault(desk: Desk) -> None:
    """Never a 500, and never "send it again": neither before the engine nor in it."""
    desk.office.publish(chain("buy", ask("manager")))
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"a": deep}
    huge = 2**63
    bodies: list[tuple[str, str, dict[str, object]]] = [
        ("ada", "/runs", {"definition": "buy", "version": huge}),
        ("ada", "/definitions/buy/publish", {"revision": huge}),
        ("ada", "/definitions/validate", {"document": {"a": deep}}),
        ("ada", "/definitions/trial", {"document": {"\ud800": 1}}),
        ("katherine", "/migrations", {"definition": "buy", "version": huge, "plan": {"target": 1}, "reason": "r"}),
        ("katherine", "/migrations", {"definition": "buy", "version": 1, "plan": {"target": huge}, "reason": "r"}),
        ("katherine", "/runs/bulk/preview", {"command": "pause_run", "which": {"version": huge}}),
        ("katherine", "/runs/bulk/preview", {"command": "pause_run", "which": {"unchanged_s": 1e300}}),
        ("katherine", "/runs/bulk/preview", {"command": "migrate_run", "args": {"plan": {"target": 2}, "x": deep}}),
        ("katherine", "/runs/bulk/preview", {"command": "\ud800"}),
    ]
    for login, path, body in bodies:
        headers = {**desk.as_(login), "Content-Type": "application/json"}
        answer = desk.http.post(path, content=json.dumps(body), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (422, "malformed"), (path, answer.text)
    restored = desk.post("ada", f"/definitions/buy/versions/{huge}/restore", {"reason": "r"})
    assert restored.status_code == 422
    assert desk.get("katherine", "/migrations?limit=-1").status_code == 422
