"""Reassigning, withdrawing and completing by hand in a real browser."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office


def two_of_three() -> dict[str, Any]:
    step = {"id": "approve", "kind": "approval", "label": "Two approve", "groups": ["managers"], "required": 2}
    return {"name": "pair", "title": "Pair", "steps": [step], "edges": []}


def test_somebody_else_is_asked_and_a_vote_is_taken_back(visit: Visitors, office: Office) -> None:
    office.running.save_person("eve", name="Eve (deputy)", roles=("approver",), password="demo")
    office.publish(two_of_three())
    run_id = office.start(definition="pair")
    office.wait_until(run_id, lambda s: s["approve"] == "waiting")
    max_ = visit("max", f"/inbox/{run_id}/approve")
    max_.get_by_role("button", name="Approve").click()
    expect(max_.get_by_role("heading", name="Approved")).to_be_visible()

    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_role("button", name="Reassign").click()
    dialog = ada.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Mia is on leave")
    dialog.get_by_role("button", name="Reassign").click()
    expect(dialog).to_contain_text("Choose at least one person.")
    for label, name in (("Ask as well", "Eve (deputy) (eve)"), ("Ask no more", "Mia (manager) (mia)")):
        dialog.get_by_label(label).click()
        ada.get_by_text(name, exact=True).click()
        dialog.get_by_text("Other people are asked").click(force=True)
    dialog.get_by_role("button", name="Reassign").click()
    expect(ada.get_by_text("Reassigned ‘Two approve’.")).to_be_visible()
    task = office.signoff.queries.find_task(TENANT, "eve", run_id, "approve")
    assert task.may_decide
    assert office.signoff.queries.find_task(TENANT, "mia", run_id, "approve") is None

    visit.go(max_, f"/runs/{run_id}")
    max_.get_by_role("link", name="Withdraw your vote").click()
    visit.ready(max_)
    max_.get_by_label("Comment").fill("I had the wrong offer open")
    max_.get_by_role("button", name="Withdraw your vote").click()
    expect(max_.get_by_role("heading", name="Vote withdrawn")).to_be_visible()
    max_.get_by_role("link", name="Decide again").click()
    visit.ready(max_)
    expect(max_.get_by_role("button", name="Approve")).to_be_visible()
    history = [e.sentence for e in office.signoff.queries.list_events(TENANT, run_id)]
    assert any("withdrew the decision on 'Two approve': I had the wrong offer open" in x for x in history)


def test_a_failed_step_is_recorded_as_done_by_hand(visit: Visitors, office: Office) -> None:
    run_id = office.stalled_run()
    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_role("button", name="Done by hand").click()
    dialog = ada.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Ordered by phone")
    dialog.get_by_label("Order number").fill("B-77")
    dialog.get_by_role("button", name="Done by hand").click()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")
    expect(ada.get_by_role("list", name="History")).to_contain_text("did 'Place the order' by hand: Ordered by phone")
    assert office.signoff.queries.get_run(TENANT, run_id).state.outputs["order"] == {"number": "B-77"}
