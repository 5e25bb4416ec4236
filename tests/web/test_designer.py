"""The designer in a real browser: draw, connect, configure, undo, save, publish; two editors; hostile labels."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def node(page: Page, step_id: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{step_id}"]')


def edge(page: Page, key: str) -> Locator:
    return page.locator(f'.react-flow__edge[data-id="{key}"]')


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def drag(page: Page, step: Locator, right: int, down: int) -> None:
    """Take a step by its middle and put it elsewhere, as somebody does who looks: who grasps beside it grasps again.

    The canvas may still be fitting itself when the pointer goes down, on a slow machine later than the step seems
    to be at rest; what is certain is the mark that React Flow gives to a step that follows the pointer.
    """
    for _ in range(5):
        step.hover()
        box = step.bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + right / 4, y + down / 4, steps=4)
        with suppress(AssertionError):
            expect(step).to_have_class(re.compile(r"\bdragging\b"), timeout=2_000)
            page.mouse.move(x + right, y + down, steps=8)
            page.mouse.up()
            return
        page.mouse.up()
    raise AssertionError("the step could not be grasped")


def line(name: str, *labels: str) -> dict[str, Any]:
    """Waits in a row; their ids are s0, s1, s2."""
    steps = [{"id": f"s{i}", "kind": "wait", "label": text, "duration": "P1D"} for i, text in enumerate(labels)]
    edges = [{"from": f"s{i}", "to": f"s{i + 1}"} for i in range(len(labels) - 1)]
    return {"format": "signoff/1", "name": name, "title": name.title(), "steps": steps, "edges": edges}


def drafted(office: Office, document: dict[str, Any]) -> str:
    office.signoff.create_draft(office.actor("ada"), TENANT, document, {})
    return f"/definitions/{document['name']}/draft"


def test_a_process_is_drawn_configured_saved_and_published(visit: Visitors, office: Office) -> None:
    ada = visit("ada", "/new")
    ada.get_by_label("Title").fill("Travel request")
    press(ada, "Begin empty")
    ada.wait_for_url("**/definitions/travel_request/draft")
    visit.ready(ada)
    press(ada, "Add activity")
    expect(node(ada, "new_activity")).to_be_visible()
    ada.get_by_label("Label").fill("Book the train")
    ada.get_by_label("Label").press("Enter")
    expect(node(ada, "book_the_train")).to_be_visible()
    expect(ada.get_by_role("button", name="Activity 'Book the train' calls nothing.")).to_be_visible()
    ada.get_by_label("Calls").click()
    ada.get_by_role("menuitem", name="budget").click()
    press(ada, "Add to “input”")
    ada.get_by_label("Name", exact=True).fill("amount")
    ada.get_by_label("Value or =expression").fill("=input.price")
    ada.get_by_label("Value or =expression").press("Enter")
    problem = ada.get_by_role("button", name="the input form has no field 'price'")
    expect(problem).to_be_visible()
    expect(ada.get_by_role("button", name="Publish")).to_be_disabled()

    press(ada, "Add approval")
    expect(edge(ada, "book_the_train>new_approval")).to_be_attached()
    expect(node(ada, "new_approval")).to_be_visible()
    ada.get_by_label("Groups that are asked").click()
    ada.get_by_role("menuitem", name="managers").or_(ada.get_by_role("option", name="managers")).click()
    ada.get_by_role("listbox").press("Escape")
    expect(ada.get_by_role("listbox")).to_have_count(0)
    expect(ada.get_by_text("Nobody is asked")).to_have_count(0)
    problem.click()
    expect(ada.get_by_label("Label")).to_have_value("Book the train")
    ada.locator(".react-flow__pane").click(position={"x": 300, "y": 40})
    expect(ada.get_by_label("Title")).to_have_value("Travel request")
    press(ada, "Add field")
    ada.get_by_label("Label").fill("Price")
    ada.get_by_label("Label").press("Enter")
    expect(ada.get_by_role("button", name="Price · Text")).to_be_visible()
    expect(ada.get_by_text("No problems: this can be published.")).to_be_visible()
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    ada.get_by_role("button", name="Publish").dblclick()
    expect(ada.get_by_text("version 1, sha256:")).to_be_visible()
    versions = office.signoff.queries.list_versions(TENANT, "travel_request")
    assert [v.version for v in versions] == [1]
    approval = versions[0].definition.find_step("new_approval")
    assert approval.config.groups == ("managers",)
    ada.get_by_role("link", name="Start a run of it").click()
    visit.ready(ada)
    expect(ada.get_by_label("Price")).to_be_visible()


def test_handles_connect_and_a_cycle_is_refused_in_the_words_of_the_api(visit: Visitors, office: Office) -> None:
    document = line("circle", "Alpha", "Beta", "Gamma")
    ada = visit("ada", drafted(office, document))
    source = node(ada, "s2").locator('.react-flow__handle.source[data-handleid="elapsed"]')
    source.drag_to(node(ada, "s0").locator(".react-flow__handle.target"))
    said = "The steps form a cycle: Alpha → Beta → Gamma → Alpha."
    expect(ada.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(ada.locator(".react-flow__edge")).to_have_count(2)
    document["edges"].append({"from": "s2", "to": "s0"})
    again = {**document, "name": "circle_two"}
    drafted(office, again)
    problems = office.signoff.queries.find_draft(TENANT, "circle_two").problems
    assert said in [p.message for p in problems]

    node(ada, "s0").locator(".react-flow__handle.source").drag_to(node(ada, "s2").locator(".react-flow__handle.target"))
    expect(edge(ada, "s0>s2")).to_be_attached()
    edge(ada, "s0>s2").focus()
    ada.keyboard.press("Enter")
    ada.get_by_label("Only when").fill("input.x > 1")
    ada.get_by_label("Only when").press("Enter")
    expect(ada.get_by_role("button", name="the input form has no field 'x'")).to_be_visible()


def test_a_deleted_middle_step_leaves_a_whole_draft_and_one_undo_brings_it_back(
    visit: Visitors, office: Office
) -> None:
    """Case C32."""
    ada = visit("ada", drafted(office, line("middle", "First", "Second", "Third")))
    node(ada, "s1").click()
    ada.keyboard.press("Delete")
    expect(edge(ada, "s0>s2")).to_be_attached()
    expect(ada.locator(".react-flow__node")).to_have_count(2)
    press(ada, "Undo")
    expect(edge(ada, "s0>s1")).to_be_attached()
    expect(edge(ada, "s1>s2")).to_be_attached()
    expect(edge(ada, "s0>s2")).to_have_count(0)
    expect(ada.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    press(ada, "Redo")
    expect(edge(ada, "s0>s2")).to_be_attached()
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    assert [s["id"] for s in office.signoff.queries.find_draft(TENANT, "middle").document["steps"]] == ["s0", "s2"]


def test_two_editors_never_mix(visit: Visitors, office: Office) -> None:
    """Case C31."""
    path = drafted(office, line("shared", "One"))
    ada, second = visit("ada", path), visit("ada", path)
    for page, title in ((ada, "Ada's title"), (second, "Another title")):
        page.get_by_label("Title").fill(title)
        page.get_by_label("Title").press("Enter")
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    press(second, "Save draft")
    told = second.get_by_role("alert").filter(has_text="Your changes are still here")
    expect(told).to_contain_text("revision 2")
    expect(second.get_by_label("Title")).to_have_value("Another title")
    assert office.signoff.queries.find_draft(TENANT, "shared").document["title"] == "Ada's title"
    press(second, "Save mine on top of revision 2")
    expect(second.get_by_text("Saved as revision 3, on top of revision 2.")).to_be_visible()
    assert office.signoff.queries.find_draft(TENANT, "shared").document["title"] == "Another title"


def test_due_instants_and_working_time_are_seen_before_publishing(visit: Visitors, office: Office) -> None:
    """C18: which instant a local time is that does not exist, or exists twice."""
    steps = [{"id": "start", "kind": "wait", "label": "Until spring", "until": "2027-03-28T02:30"}]
    policies = {"zone": "Europe/Berlin"}
    ada = visit("ada", drafted(office, {"name": "clocks", "title": "Clocks", "steps": steps, "policies": policies}))
    press(ada, "Deadline and working time")
    ada.get_by_label("A run must end within").fill("soon")
    ada.get_by_label("A run must end within").press("Enter")
    expect(ada.get_by_text("'SOON' is not an ISO 8601 duration").first).to_be_visible()
    ada.get_by_label("A run must end within").fill("P10D working")
    ada.get_by_label("A run must end within").press("Enter")
    expect(ada.get_by_text("Begun now, it would be over on")).to_be_visible()
    ada.get_by_label("Working hours").fill("08:00-12:00, 13:00-16:30")
    ada.get_by_label("Working hours").press("Enter")
    ada.get_by_label("Holidays").fill("2027-12-25\n2027-12-26")
    ada.get_by_label("Working hours").focus()
    press(ada, "Save draft")
    expect(ada.get_by_text("revision 2", exact=False).first).to_be_visible()
    node(ada, "start").click()
    expect(ada.get_by_text("That is 2027-03-28 03:30 CEST")).to_be_visible()
    expect(ada.get_by_text("the time asked for does not exist that day")).to_be_visible()
    ada.get_by_label("Or until").fill("2027-10-31T02:30")
    ada.get_by_label("Or until").press("Enter")
    expect(ada.get_by_text("of two such times this is the first")).to_be_visible()
    kept = office.signoff.queries.find_draft(TENANT, "clocks").document["policies"]
    assert kept == {
        "zone": "Europe/Berlin",
        "deadline": "P10D working",
        "calendar": {"hours": ["08:00-12:00", "13:00-16:30"], "holidays": ["2027-12-25", "2027-12-26"]},
    }


def test_a_twenty_first_step_is_refused(visit: Visitors, office: Office) -> None:
    ada = visit("ada", drafted(office, line("full", *(f"Step {i}" for i in range(20)))))
    press(ada, "Add wait")
    expect(ada.get_by_role("alert").filter(has_text="20 steps; at most 20 are allowed")).to_be_visible()
    expect(ada.locator(".react-flow__node")).to_have_count(20)


HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}"
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 3
ARABIC = "مراجعة الطلب رقم AB-12 قبل الدفع"


def test_hostile_long_and_right_to_left_labels_are_text(visit: Visitors, office: Office) -> None:
    """Cases C33 and C36, on every page that shows them, at three widths."""
    document = line("hostile", HOSTILE, LONG, ARABIC) | {"title": HOSTILE, "description": HOSTILE}
    document["steps"].insert(
        0,
        {
            "id": "ask",
            "kind": "approval",
            "label": HOSTILE,
            "groups": ["managers"],
            "instructions": HOSTILE,
            "shows": {HOSTILE: ARABIC},
        },
    )
    office.publish(document)
    run_id = _started(office)
    pages = (
        "/definitions",
        "/definitions/hostile/versions",
        "/definitions/hostile/draft",
        "/definitions/hostile/start",
    )
    for width in (320, 768, 1440):
        ada = visit("ada", width=width)
        for path in (*pages, "/runs", f"/runs/{run_id}"):
            visit.go(ada, path)
            expect(ada.get_by_text(HOSTILE).first).to_be_attached()
            assert ada.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), (path, width)
        ada.context.close()
    max_ = visit("max", f"/inbox/{run_id}/ask")
    expect(max_.get_by_role("heading", name=HOSTILE)).to_be_visible()
    max_.get_by_label("Comment").fill(HOSTILE)
    max_.get_by_role("button", name="Reject").click()
    expect(max_.get_by_role("heading", name="Rejected")).to_be_visible()


def _started(office: Office) -> str:
    return str(office.signoff.start_run(office.actor("dan"), TENANT, "hostile", {}, business_key=HOSTILE)["run_id"])


def test_backspace_in_a_text_field_deletes_letters_and_no_step(visit: Visitors, office: Office) -> None:
    ada = visit("ada", drafted(office, line("letters", "First", "Second")))
    node(ada, "s0").click()
    field = ada.get_by_label("Label")
    expect(field).to_have_value("First")
    field.press("End")
    for _ in range(3):
        field.press("Backspace")
    field.press("Enter")
    expect(field).to_have_value("Fi")
    expect(node(ada, "s0").locator(".rf-node-label")).to_have_text("Fi")
    expect(ada.locator(".react-flow__node")).to_have_count(2)


def test_a_dragged_step_stays_where_it_was_put(visit: Visitors, office: Office) -> None:
    ada = visit("ada", drafted(office, line("moved", "First", "Second")))
    drag(ada, node(ada, "s1"), 80, 160)
    expect(ada.get_by_text("unsaved changes")).to_be_visible()
    press(ada, "Save draft")
    expect(ada.get_by_text("Saved as revision 2.")).to_be_visible()
    stored = office.signoff.queries.find_draft(TENANT, "moved").layout
    assert stored["s1"] != stored["s0"]
    assert stored["s1"]["y"] > 50
