"""Step-up: an approval asks for the password again at signing; on every route, recorded, and refused in clear words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from signoff.connectors.oidc import OidcSettings, Provider
from signoff.core.states import Actor
from signoff.errors import Forbidden, Refused, Unavailable
from signoff.web.app import create_app
from signoff.web.session import form_token
from signoff.web.settings import WebSettings
from tests.api.test_api import PASSWORD, Desk
from tests.engine.office import PEOPLE, TENANT, Clock, Office, ask, chain, open_office, person
from tests.notices.mailing import by_link, mailing_office, mails, tokens, waiting
from tests.notices.smtp import mail_server

BUY = chain("buy", ask("manager", required=3, reauthenticate="PT10M"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock) as found:
        for login, (roles, groups) in PEOPLE.items():
            found.running.save_person(login, roles=roles, groups=groups, password=PASSWORD)
        found.publish(BUY)
        yield found
        found.check_replay()


def asked(office: Office) -> tuple[str, dict[str, Any]]:
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    task = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
    assert task.reauthenticate == "PT10M"
    return run_id, {"generation": task.generation, "shown_digest": task.shown_digest}


def recorded(office: Office, run_id: str) -> list[dict[str, Any]]:
    events = office.signoff.queries.list_events(TENANT, run_id)
    return [e.data["signed_in"] for e in events if e.type == "approval.decision_recorded"]


def test_a_fresh_sign_in_does_and_an_old_one_does_not(office: Office, clock: Clock) -> None:
    desk = Desk(office)
    desk.as_("grace")
    run_id, seen = asked(office)
    path, body = f"/inbox/{run_id}/manager/decision", {"outcome": "approved", **seen}
    clock.move(minutes=11)
    refused = desk.post("grace", path, body)
    assert (refused.status_code, refused.json()["code"]) == (409, "confirm_identity")
    assert "give your password again" in refused.json()["title"]
    assert "10 minutes" in refused.json()["remedy"]
    assert office.evidence(run_id) == ["confirm_identity"]
    wrong = desk.post("grace", path, {**body, "password": "wrong"})
    assert (wrong.status_code, wrong.json()["code"]) == (403, "wrong_password")
    assert desk.post("grace", path, {**body, "password": PASSWORD}).status_code == 200
    [how] = recorded(office, run_id)
    assert how["method"] == "password"
    assert how["confirmed_at"] == clock.now.isoformat()
    assert how["at"] < how["confirmed_at"]
    assert PASSWORD not in str(office.signoff.queries.list_events(TENANT, run_id))


def test_it_is_good_for_the_session_for_a_while(office: Office, clock: Clock) -> None:
    desk = Desk(office)
    desk.as_("grace")
    clock.move(minutes=30)
    first, seen = asked(office)
    body = {"outcome": "approved", **seen}
    assert desk.post("grace", f"/inbox/{first}/manager/decision", {**body, "password": PASSWORD}).status_code == 200
    clock.move(minutes=9)
    second, seen = asked(office)
    assert desk.post("grace", f"/inbox/{second}/manager/decision", {"outcome": "approved", **seen}).status_code == 200
    clock.move(minutes=2)
    third, seen = asked(office)
    assert desk.post("grace", f"/inbox/{third}/manager/decision", {"outcome": "approved", **seen}).status_code == 409


def test_wrong_passwords_are_counted_like_at_the_door(office: Office) -> None:
    run_id, seen = asked(office)
    actor = person("grace", "cli")
    for _ in range(8):
        with pytest.raises(Forbidden, match="The password is wrong"):
            office.signoff.decide(actor, TENANT, run_id, "manager", "approved", password="x", **seen)
    with pytest.raises(Unavailable, match="too many"):
        office.signoff.decide(actor, TENANT, run_id, "manager", "approved", password=PASSWORD, **seen)
    with pytest.raises(Unavailable):
        office.signoff.sign_in(TENANT, "grace", PASSWORD)
    assert recorded(office, run_id) == []


def test_the_command_line_and_tokens_of_programs_need_it_too(office: Office) -> None:
    run_id, seen = asked(office)
    with pytest.raises(Refused) as refused:
        office.signoff.decide(person("grace", "cli"), TENANT, run_id, "manager", "approved", **seen)
    assert refused.value.code == "confirm_identity"
    desk = Desk(office)
    secret = desk.post("alan", "/tokens", {"name": "x", "scopes": ["decide", "read_inbox"]}).json()["token"]
    path, headers = f"/inbox/{run_id}/manager/decision", {"Authorization": f"Bearer {secret}"}
    body = {"outcome": "approved", **seen}
    assert desk.http.post(path, json=body, headers=headers).json()["code"] == "confirm_identity"
    assert desk.http.post(path, json={**body, "password": PASSWORD}, headers=headers).status_code == 200
    office.signoff.decide(person("grace", "cli"), TENANT, run_id, "manager", "approved", password=PASSWORD, **seen)
    assert [x["method"] for x in recorded(office, run_id)] == ["token", "folder"]


def test_the_page_asks_for_it(office: Office, clock: Clock) -> None:
    web = TestClient(create_app(office.signoff, WebSettings()), base_url="http://localhost", follow_redirects=False)
    secret = office.signoff.sign_in(TENANT, "grace", PASSWORD)["session"]
    run_id, seen = asked(office)
    clock.move(minutes=30)
    form = {"outcome": "approved", **seen, "key": "k" * 12, "token": form_token(secret)}
    headers = {"Cookie": f"signoff={secret}"}
    first = web.post(f"/decide/{run_id}/manager", data=form, headers=headers)
    assert first.status_code == 409
    assert "wants to be sure that it is you" in first.text
    again = web.post(f"/decide/{run_id}/manager", data={**form, "key": "l" * 12, "password": PASSWORD}, headers=headers)
    assert "Your decision has been recorded." in again.text


def test_a_link_needs_it_as_well_and_is_not_used_up_by_a_refusal(tmp_path: Path) -> None:
    with mail_server() as box, mailing_office(tmp_path / "data", box) as office:
        run_id = waiting(office, BUY | {"input": [{"name": "amount", "type": "number"}]})
        token = tokens(mails(office, box))["grace"]
        with pytest.raises(Refused) as refused:
            by_link(office, "grace", token, run_id)
        assert refused.value.code == "confirm_identity"
        by_link(office, "grace", token, run_id, password="demo")
        assert len(recorded(office, run_id)) == 1


def test_a_provider_says_when_somebody_signed_in(office: Office, clock: Clock) -> None:
    args = {"issuer": "i", "subject": "s", "login": "olga", "roles": ["approver"], "groups": ["managers"]}

    def signed_in(**more: Any) -> Actor:
        session = office.signoff.do("sign_in_oidc", Actor("person", "olga"), TENANT, **args, **more)["session"]
        return Actor("person", "olga", "Olga", "web", office.signoff.queries.find_session(session).session_id)

    signed_in()
    run_id, seen = asked(office)
    now = int(clock.now.timestamp())
    for told in ({}, {"credential_at": now - 3_600}):
        with pytest.raises(Refused) as refused:
            office.signoff.decide(signed_in(**told), TENANT, run_id, "manager", "approved", **seen)
        assert refused.value.code == "confirm_identity"
        assert "sign in again where you signed in" in refused.value.message
    office.signoff.decide(signed_in(credential_at=now - 60), TENANT, run_id, "manager", "approved", **seen)
    assert recorded(office, run_id)[0]["method"] == "oidc"


def test_pages_and_links_lead_to_the_provider_where_there_is_no_password(tmp_path: Path) -> None:
    provider = Provider(OidcSettings("http://localhost:1", "c", "http://localhost:2"))
    with mail_server() as box, mailing_office(tmp_path / "data", box) as office:
        args = {"issuer": "i", "subject": "s", "login": "olga", "roles": ["approver"], "groups": ["managers"]}
        args |= {"email": "olga@office.example"}
        session = office.signoff.do("sign_in_oidc", Actor("person", "olga"), TENANT, **args)["session"]
        run_id = waiting(office, BUY | {"input": [{"name": "amount", "type": "number"}]})
        token = tokens(mails(office, box))["olga"]
        settings = WebSettings(provider=provider)
        web = TestClient(create_app(office.signoff, settings), base_url="http://localhost", follow_redirects=False)
        page = web.get("/link/task", headers={"Cookie": f"signoff={session}; signoff-link={token}"}).text
        assert 'href="/login/oidc?again=yes&amp;next=/link/task"' in page
        assert 'type="password"' not in page
        task = office.signoff.queries.find_task(TENANT, "olga", run_id, "manager")
        form = {"outcome": "approved", "generation": 1, "shown_digest": task.shown_digest, "key": "k" * 12}
        form |= {"token": form_token(session), "by_link": "yes"}
        headers = {"Cookie": f"signoff={session}; signoff-link={token}"}
        answer = web.post(f"/decide/{run_id}/manager", data=form, headers=headers)
        assert (answer.status_code, 'next=/link/task"' in answer.text) == (409, True)
        answer = web.post(f"/decide/{run_id}/manager", data=form | {"by_link": ""}, headers=headers)
        assert f'href="/login/oidc?again=yes&amp;next=/inbox/{run_id}/manager"' in answer.text


@pytest.mark.parametrize("text", ["P1M", "PT0S", "soon", "P2D", "PT10M working"])
def test_a_span_that_makes_no_sense_is_a_problem(office: Office, text: str) -> None:
    document = chain("x", ask("manager", reauthenticate=text))
    found = Desk(office).post("ada", "/definitions/validate", {"document": document}).json()
    assert "bad_reauthenticate" in str(found)
