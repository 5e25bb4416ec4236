"""REST of versions: comparing, archiving, restoring, deleting."""

from __future__ import annotations

from tests.api.test_api import Desk, desk
from tests.engine.office import ask, call, chain

__all__ = ["desk"]


def test_versions_are_compared_archived_restored_and_deleted(desk: Desk) -> None:
    desk.office.running.save_person("root", roles=("administrator",), password="one for all")
    desk.office.publish(chain("buy", ask("manager"), call("order")))
    desk.office.publish(chain("buy", ask("manager")))
    (first, *_) = desk.get("dan", "/definitions/buy/compare?old=1&new=2").json()
    assert first["sentence"] == "Removed the activity 'Order'."
    assert desk.get("dan", "/definitions/buy/compare").json() == []
    assert desk.get("dan", "/definitions/buy/compare?old=7").status_code == 404
    assert desk.post("dan", "/definitions/buy/archive", {"reason": "x", "version": 2}).status_code == 403
    done = desk.post("ada", "/definitions/buy/archive", {"reason": "wrong", "version": 2}).json()
    assert done["new_runs_use"] == 1
    back = desk.post("ada", "/definitions/buy/unarchive", {"reason": "right", "version": 2}).json()
    assert back["new_runs_use"] == 2
    assert desk.post("ada", "/definitions/buy/versions/1/restore", {}).json()["revision"] == 3
    url = "/definitions/buy/versions/1?reason=tidy"
    assert desk.http.delete(url, headers=desk.as_("ada")).status_code == 403
    assert desk.http.delete(url, headers=desk.as_("root")).json()["version"] == 1


def test_a_definition_is_tried_in_memory_with_the_people_of_the_tenant(desk: Desk) -> None:
    document = chain("buy", ask("manager"), call("order"), input=[{"name": "amount", "type": "number"}])
    done = desk.post("ada", "/definitions/trial", {"document": document}).json()
    assert (done["status"], done["input"]) == ("succeeded", {"amount": 1.0})
    assert set(done["asked"][0]["people"]) == {"Alan", "Edith", "Grace"}
    script = {"choices": {"manager": [{"outcome": "rejected", "who": "grace"}]}}
    body = {"document": document, "input": {"amount": 7}, "script": script}
    assert desk.post("ada", "/definitions/trial", body).json()["status"] == "rejected"
    assert desk.post("ada", "/definitions/trial", {"document": {**document, "steps": []}}).status_code == 422
    assert desk.get("ada", "/runs").json()["items"] == [], "nothing is stored"
