"""What a person typed or was told stays: over a restart of the server, a double click, a key pressed by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import PURCHASE, TENANT, Office, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

AGAIN_MS = 20_000


@pytest.fixture
def second(office: Office) -> Iterator[Server]:
    """A second web server of the same office; `visit` goes there."""
    before = office.address
    with Server(office) as server:
        yield server
    office.address = before


def restarted(office: Office, server: Server) -> Server:
    """The same server after a restart, on its port."""
    server.__exit__()
    return Server(office, port=int(office.address.rsplit(":", 1)[1]))


def marked(page: Page) -> Page:
    page.evaluate("() => { window.before = true; }")
    return page


def test_what_is_not_saved_stays_when_the_server_restarts(visit: Visitors, office: Office, second: Server) -> None:
    run_id = office.waiting_run()
    ada = marked(visit("ada", "/definitions/purchase/draft"))
    ada.get_by_role("button", name="Add wait").click()
    expect(ada.get_by_text("unsaved changes")).to_be_visible()
    max_ = marked(visit("max", f"/inbox/{run_id}/approve"))
    max_.get_by_label("Comment").fill("Thought about it for an hour")
    dan = marked(visit("dan", "/definitions/purchase/start"))
    dan.get_by_label("What").fill("Desk lamp")
    mia = marked(visit("mia", f"/inbox/{run_id}/approve"))
    mia.get_by_label("Comment").focus()
    with restarted(office, second):
        mia.wait_for_function("() => !window.before", timeout=AGAIN_MS)
        visit.ready(mia)
        for page in (ada, max_, dan):
            expect(page.get_by_role("link", name="Load again")).to_be_visible(timeout=AGAIN_MS)
            assert page.evaluate("() => window.before")
        expect(ada.locator('.react-flow__node[data-id="new_wait"]')).to_be_visible()
        expect(dan.get_by_label("What")).to_have_value("Desk lamp")
        max_.get_by_role("button", name="Approve").click()
        expect(max_.get_by_role("heading", name="Approved")).to_be_visible()
        dan.get_by_role("link", name="Load again").click()
        dan.wait_for_function("() => !window.before")
        visit.ready(dan)
        expect(dan.get_by_role("link", name="Load again")).to_have_count(0)
    events = office.signoff.queries.list_events(TENANT, run_id)
    assert any("Thought about it for an hour" in str(e.data) for e in events)
    visit.expected = ("net::ERR_", "WebSocket", "[bokeh")  # logged while there is no server, some of it late


def choosing(name: str) -> dict[str, Any]:
    centre = {"name": "centre", "label": "Cost centre", "type": "choice", "options": ["IT", "Marketing"]}
    return {**PURCHASE, "name": name, "title": "Choosing", "input": [*PURCHASE["input"], centre]}


def test_escape_closes_a_dialog_and_nothing_is_done(visit: Visitors, office: Office) -> None:
    office.publish(choosing("choosing"))
    run_id = office.start("dan", "choosing", item="Lamp", amount=1.0, urgent=False, centre="IT")
    office.wait_until(run_id, lambda s: s["approve"] == "waiting")
    ada = visit("ada", f"/runs/{run_id}")
    for action in ("Pause", "Edit input"):
        ada.get_by_role("button", name=action, exact=True).click()
        ada.get_by_label("Reason").fill("By mistake")
        ada.get_by_label("Reason").press("Escape")
        expect(ada.get_by_role("dialog")).to_have_count(0)
    ada.get_by_role("button", name="Edit input").click()
    ada.get_by_label("Cost centre").click()
    expect(ada.get_by_role("listbox")).to_be_visible()
    ada.keyboard.press("Escape")
    expect(ada.get_by_role("listbox")).to_have_count(0)
    expect(ada.get_by_role("dialog").get_by_role("button", name="Edit input")).to_be_visible()
    assert office.status(run_id)[""] == "running"


def test_a_choice_without_a_value_keeps_its_label_above(visit: Visitors, office: Office) -> None:
    office.publish(choosing("chosen"))
    dan = visit("dan", "/definitions/chosen/start")
    expect(dan.get_by_text("choose …")).to_be_visible()
    expect(dan.locator("label", has_text="Cost centre")).to_have_attribute("data-shrink", "true")


@pytest.mark.parametrize("entered", ["NaN", "-Infinity"])
def test_a_number_that_is_not_finite_is_called_so(visit: Visitors, entered: str) -> None:
    dan = visit("dan", "/definitions/purchase/start")
    dan.get_by_label("What").fill("Lamp")
    dan.get_by_label("Amount in euros").fill(entered)
    dan.get_by_role("button", name="Start run").click()
    expect(dan.get_by_text("is not a finite number")).to_be_visible()


def test_the_list_of_runs_says_what_a_run_waits_for(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    ada = visit("ada", "/runs")
    row = ada.get_by_role("row").filter(has_text=run_id)
    expect(row).to_contain_text("'Manager approves' has waited for a decision of Max (manager) or Mia (manager)")
    office.approve(run_id, "max")
    expect(row).to_contain_text("Succeeded")
    expect(row).not_to_contain_text("has waited")


INSIDE = """(graph) => {
  const box = graph.getBoundingClientRect();
  const shapes = [...graph.querySelectorAll(".react-flow__node, .react-flow__edge-path")];
  return shapes.filter((s) => {
    const r = s.getBoundingClientRect();
    return r.left < box.left || r.right > box.right || r.top < box.top || r.bottom > box.bottom;
  }).length === 0 && shapes.length > 4;
}"""


def test_the_graph_of_a_run_fits_a_telephone(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    ada = visit("ada", "/runs", width=390, height=844)
    visit.go(ada, f"/runs/{run_id}")
    graph = ada.get_by_test_id("rf__wrapper")
    expect(graph.locator(".react-flow__edge-path")).to_have_count(4)
    ada.wait_for_function(INSIDE, arg=graph.element_handle())


def test_after_cancelling_only_the_truth_is_said(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_role("button", name="Cancel run").click()
    ada.get_by_label("Reason").fill("Not needed")
    ada.get_by_role("dialog").get_by_role("button", name="Cancel run").click()
    expect(ada.get_by_role("dialog")).to_have_count(0)
    expect(ada.get_by_role("status").filter(has_text="The run was cancelled")).to_be_visible()
    expect(ada.get_by_text("The run is being cancelled")).to_have_count(0)
