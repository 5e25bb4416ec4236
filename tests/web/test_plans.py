"""Migration plans in the browser: proposed by one, approved by another, applied from the preview."""

from __future__ import annotations

import copy

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import PURCHASE, TENANT, Office


def test_a_plan_is_proposed_approved_and_applied(visit: Visitors, office: Office) -> None:
    document = copy.deepcopy(PURCHASE) | {"name": "planned", "title": "Planned purchase"}
    office.publish(document)
    run_id = str(office.signoff.start_run(office.actor("dan"), TENANT, "planned", {"item": "x", "amount": 5})["run_id"])
    ada = visit("ada", "/definitions/planned/migrations")
    expect(ada.get_by_text("There is only version 1")).to_be_visible()
    expect(ada.get_by_role("button", name="Propose the plan")).to_have_count(0)
    newer = copy.deepcopy(document)
    newer["steps"][1]["label"], newer["policies"] = "Boss approves", {"migration": "approved"}
    draft = office.signoff.queries.find_draft(TENANT, "planned")
    saved = office.signoff.save_draft(office.actor("ada"), TENANT, "planned", newer, {}, draft.revision)
    office.signoff.publish(office.actor("ada"), TENANT, "planned", saved["revision"])
    office.running.save_person("pia", name="Pia", roles=("publisher",), password="demo")

    visit.go(ada, "/definitions/planned/versions")
    ada.get_by_role("link", name="Migration plans").click()
    visit.ready(ada)
    propose = ada.get_by_role("button", name="Propose the plan")
    propose.click()
    expect(ada.get_by_role("alert").filter(has_text="Expected a reason to propose a migration plan.")).to_be_visible()
    ada.get_by_label("Reason").fill("The wording is clearer")
    propose.click()
    expect(ada.get_by_role("status").filter(has_text="It is proposed.")).to_be_visible()
    expect(ada.get_by_text("waits for approval")).to_be_visible()
    expect(ada.get_by_role("button", name="Approve", exact=True)).to_have_count(0)

    pia = visit("pia", "/definitions/planned/migrations")
    pia.get_by_role("button", name="Approve", exact=True).click()
    pia.get_by_role("dialog").get_by_label("Comment").fill("Agreed")
    pia.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(pia.get_by_role("status").filter(has_text="The plan is approved.")).to_be_visible()
    expect(pia.get_by_text("approved by Pia")).to_be_visible()

    visit.go(ada, "/definitions/planned/migrations")
    ada.get_by_role("link", name="Try it out and apply…").click()
    visit.ready(ada)
    expect(ada.get_by_text("Would move the run to version 2.").first).to_be_visible()
    ada.get_by_label("Reason").fill("As approved")
    ada.get_by_role("button", name="Move to another version: 1 run").click()
    expect(ada.get_by_role("status").filter(has_text="1 done, 0 refused")).to_be_visible()
    assert office.signoff.queries.get_run(TENANT, run_id).row.version == 2
