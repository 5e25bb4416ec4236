"""REST of limits: who may, what is answered, and that a start beyond them is a 429 with a time."""

from __future__ import annotations

import pytest

from tests.api.test_api import PASSWORD, Desk, desk
from tests.engine.office import call, chain

__all__ = ["desk"]


def test_limits_are_read_set_and_felt(desk: Desk) -> None:
    desk.office.running.save_person("mary", roles=("administrator",), password=PASSWORD)
    desk.office.publish(chain("buy", call("order", "slow")))
    body = {"limits": {"open_runs": 1, "starts_per_minute": 60}, "reason": "month end"}
    put = lambda who, what: desk.http.put("/limits", json=what, headers=desk.as_(who))  # noqa: E731
    assert desk.get("dan", "/limits").status_code == 403
    assert put("katherine", body).status_code == 403
    assert put("mary", {"limits": {}}).status_code == 422
    wrong = put("mary", {"limits": {"open_runs": -1, "weight": 0}, "reason": "x"})
    assert wrong.status_code == 422
    assert len(wrong.json()["problems"]) == 2
    assert put("mary", body).json()["limits"] == body["limits"]
    started = desk.post("ada", "/runs", {"definition": "buy", "input": {}})
    assert started.status_code == 201
    refused = desk.post("ada", "/runs", {"definition": "buy", "input": {}})
    assert refused.status_code == 429
    assert refused.json()["code"] == "over_quota"
    assert refused.headers["Retry-After"] == "60"
    desk.office.until_step(started.json()["run_id"], "order", "running")
    seen = desk.get("katherine", "/limits").json()
    assert seen["limits"] == body["limits"]
    assert seen["used"]["open_runs"] == 1
    assert seen["used"]["calls"][0]["under_way"] == 1
    desk.office.connectors.let_go.set()


@pytest.mark.parametrize("name", ["", " ", "gpu ", "a\x00b", "a\nb", "x" * 201])
def test_a_limit_for_what_cannot_be_a_pool_is_refused(desk: Desk, name: str) -> None:
    desk.office.running.save_person("mary", roles=("administrator",), password=PASSWORD)
    body = {"limits": {"pools": {name: {"at_once": 1}}}, "reason": "r"}
    answer = desk.http.put("/limits", json=body, headers=desk.as_("mary"))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_limits")
