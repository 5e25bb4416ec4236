"""Versions in a real browser: what publishing changes, comparing, archiving, restoring."""

from __future__ import annotations

import copy

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import PURCHASE, TENANT, Office


def publish_second(office: Office) -> None:
    document = copy.deepcopy(PURCHASE)
    document["steps"][1]["label"] = "Boss approves"
    saved = office.signoff.save_draft(office.actor("ada"), TENANT, "purchase", document, {}, 1)
    office.signoff.publish(office.actor("ada"), TENANT, "purchase", saved["revision"])


def test_an_older_version_becomes_the_draft_and_the_newest_is_archived(visit: Visitors, office: Office) -> None:
    publish_second(office)
    page = visit("ada", "/definitions/purchase/versions")
    rows = page.get_by_role("table", name="Versions").locator("tbody tr")
    expect(rows.first).to_contain_text("version 2 · new runs use it")
    page.get_by_role("button", name="Archive").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Archive")
    confirm.click()
    expect(page.get_by_text("Say why; it is kept in the audit trail.")).to_be_visible()
    page.get_by_label("Reason").fill("Wrong person")
    confirm.click()
    expect(page.get_by_role("status").filter(has_text="New runs use version 1.")).to_be_visible()
    expect(rows.first).to_contain_text("version 2 · archived")
    page.get_by_label("Version", exact=True).click()
    page.get_by_role("menuitem", name="version 1").click()
    page.get_by_role("button", name="Make it the draft").click()
    expect(page.get_by_role("status").filter(has_text="Version 1 is the draft, revision 3.")).to_be_visible()
    page.get_by_role("link", name="with version 1").click()
    visit.ready(page)
    expect(page.get_by_role("heading", name="From version 1 to version 2")).to_be_visible()
    expect(page.get_by_text("'Manager approves' is now called 'Boss approves'.")).to_be_visible()


def test_the_designer_says_what_publishing_changes(visit: Visitors, office: Office) -> None:
    page = visit("ada", "/definitions/purchase/draft")
    expect(page.get_by_text("What changes against version 1 (0)")).to_be_visible()
    page.get_by_role("button", name="Add wait").click()
    page.get_by_text("What changes against version 1 (").click()
    expect(page.locator("[data-change=step_added]")).to_contain_text("Added the wait")


def test_a_draft_is_tried_from_the_designer(visit: Visitors, office: Office) -> None:
    page = visit("ada", "/definitions/purchase/draft")
    page.get_by_role("button", name="Trial run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Amount in euros")).to_have_value("0")
    dialog.get_by_label("Amount in euros").fill("a lot")
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(dialog.get_by_text("is not a number")).to_be_visible()
    dialog.get_by_label("Amount in euros").fill("50")
    dialog.get_by_label("Manager approves").click()
    page.get_by_role("menuitem", name="rejected").click()
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Trial run")).to_be_visible()
    expect(page.get_by_role("table", name="Path of the trial")).to_contain_text("Manager approves")
    expect(page.get_by_role("table", name="Asked")).to_contain_text("Max (manager), Mia (manager)")
    expect(page.locator("[data-trial]")).to_contain_text("Not done: Place the order")
