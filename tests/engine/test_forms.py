"""Form steps on a real engine: the inbox shows them, people fill them in over every route."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import Forbidden, InvalidInput, Refused
from tests.engine.office import TENANT, Office, call, chain, open_office, person

FIELDS = [{"name": "cost_centre", "label": "Cost centre"}, {"name": "amount", "label": "Amount", "type": "number"}]


def details(**more: Any) -> dict[str, Any]:
    return {"id": "details", "kind": "form", "groups": ["managers"], "fields": FIELDS, **more}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path / "data") as office:
        yield office
        office.check_replay()


def waiting(office: Office, **more: Any) -> str:
    office.publish(chain("buy", details(**more), call("order")))
    run_id: str = office.signoff.start_run(person("dan"), TENANT, "buy", {})["run_id"]
    office.until_step(run_id, "details", "waiting")
    return run_id


def test_a_form_is_in_the_inbox_until_it_is_filled_in(office: Office) -> None:
    run_id = waiting(office, prefill={"amount": 5}, instructions="Where does it go?")
    queries = office.signoff.queries
    (item,) = queries.list_inbox(TENANT, "grace").items
    assert (item.kind, item.label, item.instructions, item.prefill) == (
        "form", "Details", "Where does it go?", {"amount": 5})  # fmt: skip
    assert [f.name for f in item.fields] == ["cost_centre", "amount"]
    assert queries.count_inbox(TENANT, "alan") == 1
    values = {"cost_centre": "IT", "amount": 7}
    sent = {"generation": item.generation, "shown_digest": item.shown_digest}
    office.signoff.submit_form(person("grace"), TENANT, run_id, "details", values, **sent)
    assert queries.list_inbox(TENANT, "grace").items == ()
    assert queries.count_inbox(TENANT, "alan") == 0
    with pytest.raises(Refused, match="already handled by Grace"):
        office.signoff.submit_form(person("alan"), TENANT, run_id, "details", values, **sent)
    assert office.evidence(run_id) == ["already_handled"]
    seen = queries.find_task(TENANT, "alan", run_id, "details")
    assert seen is not None
    assert (seen.status, seen.may_decide) == ("submitted", False)


def test_wrong_values_are_refused_by_field(office: Office) -> None:
    run_id = waiting(office)
    with pytest.raises(InvalidInput) as caught:
        office.signoff.submit_form(person("grace"), TENANT, run_id, "details", {"amount": "much"}, generation=1)
    assert [p["field"] for p in caught.value.problems] == ["cost_centre", "amount"]  # type: ignore[index]
    assert office.evidence(run_id) == []


def test_the_requester_fills_in_their_own_form_and_sees_it_counted(office: Office) -> None:
    run_id = waiting(office, groups=[], requester=True)
    assert office.signoff.queries.count_inbox(TENANT, "dan") == 1
    office.signoff.submit_form(
        person("dan"), TENANT, run_id, "details", {"cost_centre": "IT", "amount": 1}, generation=1
    )
    office.until_step(run_id, "order", "succeeded")


def test_who_has_no_fitting_role_is_refused(office: Office) -> None:
    run_id = waiting(office)
    office.running.save_person("eva", roles=("auditor",), groups=("managers",))
    with pytest.raises(Forbidden, match="role"):
        office.signoff.submit_form(person("eva"), TENANT, run_id, "details", {}, generation=1)


def test_whoever_leaves_last_stalls_the_form(office: Office) -> None:
    run_id = waiting(office, groups=[], people=["edith"])
    office.running.save_person("edith", roles=None, groups=None, active=False)
    assert office.view(run_id).state.status == "stalled"
