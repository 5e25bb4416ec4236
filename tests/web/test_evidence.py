"""The evidence of a run from its page: to read, and to check elsewhere. Who may not export is not offered it."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from signoff.interchange.verifier import Bundle
from tests.web.conftest import Visitors
from tests.web.office import Office

NASTY = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_an_auditor_takes_the_evidence_of_a_run(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run(item=NASTY, amount=12.5, urgent=False)
    office.approve(run_id, "max")
    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_text("Input and origin").click()
    link = ada.get_by_role("link", name="as a page")
    expect(link).to_be_visible()
    with ada.expect_download() as download:
        ada.get_by_role("link", name="as a bundle to check").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert Bundle().read(lines) == []
    assert json.loads(lines[0])["by"] == "ada"
    ada.goto(f"{office.address}/evidence/{run_id}")
    expect(ada.get_by_role("heading", name=f"Evidence of run {run_id}")).to_be_visible()
    expect(ada.get_by_role("heading", name="What people saw and decided")).to_be_visible()
    assert ada.locator("img, script").count() == 0
    expect(ada.get_by_text("onerror").first).to_be_visible()


def test_who_may_not_export_is_not_offered_it(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    dan = visit("dan", f"/runs/{run_id}")
    dan.get_by_text("Input and origin").click()
    expect(dan.get_by_text("Started", exact=True).first).to_be_visible()
    expect(dan.get_by_role("link", name="as a page")).to_have_count(0)
    visit.expected = ("403",)
    dan.goto(f"{office.address}/evidence/{run_id}")
    expect(dan.get_by_text("takes the role administrator or auditor")).to_be_visible()
