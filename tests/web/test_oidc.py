"""Signing in at a provider: a real one on loopback, in a real browser, and everything that a bad one could bring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.sync_api import expect

from signoff.connectors.oidc import OidcSettings, Provider
from signoff.errors import ConfigurationFault, Forbidden, NotSignedIn, Unavailable
from signoff.runtime.oidc_settings import load_oidc_settings, save_oidc_settings
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office, Server, open_office
from tests.web.provider import CLIENT, SECRET, House, provider
from tests.web.test_security import Client

ROLES = {"approvers": ("approver",), "admins": ("administrator",)}


@pytest.fixture(scope="module")
def house_server() -> Iterator[House]:
    with provider() as found:
        yield found


@pytest.fixture
def house(house_server: House, monkeypatch: pytest.MonkeyPatch) -> House:
    house_server.lie = {}
    house_server.person = {
        "sub": "42",
        "preferred_username": "olga",
        "name": "Olga",
        "groups": ["approvers", "finance"],
    }
    return house_server


@pytest.fixture(scope="module")
def office_server(tmp_path_factory: pytest.TempPathFactory, house_server: House) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    secret = folder / "secret.txt"
    secret.write_text(SECRET)
    office = open_office(folder)
    server = Server(office)
    settings = OidcSettings(
        house_server.issuer, CLIENT, office.address, f"file:{secret}", "Sign in with Example", roles=ROLES,
        groups={"finance": "managers"},
    )  # fmt: skip
    server.use(Provider(settings))
    with office.running, server:
        yield office


def come(office: Office, **change: str) -> tuple[Client, Any]:
    """Leave for the provider and come back, in a browser without scripts."""
    client = Client(office)
    left = client.get("/login/oidc?next=/inbox")
    assert left.status == 303
    back = urlsplit(httpx2.get(left.headers["location"]).headers["location"])
    query = {k: v[0] for k, v in parse_qs(back.query).items()} | change
    return client, client.get(f"{back.path}?code={query['code']}&state={query['state']}")


def olga(office: Office) -> Any:
    return next((p for p in office.signoff.queries.list_people(TENANT) if p.login == "olga"), None)


def test_a_person_signs_in_and_decides(visit: Visitors, office: Office, house: House) -> None:
    run_id = office.waiting_run()
    page = visit.stranger()
    page.goto(f"{office.address}/inbox")
    page.get_by_role("link", name="Sign in with Example").click()
    page.wait_for_url("**/inbox")
    found = olga(office)
    assert (found.name, found.roles, found.groups) == ("Olga", ("approver",), ("managers",))
    assert house.asked[-1]["code_challenge_method"] == "S256"
    assert house.asked[-1]["scope"].split()[0] == "openid"
    later = office.waiting_run()
    page.goto(f"{office.address}/inbox/{later}/approve")
    visit.ready(page)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Approved")).to_be_visible()
    assert office.status(run_id)["approve"] == "waiting", "the roster was frozen before"


def test_groups_there_decide_at_each_sign_in_what_one_may_here(office: Office, house: House) -> None:
    first, answer = come(office)
    assert answer.headers["location"] == "/inbox"
    house.person["groups"] = ["admins", "unknown", 7]
    come(office)
    assert (olga(office).roles, olga(office).groups) == (("administrator",), ())
    assert office.signoff.queries.find_session(first.secret) is None, "the session with the old roles has ended"
    house.person.pop("groups")
    come(office)
    assert (olga(office).roles, olga(office).groups) == ((), ())


def test_nobody_takes_over_an_account_that_exists(office: Office, house: House) -> None:
    house.person = {"sub": "99", "preferred_username": "max", "groups": ["admins"]}
    client, answer = come(office)
    assert answer.status == 403
    assert "does not belong to this identity" in answer.text
    assert "signoff" not in client.cookies
    house.person = {"sub": "43", "preferred_username": "olga"}
    come(office)
    assert come(office)[1].status == 403, "another subject under the same login"
    with pytest.raises(NotSignedIn):
        office.signoff.sign_in(TENANT, "olga", "")


def test_a_closed_account_stays_closed(office: Office, house: House) -> None:
    come(office)
    office.running.save_person("olga", roles=None, groups=None, active=False)
    client, answer = come(office)
    assert (answer.status, "signoff" in client.cookies) == (403, False)
    office.running.save_person("olga", roles=None, groups=None, active=True)


@pytest.mark.parametrize(
    "lie",
    [
        {"key": True}, {"alg": "none"}, {"alg": "HS256"}, {"iss": "http://localhost:1"}, {"aud": "another"},
        {"aud": ["another"]}, {"nonce": "x"}, {"nonce": None}, {"exp": 1}, {"exp": None}, {"iat": None},
        {"sub": None}, {"iat": 4_000_000_000}, {"nbf": 4_000_000_000},
    ],
    ids=str,
)  # fmt: skip
def test_a_token_that_lies_signs_nobody_in(office: Office, house: House, lie: dict[str, Any]) -> None:
    house.lie = lie
    client, answer = come(office)
    assert (answer.status, "signoff" in client.cookies) == (401, False)
    house.lie = {}
    assert come(office)[1].status == 303


def test_only_the_browser_that_left_comes_back(office: Office, house: House) -> None:
    """Login CSRF: a code and state of somebody else, no state, a state twice, a code twice."""
    _, answer = come(office, state="forged")
    assert answer.status == 401
    _, answer = come(office, state="")
    assert answer.status == 401
    client = Client(office)
    left = client.get("/login/oidc")
    back = urlsplit(httpx2.get(left.headers["location"]).headers["location"])
    path = f"{back.path}?{back.query}"
    assert Client(office).get(path).status == 401, "a browser that never left"
    away = client.cookies["signoff-away"]
    assert client.get(path).status == 303
    client.cookies["signoff-away"] = away
    assert client.get(path).status == 401, "a code is good once"
    for broken in ("", "x", "e30=", "\u00e4"):
        other = Client(office)
        other.cookies["signoff-away"] = broken.encode("ascii", "ignore").decode()
        assert other.get(path).status == 401


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_one_comes_back_to_this_site_only(office: Office, house: House, target: str) -> None:
    client = Client(office)
    left = client.get(f"/login/oidc?next={target}")
    back = urlsplit(httpx2.get(left.headers["location"]).headers["location"])
    assert client.get(f"{back.path}?{back.query}").headers["location"] == "/"


def test_asking_again_asks_for_the_credential(office: Office, house: House) -> None:
    Client(office).get("/login/oidc?again=yes")
    client = Client(office)
    location = client.get("/login/oidc?again=yes").headers["location"]
    assert parse_qs(urlsplit(location).query)["prompt"] == ["login"]


SIGNED = {
    "name": "signed", "title": "Signed", "edges": [],
    "steps": [
        {"id": "sign", "kind": "approval", "label": "Sign", "groups": ["managers"], "reauthenticate": "PT10M"}
    ],
}  # fmt: skip


def test_signing_takes_a_fresh_sign_in_there(visit: Visitors, office: Office, house: House) -> None:
    """Coming back from a provider that knows somebody already is no proof; "Sign in again" leads there and back."""
    page = visit.stranger()
    page.goto(f"{office.address}/inbox")
    page.get_by_role("link", name="Sign in with Example").click()
    page.wait_for_url("**/inbox")
    office.publish(SIGNED)
    run_id = office.start(definition="signed")
    office.wait_until(run_id, lambda s: s["sign"] == "waiting")
    page.goto(f"{office.address}/inbox/{run_id}/sign")
    visit.ready(page)
    visit.expected = ("409",)
    page.get_by_label("Comment").fill("Looks right")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("wants to be sure that it is you: sign in again where you")
    expect(page.get_by_label("Comment")).to_have_value("Looks right")
    assert page.get_by_label("Your password").count() == 0
    page.get_by_role("link", name="Sign in again").click()
    page.wait_for_url(f"**/inbox/{run_id}/sign")
    visit.ready(page)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Approved")).to_be_visible()
    events = office.signoff.queries.list_events(TENANT, run_id)
    told = next(e.data for e in events if e.type == "approval.decision_recorded")["signed_in"]
    assert told["method"] == "oidc"
    assert told["confirmed_at"]


@pytest.mark.parametrize("lie", [{"auth_time": None}, {"auth_time": 1_000_000_000}, {"auth_time": "now"}])
def test_a_provider_that_did_not_ask_again_is_not_believed(office: Office, house: House, lie: dict[str, Any]) -> None:
    house.lie = lie
    client = Client(office)
    left = client.get("/login/oidc?again=yes&next=/inbox")
    back = urlsplit(httpx2.get(left.headers["location"]).headers["location"])
    answer = client.get(f"{back.path}?{back.query}")
    assert answer.status == 401
    assert "did not ask for your credential again" in answer.text or lie["auth_time"] == "now"
    assert "signoff" not in client.cookies


def test_cookies_are_out_of_reach_and_no_secret_is_in_a_page(office: Office, house: House) -> None:
    client = Client(office)
    left = client.get("/login/oidc")
    [away] = [c.lower() for c in left.cookies if c.startswith("signoff-away=")]
    assert "httponly" in away
    assert "samesite=lax" in away
    assert SECRET not in left.text + str(left.headers)
    assert SECRET not in client.get("/login").text


def test_settings_that_are_not_safe_are_refused(tmp_path: Path) -> None:
    good = OidcSettings("https://id.example", "c", "https://signoff.example", roles=ROLES)
    save_oidc_settings(tmp_path, good)
    assert load_oidc_settings(tmp_path) == good
    assert (tmp_path / "oidc.json").stat().st_mode & 0o077 == 0
    for bad in (
        OidcSettings("http://id.example", "c", "https://s.example"),
        OidcSettings("https://id.example", "c", "http://s.example"),
        OidcSettings("https://u:p@id.example", "c", "https://s.example"),
        OidcSettings("https://id.example", "", "https://s.example"),
        OidcSettings("https://id.example", "c", "https://s.example/"),
    ):
        with pytest.raises(ConfigurationFault):
            bad.check()
    (tmp_path / "oidc.json").write_text('{"nonsense": 1}')
    with pytest.raises(ConfigurationFault):
        load_oidc_settings(tmp_path)


def test_a_provider_that_is_another_or_away(house: House) -> None:
    settings = OidcSettings(f"{house.issuer}/", CLIENT, "http://localhost:1")
    with pytest.raises(Unavailable, match="another name"):
        Provider(settings).begin()
    with pytest.raises(Unavailable, match="cannot be reached"):
        Provider(OidcSettings("http://localhost:1", CLIENT, "http://localhost:1")).begin()


def test_the_engine_takes_no_such_sign_in_from_workers(office: Office) -> None:
    from signoff.engine.request import unwrap
    from signoff.engine.writer import read_request

    args = {"issuer": "i", "subject": "s", "login": "intruder", "roles": ["administrator"]}
    message = {"do": "sign_in_oidc", "tenant": TENANT, "args": args}
    for origin in ("worker", "engine"):
        request = read_request(message, lambda answer: None, origin, lambda tenant, login: None)
        with pytest.raises(Forbidden):
            unwrap(office.running.writer.ask(request))
