"""What a definition says about those it asks, drawn in the designer: reminders and escalation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office
from tests.web.test_designer import drafted, node, press

if TYPE_CHECKING:
    from playwright.sync_api import Page


def approval(name: str, **more: Any) -> dict[str, Any]:
    step = {"id": "ask", "kind": "approval", "label": "The boss agrees", "groups": ["managers"], **more}
    return {"format": "signoff/1", "name": name, "title": name.title(), "steps": [step], "edges": []}


def entered(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_label(label, exact=True).press("Enter")


def document_of(office: Office, name: str) -> dict[str, Any]:
    found = office.signoff.queries.find_draft(TENANT, name)
    assert found is not None
    return dict(found.document["steps"][0])


def test_so_many_of_each_with_fields_are_drawn_and_decided(visit: Visitors, office: Office) -> None:
    ada = visit("ada", drafted(office, approval("paired", groups=[])))
    node(ada, "ask").click()
    press(ada, "Several groups, amounts, fields")
    press(ada, "Add quota")
    entered(ada, "Quota 1: approvals needed", "2")
    ada.get_by_label("Of the groups").click()
    ada.get_by_role("option", name="managers").or_(ada.get_by_role("menuitem", name="managers")).click()
    ada.get_by_role("listbox").press("Escape")
    press(ada, "Add field")
    expect(ada.get_by_label("Label", exact=True)).to_have_count(2)
    ada.get_by_label("Label", exact=True).last.fill("Cost centre")
    ada.get_by_label("Label", exact=True).last.press("Enter")
    expect(ada.get_by_role("button", name="Cost centre · Text")).to_be_visible()
    expect(ada.get_by_text("No problems: this can be published.")).to_be_visible()
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    made = document_of(office, "paired")
    assert made["quotas"] == [{"groups": ["managers"], "required": 2}]
    assert [f["label"] for f in made["fields"]] == ["Cost centre"]

    office.signoff.publish(office.actor("ada"), TENANT, "paired", 2)
    run_id = office.start(definition="paired")
    office.wait_until(run_id, lambda s: s["ask"] == "waiting")
    visit.expected = ("status of 422",)
    max_ = visit("max", f"/inbox/{run_id}/ask")
    expect(max_.get_by_text("managers: 0 of 2")).to_be_visible()
    max_.get_by_label("Comment").fill("Fine by me")
    max_.locator("form.card").evaluate("form => { form.noValidate = true }")
    max_.get_by_role("button", name="Approve").click()
    expect(max_.get_by_text("Something has to be corrected; nothing was stored yet.")).to_be_visible()
    expect(max_.get_by_label("Comment")).to_have_value("Fine by me")
    max_.get_by_label("Cost centre").fill("<b>4711</b>")
    max_.get_by_role("button", name="Approve").click()
    expect(max_.get_by_role("heading", name="Approved")).to_be_visible()
    visit.go(max_, f"/runs/{run_id}")
    expect(max_.get_by_text("managers 1 of 2").first).to_be_visible()
    expect(max_.get_by_text("<b>4711</b>").first).to_be_visible()


def test_reminders_and_escalation_are_drawn_and_said_with_their_times(visit: Visitors, office: Office) -> None:
    ada = visit("ada", drafted(office, approval("laddered")))
    node(ada, "ask").click()
    press(ada, "Reminders, escalation")
    entered(ada, "Remind every", "P1D working")
    expect(ada.get_by_text("Opened now, the first would be sent on")).to_be_visible()
    entered(ada, "Reminders at most", "2")
    press(ada, "Add escalation")
    expect(ada.get_by_role("button", name="Escalation 1 of 'The boss agrees' asks nobody.")).to_be_visible()
    entered(ada, "Escalation 1, after", "P3D")
    expect(ada.get_by_text("Opened now, that would be on")).to_be_visible()
    ada.get_by_label("People asked then").click()
    ada.get_by_role("option", name="mia").or_(ada.get_by_role("menuitem", name="mia")).click()
    ada.get_by_role("listbox").press("Escape")
    ada.get_by_label("They take over").check()
    expect(ada.get_by_text("No problems: this can be published.")).to_be_visible()
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    made = document_of(office, "laddered")
    assert made["reminders"] == {"every": "P1D working", "at_most": 2}
    assert made["escalation"] == [{"after": "P3D", "people": ["mia"], "hand_over": True}]


def test_c03_c12_what_is_settled_or_over_is_seen_as_such(visit: Visitors, office: Office) -> None:
    """A rejection takes it from the others' inboxes; silence has a colour and a word of its own."""
    everyone = approval("everyone", required=0)
    office.publish(everyone)
    run_id = office.start(definition="everyone")
    office.wait_until(run_id, lambda s: s["ask"] == "waiting")
    mia = visit("mia", f"/inbox/{run_id}/ask")
    max_ = visit("max", f"/inbox/{run_id}/ask")
    max_.get_by_label("Comment").fill("Too dear")
    max_.get_by_role("button", name="Reject").click()
    expect(max_.get_by_role("heading", name="Rejected")).to_be_visible()
    expect(mia.get_by_text("was already handled by Max (manager)")).to_be_visible()
    visit.go(mia, "/inbox")
    expect(mia.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(mia.locator(f'a[href="/inbox/{run_id}/ask"]')).to_have_count(0)

    office.publish(approval("hurried", expires="PT0.2S"))
    late = office.start(definition="hurried")
    office.wait_until(late, lambda s: s["ask"] == "expired")
    ada = visit("ada", f"/runs/{late}")
    badge = ada.locator("[data-step='ask'] .badge").first
    expect(badge).to_have_text("Expired")
    expired = badge.evaluate("b => getComputedStyle(b).backgroundColor")
    visit.go(ada, f"/runs/{run_id}")
    node(ada, "ask").click()
    rejected = ada.locator("[data-step='ask'] .badge").first
    expect(rejected).to_have_text("Rejected")
    assert expired != rejected.evaluate("b => getComputedStyle(b).backgroundColor")
    expect(ada.get_by_role("link", name="Decide this")).to_have_count(0)
