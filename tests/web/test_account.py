"""One's own account and the list of accounts, in a real browser: tokens shown once, sessions ended, accounts closed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from playwright.sync_api import expect
from websockets.exceptions import ConnectionClosed

from signoff.api.app import create_api
from signoff.web.session import form_token
from tests.web.conftest import Visitors
from tests.web.office import Office, Server, open_office
from tests.web.test_security import drain, signed_in, socket, token_of


@pytest.fixture(scope="module")
def office_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    office = open_office(tmp_path_factory.mktemp("office"))
    office.running.save_person("root", name="Root", roles=("administrator",), password="demo")
    server = Server(office)
    server.app.mount("/api", create_api(office.signoff))
    with office.running, server:
        yield office


def test_a_token_is_shown_once_and_works(visit: Visitors, office: Office) -> None:
    page = visit("ada", "/runs")
    page.goto(f"{office.address}/account")
    expect(page.get_by_role("note").filter(has_text="Demo: people, passwords and data are made up")).to_be_visible()
    page.get_by_text("New token for Ada").click()
    page.get_by_label("What it is for").fill("Nightly report")
    page.get_by_label("read_runs", exact=True).check()
    page.get_by_role("button", name="Make the token").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    assert secret.startswith("sgn_")
    headers = {"Authorization": f"Bearer {secret}"}
    assert httpx2.get(f"{office.address}/api/runs", headers=headers).status_code == 200
    assert httpx2.get(f"{office.address}/api/definitions", headers=headers).status_code == 403
    page.goto(f"{office.address}/account")
    assert secret not in page.content()
    expect(page.get_by_text("Nightly report")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()
    assert httpx2.get(f"{office.address}/api/runs", headers=headers).status_code == 401


def test_somebody_decides_for_me_while_i_am_away(visit: Visitors, office: Office) -> None:
    office.running.save_person("eve", name="Eve <i>deputy</i>", roles=("approver",), password="demo")
    run_id = office.waiting_run()
    page = visit("max", "/inbox")
    page.goto(f"{office.address}/account")
    page.get_by_text("Record an absence").click()
    page.get_by_label("Last day").fill("2099-12-31")
    page.get_by_label("Who decides meanwhile").select_option("eve")
    page.get_by_label("Reason").fill("Sabbatical")
    visit.expected = ("422",)
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_text("lasts 400 days at most")).to_be_visible()
    page.goto(f"{office.address}/account")
    page.get_by_text("Record an absence").click()
    last = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    page.get_by_label("Last day").fill(last)
    page.get_by_label("Who decides meanwhile").select_option("eve")
    page.get_by_label("Reason").fill("Holiday")
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_role("table", name="Your absences")).to_contain_text("Eve <i>deputy</i>")

    eve = visit("eve", "/inbox")
    expect(eve.get_by_text("for Max (manager), who is absent")).to_be_visible()
    visit.go(eve, f"/inbox/{run_id}/approve")
    expect(eve.get_by_text("You answer on behalf of Max (manager), who is absent.")).to_be_visible()
    eve.get_by_role("button", name="Approve").click()
    expect(eve.get_by_role("heading", name="Approved")).to_be_visible()
    visit.go(eve, f"/runs/{run_id}")
    story = eve.get_by_role("list", name="History")
    expect(story).to_contain_text("Eve <i>deputy</i> on behalf of Max (manager) approved")

    page.goto(f"{office.address}/account")
    page.get_by_role("table", name="Your absences").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("You have recorded no absence.")).to_be_visible()
    root = visit("root", "/inbox")
    root.goto(f"{office.address}/people")
    root.get_by_text("Record an absence of somebody").click()
    form = root.locator("details", has_text="Record an absence of somebody")
    form.get_by_label("Who is absent").select_option("mia")
    form.get_by_label("Last day").fill(last)
    form.get_by_label("Who decides meanwhile").select_option("eve")
    form.get_by_label("Reason").fill("Ill")
    form.get_by_role("button", name="Record it").click()
    table = root.get_by_role("table", name="Absences")
    expect(table).to_contain_text("Ill")
    table.get_by_label("Reason for revoking").fill("Well again")
    table.get_by_role("button", name="Revoke").click()
    expect(root.get_by_text("Nobody has recorded an absence.")).to_be_visible()


def test_signing_out_everywhere_closes_every_page(visit: Visitors, office: Office) -> None:
    other = signed_in(office, "mia")
    page = visit("mia", "/inbox")
    with socket(office, "/runs", token_of(other, "/runs"), other.secret, office.address) as opened:
        opened.recv(timeout=5)
        page.goto(f"{office.address}/account")
        expect(page.get_by_text("Chrome on Linux")).to_be_visible()
        page.get_by_role("button", name="Sign out everywhere").click()
        page.wait_for_url("**/login")
        with pytest.raises(ConnectionClosed):
            drain(opened)
    assert office.signoff.queries.find_session(other.secret) is None


def test_another_role_closes_open_pages_within_seconds(office: Office) -> None:
    """Security list, 13; the limit of five seconds is in `drain`."""
    office.running.save_person("temp", roles=("operator",), password="demo")
    temp = signed_in(office, "temp")
    with socket(office, "/runs", token_of(temp, "/runs"), temp.secret, office.address) as opened:
        opened.recv(timeout=5)
        office.running.save_person("temp", roles=("starter",), groups=None)
        with pytest.raises(ConnectionClosed):
            drain(opened)


def test_an_administrator_makes_a_service_and_closes_an_account(visit: Visitors, office: Office) -> None:
    visit.expected = ("401", "403")
    page = visit("root", "/runs")
    page.goto(f"{office.address}/people")
    page.get_by_text("New or changed account").click()
    page.get_by_label("Login").fill("robot")
    page.get_by_label("Kind").select_option("service")
    page.get_by_label("starter", exact=True).check()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("New token for robot").click()
    page.get_by_label("What it is for").fill("Orders")
    page.get_by_label("start_run", exact=True).check()
    page.get_by_role("button", name="Make the token").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    body = {"definition": "purchase", "input": {"item": "Pens", "amount": 3}}
    headers = {"Authorization": f"Bearer {secret}"}
    assert httpx2.post(f"{office.address}/api/runs", json=body, headers=headers).status_code == 201
    row = page.get_by_role("row").filter(has_text="robot").filter(has=page.get_by_role("button", name="Close"))
    row.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Open")).to_be_visible()
    assert httpx2.post(f"{office.address}/api/runs", json=body, headers=headers).status_code == 401


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 390])
def test_the_pages_fit(visit: Visitors, office: Office, width: int, theme: str) -> None:
    page = visit("root", "/runs", width=width)
    page.context.add_cookies([{"name": "signoff-theme", "value": theme, "url": office.address}])
    for path in ("/account", "/people"):
        page.goto(office.address + path)
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path


def test_markup_in_names_is_text(visit: Visitors, office: Office) -> None:
    """Security list, 17, for the names on these pages."""
    evil = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
    office.running.save_person("evil", name=evil, roles=("starter",), groups=(evil,), password="demo")
    evil_one = signed_in(office, "evil")
    form = {"token": form_token(evil_one.secret), "name": evil[:100], "days": 1, "scope": "read_runs"}
    assert evil_one.send("POST", "/account/tokens", form).status == 200
    page = visit("root", "/runs")
    page.goto(f"{office.address}/people")
    expect(page.get_by_text("onerror").first).to_be_visible()
    assert page.locator("main img, main script").count() == 0
