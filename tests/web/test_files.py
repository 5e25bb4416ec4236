"""Files in the browser: given with the start form and a form step, kept over a mistake, downloaded and never shown."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from signoff.web.session import form_token
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office
from tests.web.test_security import signed_in

NAME = "Angebot Nr. 7 – final.pdf"
PDF = b"%PDF-1.7 " + b"x" * 3_000_000
OFFER: dict[str, Any] = {
    "format": "signoff/1", "name": "offer", "title": "Check an offer",
    "input": [{"name": "offer", "label": "The offer", "type": "file", "options": [".pdf", ".svg"]},
              {"name": "amount", "label": "Amount", "type": "number"}],
    "steps": [{"id": "fill", "kind": "form", "label": "Add a report", "groups": ["managers"],
               "fields": [{"name": "report", "label": "Report", "type": "file"}], "shows": {"Offer": "=input.offer"}},
              {"id": "approve", "kind": "approval", "label": "Approve it", "groups": ["managers"],
               "fields": [{"name": "copy", "label": "Signed copy", "type": "file", "options": [".pdf"]}],
               "shows": {"Offer": "=input.offer", "Report": "=steps.fill.output.report"}}],
    "edges": [{"from": "fill", "to": "approve"}],
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _published(office_server: Office) -> None:
    office_server.publish(OFFER)


def test_files_from_the_start_form_to_the_approver(visit: Visitors, office: Office) -> None:
    visit.expected = ("422",)
    page = visit("dan", "/definitions/offer/start")
    page.get_by_role("link", name="Fill in the form with files").click()
    page.get_by_label("The offer").set_input_files({"name": NAME, "mimeType": "application/pdf", "buffer": PDF})
    page.get_by_label("Amount").fill("many")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_text("Nothing was started yet.")).to_be_visible()
    expect(page.get_by_text(f"“{NAME}” is kept")).to_be_visible()
    page.get_by_label("Amount").fill("12")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/r-*")
    run_id = page.url.rpartition("/")[2]
    office.wait_until(run_id, lambda s: s["fill"] == "waiting")
    manager = visit("max", f"/inbox/{run_id}/fill")
    with manager.expect_download() as waiting:
        manager.get_by_role("link", name=NAME).click()
    assert waiting.value.suggested_filename == NAME
    assert waiting.value.path().read_bytes() == PDF
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    manager.get_by_label("Report").set_input_files({"name": "report.svg", "mimeType": "image/svg+xml", "buffer": svg})
    manager.get_by_role("button", name="Submit").click()
    expect(manager.get_by_role("heading", name="Submitted")).to_be_visible()
    office.wait_until(run_id, lambda s: s["approve"] == "waiting")
    visit.go(manager, f"/inbox/{run_id}/approve")
    with manager.expect_download() as waiting:
        manager.get_by_role("link", name="report.svg").click()
    assert waiting.value.path().read_bytes() == svg
    assert manager.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    signed = {"name": "signed.txt", "mimeType": "text/plain", "buffer": b"signed"}
    manager.get_by_label("Signed copy").set_input_files(signed)
    manager.get_by_label("Comment").fill("Looks right")
    manager.get_by_role("button", name="Approve", exact=True).click()
    expect(manager.get_by_text("has no ending that is allowed")).to_be_visible()
    expect(manager.get_by_label("Comment")).to_have_value("Looks right")
    manager.get_by_label("Signed copy").set_input_files({**signed, "name": "signed.pdf", "mimeType": "application/pdf"})
    manager.get_by_role("button", name="Approve", exact=True).click()
    expect(manager.get_by_role("heading", name="Approved")).to_be_visible()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")
    visit.go(manager, f"/runs/{run_id}")
    manager.get_by_role("group", name="Approval Approve it").click()
    with manager.expect_download() as waiting:
        manager.locator("[data-step=approve]").get_by_role("link", name="signed.pdf").click()
    assert waiting.value.path().read_bytes() == b"signed"
    manager.get_by_role("group", name="Form Add a report").click()
    expect(manager.locator("[data-step=fill]").get_by_role("link", name="report.svg")).to_be_visible()


def test_a_stranger_gets_no_file_and_an_svg_is_bytes(office: Office) -> None:
    """Case C40, and the rules for uploads of the security list."""
    actor = office.actor("dan")
    kept = office.signoff.queries.files.add(TENANT, [b"<svg/>"])
    value = office.signoff.add_file(actor, TENANT, kept, "x.svg", "image/svg+xml")
    run_id = office.start(definition="offer", offer=value, amount=1)
    path = f"/files/{kept.digest}/x.svg"
    found = signed_in(office, "max").get(path)
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"].startswith("attachment")
    assert found.headers["content-security-policy"].startswith("sandbox")
    office.running.save_person("eve", roles=("approver",), password="demo")
    assert signed_in(office, "eve").get(path).status == 404
    assert office.status(run_id)["fill"] == "waiting"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 390])
def test_the_start_form_fits(visit: Visitors, office: Office, width: int, theme: str) -> None:
    page = visit("dan", "/runs", width=width)
    page.context.add_cookies([{"name": "signoff-theme", "value": theme, "url": office.address}])
    page.goto(f"{office.address}/start/offer")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_start_form_needs_its_token(office: Office) -> None:
    dan = signed_in(office, "dan")
    before = len(office.signoff.queries.list_runs(TENANT).items)
    assert dan.send("POST", "/start/offer", {"token": "x"}).status == 403
    assert dan.send("POST", "/start/offer", {"token": form_token(dan.secret)}).status == 422
    assert len(office.signoff.queries.list_runs(TENANT).items) == before
