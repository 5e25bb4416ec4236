"""One command for many runs, and moving runs to another version, in a real browser."""

from __future__ import annotations

import copy

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import PURCHASE, TENANT, Office


def test_runs_are_moved_to_another_version_from_the_page_of_versions(visit: Visitors, office: Office) -> None:
    runs = [office.start() for _ in range(2)]
    document = copy.deepcopy(PURCHASE)
    document["steps"][1]["label"] = "Boss approves"
    draft = office.signoff.queries.find_draft(TENANT, "purchase")
    saved = office.signoff.save_draft(office.actor("ada"), TENANT, "purchase", document, {}, draft.revision)
    office.signoff.publish(office.actor("ada"), TENANT, "purchase", saved["revision"])
    page = visit("ada", "/definitions/purchase/versions")
    page.get_by_role("link", name="Move runs of version 1…").click()
    visit.ready(page)
    boxes = page.get_by_role("checkbox")
    expect(page.get_by_text("Would move the run to version 2.").first).to_be_visible()
    expect(boxes.first).to_be_checked()
    page.get_by_role("button", name="Tick none").click()
    expect(boxes.first).not_to_be_checked()
    page.get_by_role("checkbox", name=runs[0]).check()
    send = page.get_by_role("button", name="Move to another version: 1 run")
    send.click()
    expect(page.get_by_text("Say why; it is kept in the history.")).to_be_visible()
    page.get_by_label("Reason").fill("New rule")
    send.click()
    expect(page.get_by_role("status").filter(has_text="1 done, 0 refused, recorded as b-")).to_be_visible()
    assert office.signoff.queries.get_run(TENANT, runs[0]).row.version == 2
    assert office.signoff.queries.get_run(TENANT, runs[1]).row.version == 1


def test_a_preview_says_why_not_and_what_is_wrong(visit: Visitors, office: Office) -> None:
    office.start()
    page = visit("ada", "/runs")
    page.get_by_role("link", name="One command for many…").click()
    visit.ready(page)
    page.get_by_label("Command").select_option("resume_run")
    page.get_by_role("button", name="Preview").click()
    visit.ready(page)
    expect(page.get_by_role("table", name="Runs that cannot")).to_contain_text("Expected a paused run to resume")
    page.get_by_label("Command").select_option("migrate_run")
    page.get_by_role("button", name="Preview").click()
    visit.ready(page)
    expect(page.get_by_text("Moving runs needs the version to go to.")).to_be_visible()
