"""Dead letters, unknown outcomes and reported progress in a real browser."""

from __future__ import annotations

import threading
from typing import Any

from playwright.sync_api import expect

from signoff.connectors.call import ActivityError, Call
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office


def one_step(name: str, connector: str, **more: Any) -> dict[str, Any]:
    step = {"id": "work", "kind": "activity", "label": "Do the work", "connector": connector, **more}
    return {"name": name, "title": name.title(), "steps": [step], "edges": []}


def test_a_dead_letter_is_found_and_replayed(visit: Visitors, office: Office) -> None:
    run_id = office.stalled_run()
    ada = visit("ada", "/runs")
    ada.get_by_role("link", name="dead letter").click()
    card = ada.locator(f'[data-run="{run_id}"]')
    expect(card).to_contain_text("The shop is closed.")
    expect(card).to_contain_text("tried once")
    office.desk.broken = False
    ada.get_by_role("button", name="Replay").click()
    ada.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(ada.get_by_role("dialog")).to_contain_text("Say why")
    ada.get_by_label("Reason").fill("The shop has opened")
    ada.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(ada.get_by_text("There are no dead letters.")).to_be_visible()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")
    dan = visit("dan", "/runs")
    expect(dan.get_by_role("link", name="dead letter")).to_have_count(0)


def test_an_operator_says_that_a_lost_call_happened(visit: Visitors, office: Office) -> None:
    def lose(call: Call) -> None:
        raise ActivityError("The answer was lost.", code="outcome_unknown")

    office.connectors["lose"] = lose
    office.publish(one_step("pay", "lose", effect="at_most_once", output=[{"name": "id", "label": "Payment"}]))
    run_id = office.start(definition="pay")
    office.wait_until(run_id, lambda s: s[""] == "stalled")
    ada = visit("ada", f"/runs/{run_id}")
    expect(ada.locator(".react-flow__node.is-outcome_unknown")).to_have_count(1)
    expect(ada.get_by_role("button", name="It did not happen")).to_be_visible()
    for name in ("Retry", "Skip"):
        expect(ada.get_by_role("button", name=name, exact=True)).to_have_count(0)
    ada.get_by_role("button", name="It happened").click()
    ada.get_by_label("Reason").fill("Seen at the bank")
    ada.get_by_label("Payment").fill("P-77")
    ada.get_by_role("dialog").get_by_role("button", name="It happened").click()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")
    assert office.signoff.queries.get_run(TENANT, run_id).state.outputs["work"] == {"id": "P-77"}


def test_progress_moves_on_an_open_page(visit: Visitors, office: Office) -> None:
    go_on, began = threading.Event(), threading.Event()

    done = threading.Event()

    def copy(call: Call) -> None:
        began.set()
        assert go_on.wait(60)
        call.report(0.4, "row 400 of 1000")
        assert done.wait(60)

    office.connectors["copy"] = copy
    office.publish(one_step("copy", "copy"))
    run_id = office.start(definition="copy")
    assert began.wait(30)
    ada = visit("ada", f"/runs/{run_id}")
    go_on.set()
    expect(ada.get_by_role("list", name="Attempts")).to_contain_text("40 %: row 400 of 1000")
    expect(ada.get_by_role("progressbar", name="Progress")).to_be_visible()
    done.set()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")


def test_cancelling_undoes_what_was_done_and_somebody_helps_by_hand(visit: Visitors, office: Office) -> None:
    def refuse(call: Call) -> None:
        raise ActivityError("The desk is closed.", code="closed", retryable=False)

    office.connectors["book"] = lambda call: {"number": 7}
    office.connectors["unbook"] = refuse
    document = one_step("trip", "book", effect="compensatable", compensation={"connector": "unbook"})
    document["steps"].append({"id": "rest", "kind": "wait", "label": "Rest", "duration": "P1D"})
    document["edges"].append({"from": "work", "to": "rest"})
    office.publish(document)
    run_id = office.start(definition="trip")
    office.wait_until(run_id, lambda s: s.get("rest") == "waiting")
    ada = visit("ada", f"/runs/{run_id}")
    ada.get_by_role("button", name="Cancel run").click()
    ada.get_by_label("Reason").fill("Fair is off")
    ada.get_by_label("Undo the completed steps").check()
    ada.get_by_role("dialog").get_by_role("button", name="Cancel run").click()
    office.wait_until(run_id, lambda s: s[""] == "stalled")
    expect(ada.get_by_text("'Do the work' could not be undone: The desk is closed.").first).to_be_visible()
    ada.locator('.react-flow__node[data-id="work"]').click()
    ada.get_by_role("button", name="Skip").click()
    expect(ada.get_by_role("dialog")).to_contain_text("Somebody undid it by hand")
    ada.get_by_label("Reason").fill("Called them")
    ada.get_by_role("dialog").get_by_role("button", name="Skip").click()
    office.wait_until(run_id, lambda s: s[""] == "cancelled")
    expect(ada.locator(".react-flow__node.is-compensated")).to_have_count(1)


def test_a_compensation_is_drawn_in_the_designer(visit: Visitors, office: Office) -> None:
    office.connectors["book"] = office.connectors["unbook"] = lambda call: {"number": 7}
    document = one_step("visit_abroad", "book")
    office.signoff.create_draft(office.actor("ada"), TENANT, document, {})
    ada = visit("ada", "/definitions/visit_abroad/draft")
    ada.locator('.react-flow__node[data-id="work"]').click()
    ada.get_by_role("button", name="Undoing it").click()
    ada.get_by_label("Undone by").click()
    ada.get_by_role("menuitem", name="unbook").click()
    ada.get_by_role("button", name="Save draft").click()
    expect(ada.get_by_text("revision 2").first).to_be_visible()
    kept = office.signoff.queries.find_draft(TENANT, "visit_abroad").document["steps"][0]
    assert kept["compensation"] == {"connector": "unbook"}


def test_an_operator_can_mend_a_run_on_a_telephone(visit: Visitors, office: Office) -> None:
    """The buttons of the selected step lay under the history, where no finger could reach them."""
    run_id = office.stalled_run()
    ada = visit("ada", f"/runs/{run_id}", width=390, height=844)
    office.desk.broken = False
    ada.get_by_role("button", name="Retry", exact=True).click()
    ada.get_by_label("Reason").fill("The shop has opened")
    ada.get_by_role("dialog").get_by_role("button", name="Retry").click()
    office.wait_until(run_id, lambda s: s[""] == "succeeded")
