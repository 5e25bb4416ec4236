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
