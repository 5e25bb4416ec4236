"""What cannot be undone asks who it is once more: erasing, changing retention, new keys; on every way there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.writer import PROVED
from signoff.errors import Forbidden, SignoffError
from tests.api.every_route import EVERY
from tests.api.test_api import PASSWORD, Desk
from tests.engine.office import TENANT, Clock, Office, ask, chain, open_office, person

DESTROYING: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "erase_run": ("POST /runs/{run_id}/erase", {}, {}),
    "set_retention": ("PUT /retention", {"retention": {"days": 400}}, {"retention": {"days": 400}}),
    "rotate_keys": ("POST /keys/rotate", {"what": "signing"}, {"what": "signing"}),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock, services=False) as found:
        for tenant in (TENANT, "other"):
            found.running.save_person("root", roles=("administrator",), password=PASSWORD, tenant=tenant)
        found.publish(chain("buy", ask("manager")))
        yield found


def ended(office: Office) -> str:
    run_id = office.start("buy")
    office.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="not wanted")
    office.until_status(run_id, "cancelled")
    return run_id


def done(office: Office) -> dict[str, bool]:
    """What of it has happened."""
    rows = office.signoff.queries._reader.rows("SELECT reason FROM run_key WHERE erased_at IS NOT NULL")
    return {
        "erase_run": bool(rows),
        "set_retention": office.signoff.queries.retention.of(TENANT).days == 400,
        "rotate_keys": office.signoff.queries.keys.under_way(TENANT) == ["signing"],
    }


@pytest.mark.parametrize("name", DESTROYING)
def test_over_rest_it_takes_a_fresh_proof(office: Office, clock: Clock, name: str) -> None:
    desk, run_id = Desk(office), ended(office)
    route, body, _ = DESTROYING[name]
    method, _, path = route.partition(" ")
    assert EVERY[route][0] == name

    def send(**more: Any) -> Any:
        where, what = path.format(run_id=run_id), {**body, "reason": "wanted", **more}
        return desk.http.request(method, where, json=what, headers=desk.as_("root"))

    desk.as_("root")
    clock.move(minutes=11)
    stale = send()
    assert (stale.status_code, stale.json()["code"]) == (409, "confirm_identity")
    assert "give your password again" in stale.json()["title"]
    wrong = send(password="wrong")
    assert (wrong.status_code, wrong.json()["code"]) == (403, "wrong_password")
    assert not any(done(office).values())
    good = send(password=PASSWORD)
    assert good.status_code in (200, 202), good.text
    assert done(office)[name]
    assert PASSWORD not in good.text


@pytest.mark.parametrize("name", DESTROYING)
def test_a_fresh_sign_in_does_and_the_folder_is_proof_enough(office: Office, name: str) -> None:
    desk, run_id = Desk(office), ended(office)
    route, body, args = DESTROYING[name]
    method, _, path = route.partition(" ")
    fresh = {"json": {**body, "reason": "wanted"}, "headers": desk.as_("root")}
    assert desk.http.request(method, path.format(run_id=run_id), **fresh).status_code in (200, 202)
    more = {**args, "run_id": ended(office)} if name == "erase_run" else args
    for channel in ("rest", "browser", "test"):
        with pytest.raises(SignoffError, match="give your password again"):
            office.signoff.do(name, person("root", channel), TENANT, reason="wanted", **more)
    office.signoff.do(name, person("root", "cli"), TENANT, reason="wanted", **more)


def test_no_password_of_these_is_stored_or_handed_on(office: Office) -> None:
    assert set(DESTROYING) <= PROVED


def test_the_signing_key_is_replaced_by_administrators_of_the_installation_only(office: Office) -> None:
    """It signs the records of all tenants: no tenant's administrator replaces the proof of another."""
    do = office.signoff.do
    for channel in ("rest", "browser", "cli"):
        with pytest.raises(Forbidden, match="signs the records of all tenants"):
            do("rotate_keys", person("root", channel), "other", what="signing", reason="mine", password=PASSWORD)
    assert office.signoff.queries.keys.under_way("other") == []
    refusals = office.signoff.queries._reader.rows(
        "SELECT outcome FROM audit WHERE tenant='other' AND action='rotate_keys'"
    )
    assert [r[0] for r in refusals] == ["refused"] * 3
    do("rotate_keys", person("root", "rest"), "other", what="tenant", reason="yearly", password=PASSWORD)
    assert office.signoff.queries.keys.under_way("other") == ["tenant"]
    do("rotate_keys", person("root", "rest"), TENANT, what="signing", reason="yearly", password=PASSWORD)
    assert office.signoff.queries.keys.under_way(TENANT) == ["signing"]
