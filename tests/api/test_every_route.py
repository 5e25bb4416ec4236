"""Every route × every role × a foreign tenant, against the one permission table (security list, 10, 11 and 12)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.permissions import MAY, ROLES, permitted
from signoff.engine.permissions import words_of as words
from tests.api.every_route import ENDS_THE_CALLER, EVERY, OPEN, request_of, routes_of
from tests.api.test_api import PASSWORD, Desk
from tests.engine.office import ask, chain, open_office, person

SECRET = "Their secret purchase"


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, str]]:
    """A desk with one person per role, one without any, and another tenant with a run of its own."""
    folder: Path = tmp_path_factory.mktemp("walk")
    with open_office(folder / "data") as office:
        for role in ROLES:
            office.running.save_person(f"only-{role}", roles=(role,), groups=("managers",), password=PASSWORD)
        office.running.save_person("nobody", roles=(), password=PASSWORD)
        for login, roles in (("ada", ("designer", "publisher", "starter")), ("grace", ("approver",))):
            office.running.save_person(login, roles=roles, groups=("managers",), tenant="other")
        document = chain("theirs", ask("manager")) | {"title": SECRET}
        made = office.signoff.create_draft(person("ada"), "other", document)
        office.signoff.publish(person("ada"), "other", "theirs", made["revision"])
        run_id = office.signoff.start_run(person("ada"), "other", "theirs", {})["run_id"]
        office.signoff.send_signal(person("ada"), "other", "theirs", "k", {"x": SECRET}, message_id="i")
        yield Desk(office), run_id


def test_the_table_of_this_test_is_the_api(walk: tuple[Desk, str]) -> None:
    assert routes_of(walk[0].api) == set(EVERY) | OPEN
    assert {name for name, _ in EVERY.values() if name} <= set(MAY)
    assert all(words(name) for name in MAY)


@pytest.mark.parametrize("login", [*(f"only-{r}" for r in ROLES), "nobody"])
def test_each_role_gets_what_the_table_says_and_nothing_of_another_tenant(walk: tuple[Desk, str], login: str) -> None:
    desk, run_id = walk
    role = login.removeprefix("only-")
    may = permitted([role] if role in ROLES else [])
    for route, (name, _) in sorted(EVERY.items()):
        if route in ENDS_THE_CALLER:
            continue
        foreign = answer(desk, login, route, run_id, "theirs")
        missing = answer(desk, login, route, "r-" + "x" * (len(run_id) - 2), "absent")
        assert SECRET not in foreign.text, route
        if route != "POST /definitions":
            assert foreign.status_code == missing.status_code, route
        if name and name not in may:
            assert foreign.status_code in (403, 404), (route, foreign.text)
            assert foreign.status_code == 403 or "inbox" in route, (route, foreign.text)
        elif "{run_id}" in route or ("{name}" in route and "signals" not in route and route.startswith("GET")):
            assert foreign.status_code in (404, 409), (route, foreign.text)
        else:
            assert foreign.status_code < 500, (route, foreign.text)
            assert foreign.status_code not in (401, 403), (route, foreign.text)
        if foreign.status_code in (403, 404):
            absent = "r-" + "x" * (len(run_id) - 2)
            assert alike(foreign.text, run_id, "theirs") == alike(missing.text, absent, "absent"), route
    assert desk.office.signoff.queries.get_run("other", run_id).row.status == "running"
    desk._tokens.pop(login, None)


def answer(desk: Desk, login: str, route: str, run_id: str, name: str) -> Any:
    method, path, body = request_of(route, run_id, name)
    if route == "POST /runs":
        body = {"definition": name}
    return desk.http.request(method, path, json=body, headers=desk.as_(login))


def alike(text: str, run_id: str, name: str) -> str:
    """An answer without what it repeats of its own address, ids made now, and times."""
    text = text.replace(run_id, "RUN").replace(name, "NAME")
    text = re.sub(r'"(bulk_id|message_id|id|token)": ?"?[^",}]*"?', '"\\1"', text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", text)


@pytest.mark.parametrize("route", sorted(EVERY))
def test_no_route_opens_without_a_bearer_however_it_is_spelt(walk: tuple[Desk, str], route: str) -> None:
    """Security list, 12: suffixes, prefixes and encodings are no way around signing in."""
    desk, run_id = walk
    method, path, body = request_of(route, run_id)
    desk.api.state.limits.bearers._left.clear()
    for spelt in (
        path, f"{path}/", f"/{path}", f"{path}/session", f"/session/..{path}", f"{path}?x=/session", f"{path};session",
        f"{path}%2fsession", path.upper(), f"{path}%00", f"/health{path}", f"{path}/health",
    ):  # fmt: skip
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}):
            found = desk.http.request(method, spelt, json=body, headers=headers, follow_redirects=False)
            assert found.status_code in (401, 404, 405, 307), (spelt, found.status_code)
            if spelt == path:
                assert found.status_code == 401
                assert found.headers["content-type"] == "application/problem+json"
            assert SECRET not in found.text


def test_inner_ids_are_checked_like_outer_ones(walk: tuple[Desk, str]) -> None:
    """Security list, 11: a bulk command names a run of another tenant in its body."""
    desk, run_id = walk
    body = {"command": "terminate_run", "items": [{"run_id": run_id, "sequence": 2}], "reason": "mischief"}
    found = desk.post("only-operator", "/runs/bulk", body)
    assert found.json()["done"] == 0
    previewed = desk.post(
        "only-operator", "/runs/bulk/preview", {"command": "pause_run", "which": {"run_ids": [run_id]}}
    )
    assert previewed.json()["sendable"] == []
    assert desk.office.signoff.queries.get_run("other", run_id).row.status == "running"
