"""The page behind a mail's link, in a real browser and with a scanner's tools: looking changes nothing (case C08)."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from signoff.runtime.notice_settings import MailSettings, NoticeSettings, save_notice_settings
from signoff.store.dialects.sqlite import open_engine
from signoff.web.session import form_token
from tests.notices.mailing import tokens
from tests.notices.smtp import Mailbox, mail_server
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office, Server, open_office
from tests.web.test_security import Client, signed_in

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def box() -> Iterator[Mailbox]:
    with mail_server() as found:
        yield found


@pytest.fixture(scope="module")
def office_server(tmp_path_factory: pytest.TempPathFactory, box: Mailbox) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    mail = MailSettings("127.0.0.1", box.port, "none", sender="Signoff <signoff@office.example>")
    save_notice_settings(folder, NoticeSettings("http://localhost", mail))
    office = open_office(folder)
    for login in ("max", "mia"):
        office.running.save_person(login, roles=None, groups=None, email=f"{login}@office.example")
    with office.running, Server(office):
        yield office


def sent(office: Office, box: Mailbox, **values: Any) -> tuple[str, dict[str, str]]:
    """A run that waits, and the tokens in the mails about it."""
    before = len(box.raw)
    run_id = office.waiting_run(**values)
    found = tokens(box.wait(before + 2)[before:])
    pause = threading.Event()
    for _ in range(200):
        if not office.signoff.queries.list_deliveries(TENANT, status="pending").items:
            break
        pause.wait(0.05)
    return run_id, found


def sign_in(page: Page, login: str) -> None:
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill("demo")
    page.get_by_role("button", name="Sign in", exact=True).click()


def everything(office: Office) -> list[str]:
    """All rows of all tables, but for sessions and the audit of signing in."""
    folder = office.running.reader.url.database
    engine = open_engine(folder, read_only=True)
    rows = []
    with engine.connect() as connection:
        for (table,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name"):
            if table not in ("session", "audit", "ledger_leaf", "ledger_checkpoint"):
                rows += [f"{table} {tuple(r)!r}" for r in connection.exec_driver_sql(f'SELECT * FROM "{table}"')]
    engine.dispose()
    return rows


def test_a_person_decides_through_a_link_on_a_telephone(visit: Visitors, office: Office, box: Mailbox) -> None:
    run_id, links = sent(office, box, item="Standing desk", amount=640.0)
    visit.expected = ("409",)
    page = visit.stranger(width=390, height=844)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url + (request.headers.get("referer") or "")))
    page.goto(f"{office.address}/link#{links['max']}")
    page.wait_for_url("**/login?next=/link")
    sign_in(page, "max")
    page.wait_for_url("**/link/task")
    expect(page.get_by_text("Standing desk")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    approve = page.get_by_role("button", name="Approve")
    assert (approve.bounding_box() or {})["height"] >= 40
    approve.click()
    expect(page.get_by_role("heading", name="Approved")).to_be_visible()
    office.wait_until(run_id, lambda s: s["approve"] == "succeeded")
    told = office.signoff.queries.list_events(TENANT, run_id)
    decided = next(e.data for e in told if e.type == "approval.decision_recorded")
    assert (decided["actor"]["channel"], decided["actor"]["id"]) == ("link", "max")
    assert not any(links["max"] in url for url in asked), "the token was in an address"
    page.goto(f"{office.address}/link#{links['max']}")
    expect(page.get_by_text(re.compile("already handled by Max .* on 20"))).to_be_visible()
    kinds = [
        e.data["kind"] for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "evidence.recorded"
    ]
    assert kinds == ["already_handled"]


def test_the_link_of_somebody_else_shows_nothing(visit: Visitors, office: Office, box: Mailbox) -> None:
    run_id, links = sent(office, box, item="Secret machine", amount=1.0)
    visit.expected = ("403", "404")
    page = visit("dan", "/runs")
    page.goto(f"{office.address}/link#{links['max']}")
    expect(page.get_by_role("heading", name="Not your link")).to_be_visible()
    assert "Secret machine" not in page.content()
    page.goto(f"{office.address}/link/task")
    assert "Secret machine" not in page.content()
    assert office.status(run_id)["approve"] == "waiting"


def test_scanners_use_nothing_up(visit: Visitors, office: Office, box: Mailbox) -> None:
    """Security list, 1 and 2: GET, HEAD, a browser that runs scripts and presses nothing; then the person decides."""
    run_id, links = sent(office, box)
    before = everything(office)
    for method in ("GET", "HEAD", "OPTIONS"):
        for path in ("/link", "/link/task", f"/link?token={links['max']}", f"/link/{links['max']}"):
            for client in (Client(office), signed_in(office, "max")):
                client.cookies["signoff-link"] = links["max"]
                assert client.send(method, path).status in (200, 303, 404, 405)
    scanner = visit.stranger()
    scanner.goto(f"{office.address}/link#{links['max']}")
    scanner.wait_for_url("**/login?next=/link")
    assert everything(office) == before
    max_ = signed_in(office, "max")
    assert max_.send("POST", "/link", {"token": links["max"]}).headers["location"] == "/link/task"
    assert max_.cookies["signoff-link"] == links["max"]
    text = max_.get("/link/task").text
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', text))
    answer = max_.send("POST", f"/decide/{run_id}/approve", {**form, "outcome": "approved"})
    assert "Approved" in answer.text
    assert office.status(run_id)["approve"] == "succeeded"


def test_a_decision_by_link_needs_the_form_token_and_the_link(office: Office, box: Mailbox) -> None:
    run_id, links = sent(office, box)
    max_, mia = signed_in(office, "max"), signed_in(office, "mia")
    item = office.signoff.queries.find_task(TENANT, "max", run_id, "approve")
    form = {
        "outcome": "approved",
        "generation": 1,
        "shown_digest": item.shown_digest,
        "key": "k" * 12,
        "by_link": "yes",
    }
    path = f"/decide/{run_id}/approve"
    max_.cookies["signoff-link"] = links["max"]
    for token in ("", "x", form_token(mia.secret)):
        assert max_.send("POST", path, {**form, "token": token}).status in (403, 422)
    good = {**form, "token": form_token(max_.secret)}
    stolen = {**form, "token": form_token(mia.secret)}
    mia.cookies["signoff-link"] = links["max"]
    assert "somebody else" in mia.send("POST", path, stolen).text
    max_.cookies["signoff-link"] = "x" * 43
    assert max_.send("POST", path, good).status == 404
    del max_.cookies["signoff-link"]
    assert "too long ago" in max_.send("POST", path, good).text
    assert office.status(run_id)["approve"] == "waiting"


def test_the_cookie_of_a_link_is_out_of_reach_of_scripts(office: Office, box: Mailbox) -> None:
    """Security list, 14."""
    _, links = sent(office, box)
    answer = Client(office).send("POST", "/link", {"token": links["max"]})
    [cookie] = [c.lower() for c in answer.cookies if c.startswith("signoff-link=")]
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert answer.headers["location"] == "/login?next=/link"
    assert links["max"] not in answer.text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 390])
def test_pages_of_links_and_letters_fit(visit: Visitors, office: Office, box: Mailbox, width: int, theme: str) -> None:
    _, links = sent(office, box)
    page = visit.stranger(width=width)
    page.context.add_cookies([{"name": "signoff-theme", "value": theme, "url": office.address}])
    page.goto(f"{office.address}/link")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.goto(f"{office.address}/login")
    sign_in(page, "max")
    page.wait_for_url("**/inbox")
    page.goto(f"{office.address}/link#{links['max']}")
    page.wait_for_url("**/link/task")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_an_operator_sends_a_letter_again(visit: Visitors, office: Office, box: Mailbox) -> None:
    box.refuse["mia@office.example"] = 550
    before = len(box.raw)
    office.waiting_run()
    box.wait(before + 1)
    page = visit("ada", "/letters?status=dead")
    expect(page.get_by_text("550 no such mailbox")).to_be_visible()
    box.refuse.clear()
    page.get_by_role("button", name="Send again").click()
    page.get_by_label("Reason").fill("The mailbox is back.")
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    expect(page.get_by_text("It is sent again.")).to_be_visible()
    assert "mia" in tokens(box.wait(before + 2)[before:])
    visit.expected = ("403",)
    other = visit("dan", "/letters")
    expect(other.get_by_text("Expected to look at letters")).to_be_visible()
