"""REST on a real engine: who gets in, the main story, errors as problem details, no state change by reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from signoff.api.app import create_api
from signoff.connectors.call import ActivityError, Call
from tests.api.every_route import EVERY, request_of
from tests.engine.office import TENANT, Office, ask, call, chain, open_office

PASSWORD = "one for all"


class Desk:
    """An office with its API."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.api = create_api(office.signoff)
        self.http = TestClient(self.api)
        self._tokens: dict[str, str] = {}

    def as_(self, login: str) -> dict[str, str]:
        """Headers of a signed-in person."""
        if login not in self._tokens:
            answer = self.http.post("/session", json={"login": login, "password": PASSWORD})
            assert answer.status_code == 200, answer.text
            self._tokens[login] = answer.json()["token"]
        return {"Authorization": f"Bearer {self._tokens[login]}"}

    def post(self, login: str, path: str, body: dict[str, Any], **headers: str) -> Any:
        """A request by a person."""
        return self.http.post(path, json=body, headers={**self.as_(login), **headers})

    def get(self, login: str, path: str) -> Any:
        """A read by a person."""
        return self.http.get(path, headers=self.as_(login))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    from tests.engine.office import PEOPLE

    with open_office(tmp_path / "data") as office:
        for login, (roles, groups) in PEOPLE.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        yield Desk(office)
        office.check_replay()


def waiting_run(desk: Desk) -> str:
    desk.office.publish(chain("buy", ask("manager"), call("order"), input=[{"name": "amount", "type": "number"}]))
    answer = desk.post("ada", "/runs", {"definition": "buy", "input": {"amount": 5}})
    assert answer.status_code == 201
    run_id = answer.json()["run_id"]
    desk.office.until_step(run_id, "manager", "waiting")
    return str(run_id)


ANY_DIGEST = "sha256:" + "0" * 64


def decision(desk: Desk, run_id: str, who: str = "grace") -> dict[str, Any]:
    """An approval of exactly what that person is shown."""
    task = desk.get(who, f"/inbox/{run_id}/manager").json()
    return {"outcome": "approved", "generation": task["generation"], "shown_digest": task["shown_digest"]}


def test_the_main_story_over_http(desk: Desk) -> None:
    document = chain("buy", ask("manager"), call("order", "flaky"))
    assert desk.post("ada", "/definitions", {"document": document}).status_code == 201
    published = desk.post("ada", "/definitions/buy/publish", {"revision": 1}).json()
    again = desk.post("ada", "/definitions/buy/publish", {"revision": 1}).json()
    assert (again["created"], again["digest"]) == (False, published["digest"])
    desk.office.connectors.broken.add("order")
    first = desk.post("ada", "/runs", {"definition": "buy"}, **{"Idempotency-Key": "k"})
    second = desk.post("ada", "/runs", {"definition": "buy"}, **{"Idempotency-Key": "k"})
    assert (first.status_code, second.status_code) == (201, 200)
    run_id = first.json()["run_id"]
    assert second.json()["run_id"] == run_id
    desk.office.until_step(run_id, "manager", "waiting")
    item = desk.get("grace", "/inbox").json()["items"][0]
    body = {"outcome": "approved", "generation": item["generation"], "shown_digest": item["shown_digest"]}
    assert desk.post("grace", f"/inbox/{run_id}/manager/decision", body).status_code == 200
    desk.office.until_status(run_id, "stalled")
    shown = desk.get("katherine", f"/runs/{run_id}").json()
    assert "retry_step" in next(s for s in shown["explanation"]["steps"] if s["step"] == "order")["actions"]
    desk.office.connectors.broken.clear()
    retried = desk.post("katherine", f"/runs/{run_id}/retry", {"step": "order", "reason": "mended"})
    assert retried.status_code == 200
    desk.office.until_status(run_id, "succeeded")
    types = [e["type"] for e in desk.get("katherine", f"/runs/{run_id}/events").json()]
    assert types[0] == "run.started"
    assert types[-1] == "run.ended"
    assert len(desk.get("katherine", f"/runs/{run_id}/attempts").json()) == 2


def test_nothing_is_there_without_a_token(desk: Desk) -> None:
    for route in sorted(EVERY):
        method, path, _ = request_of(route)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}):
            answer = desk.http.request(method, path, headers=headers, json={})
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"


def test_reading_changes_no_row(desk: Desk) -> None:
    """Security list, 1."""
    run_id = waiting_run(desk)
    for login in ("ada", "grace", "katherine", "dan"):
        desk.as_(login)

    def dump() -> dict[str, list[object]]:
        with desk.office.running.reader.connect() as connection:
            names = [r[0] for r in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")]
            theirs = ("outbox", "ledger_leaf", "ledger_checkpoint")  # of the relay and the sealer, which go on
            kept = [n for n in names if n not in theirs]
            return {n: list(connection.exec_driver_sql(f"SELECT * FROM {n}").fetchall()) for n in kept}

    before = dump()
    for route in sorted(EVERY):
        _, path, _ = request_of(route, run_id, "buy")
        for login in ("ada", "grace", "katherine", "dan"):
            for method in ("GET", "HEAD", "OPTIONS"):
                assert desk.http.request(method, path, headers=desk.as_(login)).status_code < 500
    assert dump() == before


def test_who_is_not_asked_sees_nothing(desk: Desk) -> None:
    """C07."""
    run_id = waiting_run(desk)
    assert desk.get("dan", "/inbox").json()["items"] == []
    body = {"outcome": "approved", "generation": 1, "shown_digest": ANY_DIGEST}
    for answer in (
        desk.get("dan", f"/inbox/{run_id}/manager"),
        desk.get("dan", f"/runs/{run_id}"),
        desk.get("dan", f"/runs/{run_id}/events"),
        desk.post("dan", f"/inbox/{run_id}/manager/decision", body),
    ):
        assert answer.status_code in (403, 404)
        assert "Manager" not in answer.text
        assert "amount" not in answer.text.lower()
    assert desk.get("dan", "/runs").json()["items"] == []


def test_own_requests_are_refused(desk: Desk) -> None:
    """C05 over REST."""
    desk.office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",), password=PASSWORD)
    desk.office.publish(chain("buy", ask("manager")))
    run_id = desk.post("grace", "/runs", {"definition": "buy"}).json()["run_id"]
    desk.office.until_step(run_id, "manager", "waiting")
    answer = desk.post("grace", f"/inbox/{run_id}/manager/decision", decision(desk, run_id))
    assert (answer.status_code, answer.json()["code"]) == (403, "own_request")


def test_a_decision_must_say_what_was_read(desk: Desk) -> None:
    run_id = waiting_run(desk)
    for wrong in ({}, {"shown_digest": ""}):
        body = {"outcome": "approved", "generation": 1, **wrong}
        assert desk.post("grace", f"/inbox/{run_id}/manager/decision", body).status_code == 422
    body = {"outcome": "approved", "generation": 1, "shown_digest": ANY_DIGEST}
    answer = desk.post("grace", f"/inbox/{run_id}/manager/decision", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "changed_meanwhile")


def test_a_second_decision_says_who_was_first(desk: Desk) -> None:
    run_id = waiting_run(desk)
    body = decision(desk, run_id)
    assert desk.post("grace", f"/inbox/{run_id}/manager/decision", body).status_code == 200
    late = desk.post("alan", f"/inbox/{run_id}/manager/decision", body)
    assert (late.status_code, late.json()["code"]) == (409, "already_handled")
    assert "already handled by Grace" in late.json()["title"]


def test_identity_comes_from_the_token_and_never_from_the_body(desk: Desk) -> None:
    run_id = waiting_run(desk)
    for extra in ({"actor": "grace"}, {"tenant": "other"}, {"login": "grace"}):
        body = {**decision(desk, run_id, "alan"), **extra}
        answer = desk.post("alan", f"/inbox/{run_id}/manager/decision", body)
        assert answer.status_code == 422
        assert answer.json()["code"] == "malformed"
    assert desk.office.view(run_id).state.steps["manager"].status == "waiting"


def test_problems_of_a_definition_are_the_same_sentences_everywhere(desk: Desk) -> None:
    document = {**chain("bad", call("a"), call("b")), "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]}
    checked = desk.post("ada", "/definitions/validate", {"document": document}).json()
    desk.post("ada", "/definitions", {"document": document})
    read = desk.get("ada", "/definitions/bad/draft").json()
    refused = desk.post("ada", "/definitions/bad/publish", {"revision": 1})
    assert checked["valid"] is False
    assert checked["problems"] == read["problems"] == refused.json()["problems"]
    assert refused.status_code == 422
    assert checked["problems"][0]["message"] in refused.json()["title"]


def test_a_stale_draft_is_a_conflict(desk: Desk) -> None:
    desk.post("ada", "/definitions", {"document": {"name": "buy"}})
    put = {"document": {"name": "buy", "title": "One"}, "based_on": 1}
    assert desk.http.put("/definitions/buy/draft", json=put, headers=desk.as_("ada")).status_code == 200
    put = {"document": {"name": "buy", "title": "Two"}, "based_on": 1}
    answer = desk.http.put("/definitions/buy/draft", json=put, headers=desk.as_("ada"))
    assert (answer.status_code, answer.json()["code"]) == (409, "newer_revision")


def test_a_signed_out_token_is_worth_nothing(desk: Desk) -> None:
    headers = desk.as_("ada")
    assert desk.http.get("/me", headers=headers).json()["login"] == "ada"
    assert desk.http.delete("/session", headers=headers).status_code == 204
    assert desk.http.get("/me", headers=headers).status_code == 401


def test_guessing_is_slowed_down(desk: Desk) -> None:
    statuses = [desk.http.post("/session", json={"login": "grace", "password": "x"}).status_code for _ in range(10)]
    assert statuses == [401] * 8 + [429] * 2


@pytest.mark.parametrize("text", ["' OR 1=1 --", '"; DROP TABLE run; --', "%", "_", "\\", "\x00", "ü" * 50])
def test_filters_are_data(desk: Desk, text: str) -> None:
    """Security list, 24."""
    waiting_run(desk)
    for name in ("text", "definition"):
        answer = desk.http.get("/runs", params={name: text}, headers=desk.as_("ada"))
        assert answer.status_code == 200
        assert answer.json()["items"] == []
    assert desk.http.get("/runs", params={"status": text}, headers=desk.as_("ada")).status_code == 422
    assert len(desk.get("ada", "/runs").json()["items"]) == 1


def test_a_forged_cursor_is_refused(desk: Desk) -> None:
    for cursor in ("x", "1.2.3", "1;2", "-1.2", "9" * 30 + ".1"):
        answer = desk.http.get("/runs", params={"cursor": cursor}, headers=desk.as_("ada"))
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_cursor")


def test_lists_page_through_everything_once(desk: Desk) -> None:
    desk.office.publish(chain("buy", ask("manager")))
    runs = {desk.office.start("buy") for _ in range(7)}
    seen, cursor = [], ""
    while True:
        page = desk.http.get(
            "/runs", params={"limit": 3, **({"cursor": cursor} if cursor else {})}, headers=desk.as_("ada")
        )
        seen += [r["run_id"] for r in page.json()["items"]]
        cursor = page.json()["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(runs)
    inbox, cursor = [], ""
    while True:
        page = desk.http.get(
            "/inbox", params={"limit": 2, **({"cursor": cursor} if cursor else {})}, headers=desk.as_("grace")
        )
        inbox += [i["run_id"] for i in page.json()["items"]]
        cursor = page.json()["next_cursor"]
        if cursor is None:
            break
    assert sorted(inbox) == sorted(runs)


def test_the_description_names_every_route(desk: Desk) -> None:
    paths = desk.http.get("/openapi.json").json()["paths"]
    assert {"/runs", "/runs/{run_id}/skip", "/inbox/{run_id}/{step}/decision", "/definitions/{name}/publish"} <= set(
        paths
    )
    assert all(op.get("summary") for methods in paths.values() for op in methods.values())
    assert TENANT not in paths


def test_whatever_the_framework_refuses_is_a_problem_too(desk: Desk) -> None:
    for method, path, body in (
        ("GET", "/nothing", b""),
        ("DELETE", "/runs", b""),
        ("POST", "/runs", b"{nonsense"),
        ("POST", "/session", b"[1]"),
    ):
        headers = {**desk.as_("ada"), "Content-Type": "application/json"}
        answer = desk.http.request(method, path, content=body, headers=headers)
        assert answer.status_code in (404, 405, 400, 422)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"]


def lost(desk: Desk) -> str:
    """A run whose only call has an unknown outcome."""

    def lose(call: Call) -> None:
        raise ActivityError("The answer was lost.", code="outcome_unknown")

    desk.office.connectors["lose"] = lose
    desk.office.publish(chain("pay", call("pay", "lose", effect="at_most_once")))
    run_id = desk.office.start("pay")
    desk.office.until_status(run_id, "stalled")
    return run_id


def test_what_became_of_a_lost_call_is_said_over_http(desk: Desk) -> None:
    run_id = lost(desk)
    shown = desk.get("katherine", f"/runs/{run_id}").json()["explanation"]
    assert shown["steps"][0]["actions"] == ["confirm_effect", "deny_effect"]
    body = {"step": "pay", "happened": True, "output": {"id": 7}, "reason": "seen at the bank"}
    assert desk.post("grace", f"/runs/{run_id}/resolve-outcome", body).status_code == 403
    assert desk.post("katherine", f"/runs/{run_id}/resolve-outcome", body).status_code == 200
    assert desk.get("katherine", f"/runs/{run_id}").json()["outputs"]["pay"] == {"id": 7}
    again = {"step": "pay", "happened": False, "reason": "no"}
    assert desk.post("katherine", f"/runs/{run_id}/resolve-outcome", again).status_code == 409


def test_a_form_is_filled_in_and_returned_over_http(desk: Desk) -> None:
    fields = [{"name": "amount", "type": "number"}]
    form = {"id": "details", "kind": "form", "groups": ["managers"], "fields": fields, "returns_to": ["look"]}
    desk.office.publish(chain("buy", call("look"), form))
    run_id = desk.post("ada", "/runs", {"definition": "buy"}).json()["run_id"]
    desk.office.until_step(run_id, "details", "waiting")
    path = f"/inbox/{run_id}/details"
    task = desk.get("grace", path).json()
    assert (task["kind"], task["fields"][0]["name"]) == ("form", "amount")
    seen = {"generation": task["generation"], "shown_digest": task["shown_digest"]}
    returned = desk.post("grace", f"{path}/return", {"comment": "Look again.", **seen})
    assert returned.status_code == 200, returned.text
    desk.office.until_step(run_id, "details", "waiting")
    task = desk.get("grace", path).json()
    assert task["round"] == 2
    seen = {"generation": task["generation"], "shown_digest": task["shown_digest"]}
    wrong = desk.post("grace", f"{path}/submission", {"values": {"amount": "x"}, **seen})
    assert (wrong.status_code, wrong.json()["problems"][0]["field"]) == (422, "amount")
    assert desk.post("dan", f"{path}/submission", {"values": {"amount": 1}, **seen}).status_code == 404
    assert desk.post("grace", f"{path}/submission", {"values": {"amount": 1}, **seen}).status_code == 200
    late = desk.post("alan", f"{path}/submission", {"values": {"amount": 1}, **seen})
    assert (late.status_code, late.json()["code"]) == (409, "already_handled")


def test_messages_over_http(desk: Desk) -> None:
    signal = {"id": "paid", "kind": "signal", "signal": "payment", "payload": [{"name": "n", "type": "integer"}]}
    desk.office.publish(chain("sell", signal))
    run_id = desk.post("ada", "/runs", {"definition": "sell", "business_key": "K-1"}).json()["run_id"]
    wrong = desk.post("dan", "/signals/payment", {"key": "K-1", "payload": {"n": "x"}})
    assert (wrong.status_code, wrong.json()["problems"][0]["field"]) == (422, "n")
    assert desk.post("grace", "/signals/payment", {"key": "K-1"}).status_code == 403
    sent = desk.post("dan", "/signals/payment", {"key": "K-1", "payload": {"n": 1}, "id": "m"})
    assert (sent.status_code, sent.json()["run_id"]) == (202, run_id)
    reused = desk.post("dan", "/signals/payment", {"key": "K-1", "payload": {"n": 2}, "id": "m"})
    assert (reused.status_code, reused.json()["code"]) == (409, "message_id_reused")
    desk.post("dan", "/signals/payment", {"key": "K-1", "payload": {"n": 2}, "id": "later"})
    assert desk.get("dan", "/signals").status_code == 403
    found = desk.get("katherine", "/signals?status=kept").json()["items"]
    assert [m["message_id"] for m in found] == ["later"]
    gone = desk.post("katherine", "/signals/payment/discard", {"key": "K-1", "id": "later", "reason": "twice"})
    assert gone.status_code == 200
    assert desk.get("katherine", "/signals?status=nonsense").status_code == 422


def test_a_child_names_its_parent_over_http(desk: Desk) -> None:
    desk.office.publish(chain("inner", ask("manager")))
    desk.office.publish(chain("outer", {"id": "sub", "kind": "subflow", "definition": "inner"}))
    run_id = desk.post("ada", "/runs", {"definition": "outer"}).json()["run_id"]
    shown = desk.get("katherine", f"/runs/{run_id}").json()
    child = shown["explanation"]["steps"][0]["child"]
    assert shown["parent"] is None
    assert desk.get("katherine", f"/runs/{child}").json()["parent"] == {"run_id": run_id, "step": "sub"}
