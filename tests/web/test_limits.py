"""The page of limits: seen by those who may, changed by administrators, with a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from signoff.core.limits import Share
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office


@pytest.fixture(autouse=True)
def as_before(office: Office) -> Iterator[None]:
    """The office is shared by all tests: its limits are taken back."""
    office.running.save_person("mary", name="Mary", roles=("administrator",), password="demo")
    yield
    office.signoff.do("set_limits", office.actor("mary"), TENANT, limits={}, reason="over")


def test_an_administrator_changes_limits_and_an_operator_sees_them(visit: Visitors, office: Office) -> None:
    mary = visit("mary", "/limits")
    mary.get_by_label("Open runs").fill("7")
    mary.get_by_label("Time of a run").fill("P90D")
    mary.get_by_label("At once").first.fill("3")
    mary.get_by_role("button", name="Add to “calls of a connector”").click()
    mary.get_by_label("Name", exact=True).fill("http")
    mary.get_by_label("In a minute").last.fill("30")
    save = mary.get_by_role("button", name="Save the limits")
    save.click()
    expect(mary.get_by_role("alert").filter(has_text="Expected a reason to set the limits.")).to_be_visible()
    mary.get_by_label("Reason").fill("Month end")
    save.click()
    expect(mary.get_by_role("status").filter(has_text="The limits are set.")).to_be_visible()
    limits = office.signoff.queries.limits.of(TENANT)
    assert (limits.open_runs, limits.run_time, limits.activities) == (7, "P90D", Share(3))
    assert limits.connectors == {"http": Share(None, 30)}
    ada = visit("ada", "/runs")
    ada.get_by_role("link", name="Limits").click()
    visit.ready(ada)
    table = ada.get_by_role("table", name="Limits")
    expect(table.get_by_role("row", name="Open runs")).to_contain_text("7 · further runs do not start")
    expect(table.get_by_role("row", name="Calls, connector http")).to_contain_text("30 in a minute")
    expect(ada.get_by_role("button", name="Save the limits")).to_have_count(0)


def test_a_wrong_limit_is_said_and_changes_nothing(visit: Visitors, office: Office) -> None:
    mary = visit("mary", "/limits")
    mary.get_by_label("Time of a run").fill("soon")
    mary.get_by_label("Reason").fill("x")
    mary.get_by_role("button", name="Save the limits").click()
    expect(mary.get_by_role("alert").filter(has_text="'soon' is not an ISO 8601 duration")).to_be_visible()
    assert office.signoff.queries.limits.of(TENANT).run_time == ""
