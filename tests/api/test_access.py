"""Tokens of programs, service accounts, sessions: what they may, that they end, and that no secret is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from signoff.api.app import create_api
from signoff.api.limits import Limits, Rate
from signoff.engine.permissions import NOT_BY_TOKEN, permitted
from signoff.errors import Forbidden, InvalidInput, Unavailable
from signoff.interchange import verifier
from tests.api.test_api import PASSWORD, Desk, decision, desk, waiting_run
from tests.engine.office import TENANT, ask, chain, person

__all__ = ["desk"]


@pytest.fixture
def root(desk: Desk) -> str:
    desk.office.running.save_person("root", name="Root", roles=("administrator",), password=PASSWORD)
    return "root"


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def robot(desk: Desk, root: str, *scopes: str, roles: tuple[str, ...] = ("starter", "operator", "approver")) -> str:
    """A service account's token."""
    body = {"roles": list(roles), "groups": ["managers"], "kind": "service", "name": "Robot"}
    answer = desk.http.put("/people/robot", json=body, headers=desk.as_(root))
    assert answer.status_code == 200, answer.text
    made = desk.post(root, "/tokens", {"login": "robot", "name": "nightly", "scopes": list(scopes)})
    assert made.status_code == 201, made.text
    return str(made.json()["token"])


def test_a_service_starts_runs_with_a_token_and_decides_nothing(desk: Desk, root: str) -> None:
    desk.office.publish(chain("buy", ask("manager")))
    secret = robot(desk, root, "start_run", "decide", "read_runs", "read_inbox")
    started = desk.http.post("/runs", json={"definition": "buy"}, headers=bearer(secret))
    assert started.status_code == 201
    run_id = started.json()["run_id"]
    desk.office.until_step(run_id, "manager", "waiting")
    body = decision(desk, run_id)
    refused = desk.http.post(f"/inbox/{run_id}/manager/decision", json=body, headers=bearer(secret))
    assert (refused.status_code, refused.json()["code"]) == (403, "not_a_person")
    event = desk.office.signoff.queries.list_events(TENANT, run_id)[0]
    assert event.data["actor"] == {"kind": "service", "id": "robot", "name": "Robot", "channel": "api"}
    desk.office.running.save_person("robot", roles=None, groups=None)
    with pytest.raises(Exception, match="services have no password"):
        desk.office.running.save_person("robot", roles=None, groups=None, password="x")
    assert desk.http.post("/session", json={"login": "robot", "password": ""}).status_code == 401


def test_a_token_may_no_more_than_its_scopes_and_its_account(desk: Desk, root: str) -> None:
    secret = robot(desk, root, "read_runs")
    desk.office.publish(chain("buy", ask("manager")))
    assert desk.http.get("/runs", headers=bearer(secret)).status_code == 200
    refused = desk.http.post("/runs", json={"definition": "buy"}, headers=bearer(secret))
    assert (refused.status_code, refused.json()["code"]) == (403, "not_in_scope")
    for method, path in (("GET", "/sessions"), ("GET", "/tokens"), ("DELETE", "/sessions"), ("DELETE", "/session")):
        assert desk.http.request(method, path, headers=bearer(secret)).status_code == 403, (method, path)
    body = {"name": "more", "scopes": ["read_runs"]}
    assert desk.http.post("/tokens", json=body, headers=bearer(secret)).status_code == 403
    assert desk.http.get("/me", headers=bearer(secret)).json()["may"] == ["read_runs"]
    assert desk.http.get("/inbox", headers=bearer(secret)).status_code == 403
    desk.http.put("/people/robot", json={"roles": ["approver"]}, headers=desk.as_(root))
    assert desk.http.get("/runs", headers=bearer(secret)).status_code == 200
    desk.http.put("/people/robot", json={"roles": []}, headers=desk.as_(root))
    assert desk.http.get("/runs", headers=bearer(secret)).status_code == 403


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        ("dan", {"scopes": ["pause_run"]}, 422),
        ("dan", {"scopes": ["no_such_thing"]}, 422),
        ("dan", {"scopes": ["create_token"]}, 422),
        ("dan", {"scopes": ["start_run"], "login": "grace"}, 403),
        ("root", {"scopes": ["decide"], "login": "grace"}, 403),
        ("root", {"scopes": ["decide"], "login": "nobody"}, 403),
        ("dan", {"scopes": ["start_run"], "days": 401}, 422),
        ("dan", {"scopes": []}, 422),
        ("dan", {"scopes": ["start_run"]}, 201),
    ],
)
def test_who_may_make_which_token(desk: Desk, root: str, who: str, body: dict[str, Any], status: int) -> None:
    """Nobody makes a token that acts as another person, or that may more than its account."""
    assert desk.post(who, "/tokens", {"name": "x", **body}).status_code == status


def test_every_scope_that_is_offered_can_be_given(desk: Desk, root: str) -> None:
    most = permitted(("starter",)) - NOT_BY_TOKEN
    assert desk.post("dan", "/tokens", {"name": "all", "scopes": sorted(most)}).status_code == 201


def test_a_token_ends_by_revoking_expiry_and_with_its_account(desk: Desk, root: str) -> None:
    made = [desk.post("dan", "/tokens", {"name": "x", "scopes": ["read_runs"]}).json() for _ in range(3)]
    for m in made:
        assert desk.http.get("/runs", headers=bearer(m["token"])).status_code == 200
    listed = desk.get("dan", "/tokens").json()
    assert [t["status"] for t in listed] == ["good"] * 3
    assert all(t["used_at"] for t in listed)
    assert not any(m["token"] in str(listed) for m in made)
    gone = f"/tokens/{made[0]['id']}"
    assert desk.http.delete(gone, headers=desk.as_("grace")).status_code == 404, "not hers"
    assert desk.http.delete(gone, headers=desk.as_("dan")).json()["revoked"] is True
    assert desk.http.get("/runs", headers=bearer(made[0]["token"])).status_code == 401
    with pytest.raises(Forbidden, match="not good any more"):
        desk.office.signoff.with_token(made[0]["id"]).start_run(person("dan"), TENANT, "buy", {})
    assert desk.http.delete(f"/tokens/{made[1]['id']}", headers=desk.as_(root)).status_code == 200
    desk.http.put("/people/dan", json={"active": False}, headers=desk.as_(root))
    assert desk.http.get("/runs", headers=bearer(made[2]["token"])).status_code == 401
    assert {t["status"] for t in desk.get(root, "/tokens?everybody=true").json()} == {"revoked", "closed"}
    assert desk.http.get("/tokens?everybody=true", headers=desk.as_("grace")).status_code == 403


def test_a_token_of_somebody_else_gives_nothing(desk: Desk) -> None:
    """The number of a token is no credential: it must be of the account that acts."""
    number = desk.post("dan", "/tokens", {"name": "x", "scopes": ["read_runs", "start_run"]}).json()["id"]
    with pytest.raises(Forbidden):
        desk.office.signoff.with_token(number).start_run(person("ada"), TENANT, "buy", {})


def test_no_secret_of_a_token_is_kept(desk: Desk, root: str) -> None:
    secret = desk.post("dan", "/tokens", {"name": "x", "scopes": ["read_runs"]}, **{"Idempotency-Key": "k"}).json()[
        "token"
    ]
    desk.office.signoff.do(
        "create_token", person("dan"), TENANT, name="y", scopes=["read_runs"], idempotency_key="again"
    )
    desk.http.get("/runs", headers=bearer(secret))
    for path in Path(desk.office.folder).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert secret.encode() not in data, path
            assert b"sgn_" not in data, path


def test_sessions_are_listed_and_ended(desk: Desk, root: str) -> None:
    first = desk.as_("grace")
    login = {"login": "grace", "password": PASSWORD}
    second = desk.http.post("/session", json=login, headers={"User-Agent": "A telephone"}).json()
    found = desk.http.get("/sessions", headers=first).json()
    assert (found[0]["is_this"], found[0]["agent"]) == (False, "A telephone")
    assert sum(s["is_this"] for s in found) == 1
    assert second["token"] not in str(found)
    mine = next(s["id"] for s in found if not s["is_this"])
    assert desk.http.delete(f"/sessions/{mine}", headers=desk.as_("alan")).json()["ended"] == 0, "not his"
    assert desk.http.delete(f"/sessions/{mine}", headers=first).json()["ended"] == 1
    assert desk.http.get("/me", headers=bearer(second["token"])).status_code == 401
    assert desk.http.delete("/sessions?login=grace", headers=desk.as_("alan")).status_code == 403
    assert desk.http.delete("/sessions", headers=first).json()["ended"] == 1
    assert desk.http.get("/me", headers=first).status_code == 401
    again = desk.http.post("/session", json=login).json()["token"]
    assert desk.http.delete("/sessions?login=grace", headers=desk.as_(root)).json()["ended"] == 1
    assert desk.http.get("/me", headers=bearer(again)).status_code == 401


@pytest.mark.parametrize(
    "change", [{"active": False}, {"roles": ["approver", "starter"]}, {"roles": []}, {"password": "another one"}]
)
def test_sessions_end_when_the_account_is_another(desk: Desk, root: str, change: dict[str, Any]) -> None:
    """Security list, 6 and 13: closed, other roles, another password."""
    headers = desk.as_("grace")
    assert desk.http.put("/people/grace", json={"name": "Grace H."}, headers=desk.as_(root)).status_code == 200
    assert desk.http.get("/me", headers=headers).status_code == 200
    assert desk.http.put("/people/grace", json=change, headers=desk.as_(root)).status_code == 200
    assert desk.http.get("/me", headers=headers).status_code == 401


def test_accounts_are_managed_by_administrators(desk: Desk, root: str) -> None:
    body = {"name": "New", "roles": ["starter"], "password": PASSWORD}
    assert desk.http.put("/people/new", json=body, headers=desk.as_("ada")).status_code == 403
    assert desk.http.put("/people/new", json=body, headers=desk.as_(root)).status_code == 200
    assert desk.get("new", "/me").json()["roles"] == ["starter"]
    people = desk.get(root, "/people").json()
    assert "password" not in str(people).lower()
    assert desk.get("ada", "/people").status_code == 403
    assert desk.http.put("/people/new", json={"tenant": "other"}, headers=desk.as_(root)).status_code == 422


def test_what_costs_much_is_braked_and_tells_nothing(desk: Desk) -> None:
    """Security list, 23: starts, searches, bad bearers; the same for what exists and what does not."""
    waiting_run(desk)
    now = [0.0]
    rates = {name: Rate(3, now=lambda: now[0]) for name in ("starts", "searches", "bearers")}
    http = TestClient(create_api(desk.office.signoff, Limits(**rates)))
    headers = desk.as_("ada")

    def statuses(method: str, path: str, **more: Any) -> list[int]:
        return [http.request(method, path, headers=more.pop("headers", headers), **more).status_code for _ in range(5)]

    for path in ("/runs?text=buy", "/runs?text=nothing-like-this"):
        assert statuses("GET", path) == [200] * 3 + [429] * 2
        now[0] += 60
    for name, good in (("buy", 201), ("no-such-definition", 404)):
        found = [
            http.post("/runs", json={"definition": name, "input": {"amount": 1}}, headers=headers) for _ in range(5)
        ]
        assert [a.status_code for a in found] == [good] * 3 + [429] * 2
        assert "Retry-After" in found[-1].headers
        now[0] += 60
    bad = [http.get("/me", headers=bearer("sgn_wrong")) for _ in range(5)]
    assert [a.status_code for a in bad] == [401] * 3 + [429] * 2
    assert http.get("/me", headers=headers).status_code == 200, "whoever has a good one is not held up"
    assert http.get("/runs", headers=headers).status_code == 200


def test_a_brake_forgets_in_time_and_keeps_little() -> None:
    now = [0.0]
    rate = Rate(2, 10.0, now=lambda: now[0])
    for _ in range(2):
        rate.take("a", "things")
    with pytest.raises(Unavailable, match="too many things"):
        rate.take("a", "things")
    rate.take("b", "things")
    now[0] += 5
    rate.take("a", "things")
    for n in range(11_000):
        rate.take(str(n), "things")
    assert len(rate._left) == 10_000


def test_wrong_logins_look_alike_when_braked(desk: Desk) -> None:
    """Security list, 23: the lock-out is the same for an account that exists and one that does not."""

    def tries(login: str) -> list[tuple[int, str]]:
        found = [desk.http.post("/session", json={"login": login, "password": "wrong"}) for _ in range(10)]
        return [(a.status_code, a.json()["title"]) for a in found]

    assert tries("grace") == tries("nobody-at-all")
    assert tries("grace")[-1][0] == 429


def test_a_legal_hold_stops_erasing_over_rest(desk: Desk, root: str) -> None:
    run_id = waiting_run(desk)
    desk.post("katherine", f"/runs/{run_id}/cancel", {"reason": "no"})
    desk.office.until_status(run_id, "cancelled")
    path, why = f"/runs/{run_id}/hold", {"reason": "case 7"}
    assert desk.post("katherine", path, why).status_code == 403
    assert desk.post(root, path, {"reason": " "}).json()["code"] == "no_reason"
    assert desk.post(root, path, why).json()["hold"] is True
    refused = desk.post(root, f"/runs/{run_id}/erase", {"reason": "asked for"})
    assert (refused.status_code, refused.json()["code"]) == (409, "on_hold")
    assert desk.post(root, path, {**why, "hold": False}).json()["hold"] is False


def test_a_token_is_good_for_a_while_at_least(desk: Desk) -> None:
    for days in (0, -1, 1e-9, 401, "soon"):
        answer = desk.post("ada", "/tokens", {"name": "x", "scopes": ["read_runs"], "days": days})
        assert answer.status_code == 422, days
    assert desk.post("ada", "/tokens", {"name": "x", "scopes": ["read_runs"], "days": 0.01}).status_code == 201


def test_a_status_that_does_not_exist_is_answered_with_those_that_do(desk: Desk) -> None:
    with pytest.raises(InvalidInput, match="There is no status 'nonsense'") as refused:
        desk.office.signoff.queries.list_runs("default", status="nonsense")
    assert "running" in refused.value.remedy
    assert desk.get("ada", "/runs?status=nonsense").status_code == 422


def test_the_verifier_says_in_plain_words_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa")
    for path, words in (
        (tmp_path / "none", "there is no such file"),
        (tmp_path / "latin", "is no UTF-8 text"),
        (tmp_path, "it cannot be opened"),
    ):
        assert verifier.main([str(path)]) == 2
        said = capsys.readouterr().out
        assert words in said
        assert "Errno" not in said
