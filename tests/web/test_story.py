"""The whole story in real browsers with two people: start, watch, decide, fail, repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def step(page: Page, step_id: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{step_id}"]')


def test_a_run_is_started_watched_decided_failed_and_repaired(visit: Visitors, office: Office) -> None:
    office.desk.broken = True
    ada = visit("ada", "/definitions")
    ada.get_by_role("link", name="Start", exact=True).click()
    visit.ready(ada)
    ada.get_by_label("What").fill("Espresso machine")
    ada.get_by_label("Amount in euros").fill("a lot")
    ada.get_by_role("button", name="Start run").click()
    expect(
        ada.get_by_text("Field 'Amount in euros' of the input of 'Purchase approval' is not a number.")
    ).to_be_visible()
    ada.get_by_label("Amount in euros").fill("2,450")
    ada.get_by_role("button", name="Start run").dblclick()
    ada.wait_for_url("**/runs/r-*")
    visit.ready(ada)
    expect(step(ada, "approve")).to_have_attribute("aria-label", "Approval Manager approves: Waiting")
    run_id = ada.url.rsplit("/", 1)[1]

    max_ = visit("max", "/inbox")
    max_.get_by_role("link", name="Manager approves").first.click()
    visit.ready(max_)
    expect(max_.get_by_text("Espresso machine")).to_be_visible()
    expect(max_.get_by_text("Ada (designer)")).to_be_visible()
    max_.get_by_label("Comment").fill("Fine <b>by me</b>")
    max_.get_by_role("button", name="Approve").click()
    expect(max_.get_by_role("heading", name="Approved")).to_be_visible()

    expect(step(ada, "order")).to_have_attribute("aria-label", "Activity Place the order: Failed")
    expect(step(ada, "tell")).to_have_attribute("aria-label", "Activity Tell the requester: Blocked")
    expect(ada.get_by_role("status").filter(has_text="The run needs a person.")).to_contain_text("The shop is closed.")
    step(ada, "order").click()
    office.desk.broken = False
    ada.get_by_role("button", name="Retry").click()
    confirm = ada.get_by_role("dialog").get_by_role("button", name="Retry")
    confirm.click()
    expect(ada.get_by_text("Say why; it is kept in the history.")).to_be_visible()
    ada.get_by_label("Reason").fill("The shop has opened")
    confirm.dblclick()
    expect(ada.get_by_role("status").filter(has_text="The run succeeded")).to_be_visible()
    expect(ada.locator(".react-flow__node.is-succeeded")).to_have_count(4)
    history = ada.get_by_role("list", name="History")
    expect(history).to_contain_text("The shop has opened")
    expect(history).to_contain_text("Fine <b>by me</b>")
    events = office.signoff.queries.list_events(TENANT, run_id)
    assert sum("retr" in e.type and "step" in e.type for e in events) == 1, [e.type for e in events]
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))
    started = [r.run_id for r in office.signoff.queries.list_runs(TENANT).items if r.started_by == "ada"]
    assert started == [run_id], "two clicks on Start made two runs"


def test_a_failed_step_is_skipped_with_a_substitute_output(visit: Visitors, office: Office) -> None:
    """Case C21."""
    run_id = office.stalled_run()
    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_role("button", name="Skip").click()
    ada.get_by_label("Reason").fill("Bought by telephone")
    ada.get_by_label("Order number").fill("T-1")
    ada.get_by_role("dialog").get_by_role("button", name="Skip").click()
    expect(step(ada, "order")).to_have_attribute("aria-label", "Activity Place the order: Skipped")
    expect(ada.locator(".react-flow__node.is-skipped")).to_have_count(1)
    state = office.signoff.queries.get_run(TENANT, run_id).state
    assert state.outputs["order"] == {"number": "T-1"}


def test_who_may_not_operate_is_offered_nothing(visit: Visitors, office: Office) -> None:
    run_id = office.stalled_run()
    dan = visit("dan", f"/runs/{run_id}")
    expect(dan.get_by_role("status").filter(has_text="The run needs a person.")).to_be_visible()
    for name in ("Retry", "Skip", "Pause", "Cancel run", "Terminate", "Edit input"):
        expect(dan.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_two_people_decide_at_once_and_the_second_is_told(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    max_, mia = (visit(login, f"/inbox/{run_id}/approve") for login in ("max", "mia"))
    max_.get_by_role("button", name="Approve").click()
    expect(max_.get_by_role("heading", name="Approved")).to_be_visible()
    expect(mia.get_by_text("A decision sent now is refused.")).to_be_visible()
    mia.get_by_role("button", name="Approve").click()
    expect(mia.get_by_role("alert").or_(mia.get_by_role("status"))).to_contain_text("Max (manager)")
    visit.expected = ("409",)


def test_one_decision_sent_twice_is_one_decision(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    max_ = visit("max", f"/inbox/{run_id}/approve")
    max_.get_by_role("button", name="Approve").dblclick()
    expect(max_.get_by_role("heading", name="Approved")).to_be_visible()
    max_.reload()
    expect(max_.get_by_role("heading")).to_have_text("Approved")
    types = [e.type for e in office.signoff.queries.list_events(TENANT, run_id)]
    assert types.count("approval.decision_recorded") == 1


def test_lists_follow_what_happens_and_can_be_filtered(visit: Visitors, office: Office) -> None:
    max_ = visit("max", "/inbox")
    ada = visit("ada", "/runs?definition=purchase&status=running")
    run_id = office.waiting_run(item="Bookshelf", amount=99.0)
    expect(ada.locator(f'a[href="/runs/{run_id}"]')).to_be_visible()
    expect(max_.locator(f'a[href="/inbox/{run_id}/approve"]')).to_be_visible()
    expect(max_.get_by_role("navigation").get_by_label("waiting")).to_be_visible()
    office.approve(run_id, "mia")
    expect(max_.locator(f'a[href="/inbox/{run_id}/approve"]')).to_have_count(0)
    visit.go(ada, "/runs?status=cancelled")
    expect(ada.get_by_text("No run fits these filters.")).to_be_visible()


def ordered(page: Page, action: str, reason: str) -> None:
    """An operator's command with its reason."""
    page.get_by_role("button", name=action, exact=True).click()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()


def test_a_run_is_paused_mended_resumed_and_cancelled(visit: Visitors, office: Office) -> None:
    run_id = office.waiting_run()
    ada = visit("ada", f"/runs/{run_id}")
    ordered(ada, "Pause", "Budget freeze")
    expect(ada.get_by_role("status").filter(has_text="Nothing starts and no clock runs.")).to_be_visible()
    ada.get_by_role("button", name="Edit input").click()
    ada.get_by_label("Reason").fill("A typing error")
    expect(ada.get_by_label("What")).to_have_value("Desk lamp")
    ada.get_by_label("What").fill("Floor lamp")
    ada.get_by_role("dialog").get_by_role("button", name="Edit input").click()
    expect(ada.get_by_text("The input was changed.")).to_be_visible()
    ordered(ada, "Resume", "Budget is back")
    expect(ada.get_by_role("button", name="Pause")).to_be_visible()
    ordered(ada, "Cancel run", "Not needed any more")
    expect(ada.get_by_role("status").filter(has_text="The run was cancelled")).to_contain_text("Not needed any more")
    expect(ada.get_by_role("button", name="Pause")).to_have_count(0)
    assert office.signoff.queries.get_run(TENANT, run_id).state.input["item"] == "Floor lamp"


def test_the_chosen_theme_is_remembered(visit: Visitors) -> None:
    ada = visit("ada", "/runs")
    dark = "() => getComputedStyle(document.body).backgroundColor"
    light = ada.evaluate(dark)
    ada.get_by_role("button", name="Toggle theme").click()
    expect(ada.locator(".mui-dark").first).to_be_attached()
    visit.go(ada, "/definitions")
    expect(ada.locator(".mui-dark").first).to_be_attached()
    assert ada.evaluate(dark) != light
