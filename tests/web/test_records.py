"""The page of records: seen by those who may, the rule counted and changed by administrators."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from signoff.core.retention import Retention
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office


@pytest.fixture(autouse=True)
def as_before(office: Office) -> Iterator[None]:
    """The office is shared by all tests: its rule is taken back."""
    office.running.save_person("mary", name="Mary", roles=("administrator",), password="demo")
    yield
    again = {"reason": "over", "password": "demo"}
    office.signoff.do("set_retention", office.actor("mary"), TENANT, retention={}, **again)


def test_an_administrator_counts_and_sets_a_rule(visit: Visitors, office: Office) -> None:
    mary = visit("mary", "/records")
    expect(mary.get_by_text("Ended runs are kept for ever.")).to_be_visible()
    mary.get_by_label("Days after the end").fill("400")
    mary.get_by_label("At most").fill("800")
    mary.get_by_role("button", name="Count what it would remove").click()
    expect(mary.get_by_role("status").filter(has_text="0 runs are due under this rule")).to_be_visible()
    assert office.signoff.queries.retention.of(TENANT) == Retention()
    save = mary.get_by_role("button", name="Save the rule")
    save.click()
    expect(mary.get_by_role("alert").filter(has_text="Expected a reason")).to_be_visible()
    mary.get_by_label("Reason", exact=True).fill("The law wants no more")
    mary.get_by_label("Your password, to save the rule").fill("wrong")
    save.click()
    expect(mary.get_by_role("alert").filter(has_text="The password is wrong")).to_be_visible()
    assert office.signoff.queries.retention.of(TENANT) == Retention()
    mary.get_by_label("Your password, to save the rule").fill("demo")
    save.click()
    expect(mary.get_by_role("status").filter(has_text="The rule is set")).to_be_visible()
    assert office.signoff.queries.retention.of(TENANT) == Retention(400, None, 800)
    expect(mary.get_by_text("Ended runs are removed 400 days after their end")).to_be_visible()
    ada = visit("ada", "/runs")
    ada.get_by_role("link", name="Records").click()
    visit.ready(ada)
    expect(ada.get_by_role("table", name="Due")).to_contain_text("400 days (rule of the tenant)")
    expect(ada.get_by_role("button", name="Save the rule")).to_have_count(0)


def test_an_administrator_replaces_a_key_with_the_password(visit: Visitors, office: Office) -> None:
    mary = visit("mary", "/records")
    before = office.signoff.queries.keys.listed(TENANT)
    mary.get_by_label("Reason for new keys").fill("yearly")
    mary.get_by_label("Your password", exact=True).fill("wrong")
    mary.get_by_role("button", name="New signing key").click()
    expect(mary.get_by_role("alert").filter(has_text="The password is wrong")).to_be_visible()
    assert [k.id for k in office.signoff.queries.keys.listed(TENANT)] == [k.id for k in before]
    mary.get_by_label("Your password", exact=True).fill("demo")
    mary.get_by_role("button", name="New signing key").click()
    expect(mary.get_by_role("status").filter(has_text="A new key is being made")).to_be_visible()
    expect(mary.get_by_role("table", name="Keys")).to_contain_text("Signing key")
