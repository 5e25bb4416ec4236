"""Form steps in the browser: filled in without a socket, wrong values kept, sent back; built in the designer."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from signoff.core.definition import FormConfig, SignalConfig
from signoff.core.rejection import Rejection
from signoff.web.models import sheet as board
from signoff.web.models.renaming import rename_step
from signoff.web.session import form_token
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office
from tests.web.test_security import signed_in

FIELDS: list[dict[str, Any]] = [
    {"name": "cost_centre", "label": "Cost centre", "type": "choice", "options": ["IT", "Sales"]},
    {"name": "amount", "label": "Amount", "type": "number", "minimum": 1, "help": "Without tax"},
    {"name": "urgent", "label": "Urgent", "type": "boolean", "required": False},
    {"name": "due", "label": "Due", "type": "date", "required": False},
    {"name": "note", "label": "Note <b>", "type": "long_text", "required": False},
]


def filling(name: str) -> dict[str, Any]:
    steps = [
        {"id": "prepare", "kind": "activity", "label": "Prepare", "connector": "budget", "input": {"n": 1}},
        {
            "id": "details",
            "kind": "form",
            "label": "Fill in the details",
            "groups": ["managers"],
            "fields": FIELDS,
            "prefill": {"amount": 12.5},
            "returns_to": ["prepare"],
        },
    ]
    edges = [{"from": "prepare", "to": "details"}]
    return {"format": "signoff/1", "name": name, "title": "Details", "steps": steps, "edges": edges}


def waiting(office: Office, name: str, key: str) -> str:
    office.publish(filling(name))
    run_id: str = office.signoff.start_run(office.actor("dan"), TENANT, name, {}, business_key=key)["run_id"]
    office.wait_until(run_id, lambda steps: steps["details"] == "waiting")
    return run_id


def test_a_form_is_filled_in_and_wrong_values_are_not_lost(visit: Visitors, office: Office) -> None:
    run_id = waiting(office, "filling", "K-88")
    max_ = visit("max", "/inbox")
    max_.get_by_role("row").filter(has_text="K-88").get_by_role("link", name="Fill in the details").click()
    visit.ready(max_)
    expect(max_.get_by_label("Amount")).to_have_value("12.5")
    max_.get_by_label("Cost centre").select_option("Sales")
    max_.get_by_label("Amount").fill("0.5")
    max_.get_by_label("Urgent").check()
    max_.get_by_label("Note").fill("Line 1\nLine 2")
    visit.expected = ("422",)
    max_.get_by_role("button", name="Submit").click()
    expect(max_.get_by_role("alert").first).to_contain_text("nothing was stored yet")
    expect(max_.get_by_text("is below 1")).to_be_visible()
    expect(max_.get_by_label("Cost centre")).to_have_value("Sales")
    expect(max_.get_by_label("Note")).to_have_value("Line 1\nLine 2")
    expect(max_.get_by_label("Urgent")).to_be_checked()
    max_.get_by_label("Amount").fill("1,250.50")
    max_.get_by_role("button", name="Submit").click()
    expect(max_.get_by_role("heading", name="Submitted")).to_be_visible()
    output = office.signoff.queries.get_run(TENANT, run_id).state.outputs["details"]
    assert output == {"cost_centre": "Sales", "amount": 1250.5, "urgent": True, "due": None, "note": "Line 1\nLine 2"}
    visit.go(max_, f"/runs/{run_id}")
    expect(max_.get_by_role("list", name="History")).to_contain_text("filled in 'Fill in the details'")
    max_.get_by_role("group", name="Form Fill in the details").click()
    expect(max_.locator("[data-step=details]")).to_contain_text("Filled in by")


def test_a_form_sends_the_work_back(visit: Visitors, office: Office) -> None:
    run_id = waiting(office, "filling_back", "K-89")
    mia = visit("mia", f"/inbox/{run_id}/details")
    mia.get_by_text("Send the work back instead").click()
    mia.get_by_label("Comment").fill("Prepare it better")
    mia.get_by_role("button", name="Return to").click()
    expect(mia.get_by_role("heading", name="Returned")).to_be_visible()
    office.wait_until(run_id, lambda steps: steps["details"] == "waiting")
    assert office.signoff.queries.get_run(TENANT, run_id).state.steps["details"].round == 2


def test_only_forms_of_the_session_count_and_a_second_one_is_told(office: Office) -> None:
    run_id = waiting(office, "filling_posts", "K-90")
    item = office.signoff.queries.find_task(TENANT, "max", run_id, "details")
    assert item is not None
    web = signed_in(office, "max")
    body = {
        "token": "wrong", "generation": "1", "shown_digest": item.shown_digest, "key": "k" * 12, "do": "submit",
        "field.cost_centre": "IT", "field.amount": "7",
    }  # fmt: skip
    path = f"/submit/{run_id}/details"
    assert web.send("POST", path, body).status == 403
    assert web.get(path).status in (404, 405)
    body["token"] = form_token(web.secret)
    assert web.send("POST", path, {**body, "generation": "x"}).status == 404
    good = web.send("POST", path, body)
    assert (good.status, "recorded" in good.text) == (200, True)
    assert web.send("POST", path, body).status == 200
    again = web.send("POST", path, {**body, "key": "n" * 12, "field.amount": "8"})
    assert again.status == 409
    assert "already filled in" in again.text
    assert "Amount: 8" in again.text
    assert office.signoff.queries.get_run(TENANT, run_id).state.outputs["details"]["amount"] == 7.0


def test_a_form_is_made_in_the_designer(visit: Visitors, office: Office) -> None:
    document = {"name": "built_form", "title": "Built", "steps": [], "edges": []}
    office.signoff.create_draft(office.actor("ada"), TENANT, document, {})
    ada = visit("ada", "/definitions/built_form/draft")
    ada.get_by_role("button", name="Add form").click()
    expect(ada.get_by_label("Who started the run is asked too")).to_be_visible()
    ada.get_by_label("Who started the run is asked too").check()
    ada.get_by_role("button", name="Publish").click()
    expect(ada.get_by_text("Published version 1").first).to_be_visible()
    version = office.signoff.queries.find_version(TENANT, "built_form", 1)
    assert version is not None
    config = version.definition.steps[0].config
    assert isinstance(config, FormConfig)
    assert (config.requester, config.fields[0].name) == (True, "answer")


def test_a_signal_is_made_in_the_designer_and_seen_on_the_run(visit: Visitors, office: Office) -> None:
    document = {"name": "built_signal", "title": "Built signal", "steps": [], "edges": []}
    office.signoff.create_draft(office.actor("ada"), TENANT, document, {})
    ada = visit("ada", "/definitions/built_signal/draft")
    ada.get_by_role("button", name="Add signal").click()
    ada.get_by_label("Name of the signal").fill("payment")
    ada.get_by_label("Name of the signal").press("Enter")
    ada.get_by_role("button", name="Publish").click()
    expect(ada.get_by_text("Published version 1").first).to_be_visible()
    run_id = office.signoff.start_run(office.actor("ada"), TENANT, "built_signal", {}, business_key="K-91")["run_id"]
    visit.go(ada, f"/runs/{run_id}")
    expect(ada.get_by_text("the signal 'payment' with the key 'K-91'").first).to_be_visible()
    office.signoff.send_signal(office.actor("ada"), TENANT, "payment", "K-91", {"n": 1})
    expect(ada.get_by_role("list", name="History")).to_contain_text("got the signal 'payment'")
    expect(ada.get_by_role("group", name="Received")).to_be_visible()


def test_a_subflow_is_made_in_the_designer_and_both_runs_link_each_other(visit: Visitors, office: Office) -> None:
    inner = filling("inner_details")
    office.publish(inner)
    document = {"name": "built_subflow", "title": "Built subflow", "steps": [], "edges": []}
    office.signoff.create_draft(office.actor("ada"), TENANT, document, {})
    ada = visit("ada", "/definitions/built_subflow/draft")
    ada.get_by_role("button", name="Add subflow").click()
    expect(ada.get_by_text("starts nothing").first).to_be_visible()
    ada.get_by_label("Starts a run of").click()
    ada.get_by_role("menuitem", name="inner_details").click()
    ada.get_by_role("button", name="Publish").click()
    expect(ada.get_by_text("Published version 1").first).to_be_visible()
    run_id = office.signoff.start_run(office.actor("ada"), TENANT, "built_subflow", {})["run_id"]
    child = office.signoff.queries.get_run(TENANT, run_id).state.steps["new_subflow"].child
    visit.go(ada, f"/runs/{run_id}")
    ada.get_by_role("link", name=child).click()
    visit.ready(ada)
    expect(ada.get_by_role("heading", name="Details").first).to_be_visible()
    expect(ada.get_by_role("link", name="parent run")).to_have_attribute("href", f"/runs/{run_id}")


def test_other_names_are_followed() -> None:
    document = filling("renamed")
    document["steps"].append({"id": "s", "kind": "signal", "signal": "m", "key": "=steps.prepare.output.left"})
    sheet, _ = board.open_sheet(document, {})
    assert sheet is not None
    renamed = rename_step(sheet, "prepare", "ready")
    assert not isinstance(renamed, Rejection)
    form, signal = (s.config for s in renamed.definition.steps[1:])
    assert isinstance(form, FormConfig)
    assert isinstance(signal, SignalConfig)
    assert form.returns_to == ("ready",)
    assert signal.key == "=steps.ready.output.left"
