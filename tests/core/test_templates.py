"""The templates are valid and run to the ends their summaries promise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signoff.core.document import read_document, write_document
from signoff.core.events import ActivityScheduled
from signoff.core.facts import Directory
from signoff.core.validate import Surroundings, validate
from tests.arch.sources import ROOT
from tests.core.kit import JSON, World

FILES = sorted((ROOT / "assets" / "templates").glob("*.json"))
GROUPS = {
    "managers": ("mia", "max"),
    "finance": ("fay", "finn", "max"),
    "legal": ("lea",),
    "directors": ("dora",),
    "it_owners": ("ivo",),
    "operators": ("olga",),
}
PEOPLE = {p: p.capitalize() for members in GROUPS.values() for p in members} | {"dan": "Dan"}
AROUND = Surroundings(frozenset({"http"}), frozenset(GROUPS), {g: len(m) for g, m in GROUPS.items()}, frozenset(PEOPLE))
OK = {"status": 200, "body": {"available": 12000.5}}


def load(name: str) -> JSON:
    found: JSON = json.loads((ROOT / "assets" / "templates" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def start(name: str, by: str = "dan", **values: Any) -> World:
    return World(load(name)["document"], values, by=by, directory=Directory(1, GROUPS, PEOPLE))


def purchase(amount: float, **more: Any) -> World:
    given = {"item": "Desk", "supplier": "Holz AG", "cost_centre": "IT", "amount": amount, "reason": "Broken."}
    return start("purchase_approval", **{**given, **more})


def test_there_are_templates() -> None:
    assert {"purchase_approval", "access_request", "contract_review", "refund", "business_trip"} <= {
        f.stem for f in FILES
    }


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_template_is_complete_and_valid(file: Any) -> None:
    template = json.loads(file.read_text(encoding="utf-8"))
    assert set(template) == {"summary", "document", "layout"}
    assert template["summary"].endswith(".")
    definition, problems = read_document(template["document"])
    assert definition is not None
    found = [*problems, *validate(definition, AROUND)]
    assert [p.sentence for p in found] == []
    assert definition.name == file.stem
    assert set(template["layout"]) == {s.id for s in definition.steps}
    assert len({(at["x"], at["y"]) for at in template["layout"].values()}) == len(definition.steps)
    assert read_document(write_document(definition)) == (definition, ())


def test_a_small_purchase_needs_the_manager_only() -> None:
    world = purchase(300)
    world.done("check_budget", output=OK)
    world.approve("manager_approval", "mia")
    assert world.statuses["finance_approval"] == "not_taken"
    world.done("place_order", output=OK)
    assert world.run == "succeeded"


def test_a_large_purchase_needs_finance_as_well() -> None:
    world = purchase(8000)
    world.done("check_budget", output=OK)
    assert world.explain().of("manager_approval").waits_for == ("mia", "max")
    world.approve("manager_approval", "max")
    assert world.statuses["place_order"] == "pending"
    assert world.no(world.vote("finance_approval", "max")).code == "decided_before"
    world.approve("finance_approval", "fay")
    world.done("place_order", output=OK)
    assert world.run == "succeeded"


def test_a_rejected_purchase_orders_nothing() -> None:
    world = purchase(8000)
    world.done("check_budget", output=OK)
    world.reject("manager_approval", "mia")
    assert world.run == "rejected"
    assert "activity.scheduled" not in world.kinds()[6:]


def test_a_manager_may_not_approve_their_own_purchase() -> None:
    given = {"item": "Desk", "supplier": "Holz AG", "cost_centre": "IT", "amount": 10, "reason": "Broken."}
    world = start("purchase_approval", by="mia", **given)
    world.done("check_budget", output=OK)
    assert world.no(world.vote("manager_approval", "mia")).code == "own_request"
    world.approve("manager_approval", "max")


def test_a_budget_service_that_is_down_stalls_and_can_be_skipped() -> None:
    world = purchase(300)
    for _ in range(4):
        if world.step("check_budget").timer == "retry":
            world.fire("check_budget")
        world.claim("check_budget")
        world.ok(world.failure("check_budget", "unreachable"))
    assert world.run == "stalled"
    assert world.no(world.skip("check_budget")).code == "output_missing"
    world.ok(world.skip("check_budget", output={"status": 0, "body": {}}))
    world.approve("manager_approval", "mia")
    assert world.statuses["place_order"] == "scheduled"


def test_access_is_granted_and_taken_away_on_the_day() -> None:
    world = start(
        "access_request", person="Dan", system="Payroll", level="Read", last_day="2027-03-28", reason="Year end."
    )
    world.approve("manager_approval", "mia")
    world.approve("owner_approval", "ivo")
    world.done("grant", output=OK)
    due = world.step("until_last_day").due
    assert due is not None
    assert due.isoformat() == "2027-03-27T23:00:00+00:00"  # midnight in Berlin
    world.fire("until_last_day")
    world.done("revoke", output=OK)
    assert world.run == "succeeded"


def test_access_that_the_owner_refuses_is_never_granted() -> None:
    world = start(
        "access_request", person="Dan", system="Payroll", level="Read", last_day="2027-03-28", reason="Year end."
    )
    world.approve("manager_approval", "mia")
    world.reject("owner_approval", "ivo")
    assert world.run == "rejected"
    assert world.statuses["grant"] == "blocked"


def review() -> World:
    return start("contract_review", partner="Ada Ltd", subject="Support", value=9000, term=24, place="Folder 7")


def test_a_contract_is_signed_after_both_reviews() -> None:
    world = review()
    world.approve("finance_review", "fay")
    assert world.statuses["signature"] == "pending"
    world.approve("legal_review", "lea")
    world.approve("signature", "dora")
    world.done("file_contract", output=OK)
    assert world.run == "succeeded"
    assert world.statuses["report_rejection"] == "not_taken"


@pytest.mark.parametrize("first", ["legal", "finance"])
def test_a_rejected_review_is_reported_and_nothing_is_signed(first: str) -> None:
    world = review()
    if first == "legal":
        world.reject("legal_review", "lea")
        world.done("report_rejection", output=OK)
        assert world.run == "running"  # finance is still reading
        world.approve("finance_review", "fay")
    else:
        world.approve("legal_review", "lea")
        world.reject("finance_review", "fay")
        world.done("report_rejection", output=OK)
    assert world.statuses["signature"] == "blocked"
    assert world.run == "rejected"


def test_a_director_who_does_not_sign_is_reported_too() -> None:
    world = review()
    world.approve("legal_review", "lea")
    world.approve("finance_review", "finn")
    world.reject("signature", "dora")
    world.done("report_rejection", output=OK)
    assert world.statuses["file_contract"] == "not_taken"
    assert world.run == "succeeded"  # the process has an answer of its own for it


def refund(amount: float) -> World:
    return start("refund", order_number="A-1", customer="c@example.org", amount=amount, cause="Damaged")


def test_a_small_refund_is_paid_without_asking() -> None:
    world = refund(50)
    world.done("find_payment", "pay_back", "tell_customer", output=OK)
    assert world.run == "succeeded"
    assert world.statuses["manager_approval"] == "not_taken"
    assert world.statuses["by_hand"] == "not_taken"


def test_a_lost_answer_is_tried_again_with_the_same_key() -> None:
    world = refund(500)
    world.done("find_payment", output=OK)
    world.approve("manager_approval", "mia")
    world.claim("pay_back")
    world.ok(world.failure("pay_back", "outcome_unknown"))
    world.fire("pay_back")
    world.done("pay_back", "tell_customer", output=OK)
    keys = {e.key for e in world.events if getattr(e, "step", "") == "pay_back" and hasattr(e, "key")}
    assert keys == {"r1/pay_back/1/1"}
    assert world.run == "succeeded"


def test_a_refused_refund_is_paid_by_hand() -> None:
    world = refund(50)
    world.done("find_payment", output=OK)
    world.claim("pay_back")
    world.ok(world.failure("pay_back", "http_402"))
    assert world.statuses["by_hand"] == "waiting"
    world.approve("by_hand", "fay")
    world.done("tell_customer", output=OK)
    assert world.run == "succeeded"


def test_the_mail_is_never_sent_twice() -> None:
    world = refund(50)
    world.done("find_payment", "pay_back", output=OK)
    world.claim("tell_customer")
    world.ok(world.lost("tell_customer"))
    assert world.run == "stalled"
    assert "not known whether" in world.explain().sentence


def vacation() -> World:
    return start("vacation_request", first_day="2027-07-01", last_day="2027-07-14", days=10, deputy="Ann")


def answer_sent(world: World) -> str:
    return str(next(e.input["json"]["answer"] for e in world.events if isinstance(e, ActivityScheduled)))


@pytest.mark.parametrize("answer", ["approved", "rejected"])
def test_the_managers_answer_makes_the_escalation_needless(answer: str) -> None:
    world = vacation()
    for who in ("mia", "max"):
        if world.statuses["manager_decides"] == "waiting":
            world.ok(world.vote("manager_decides", who, answer))
    assert world.statuses["three_days"] == world.statuses["director_decides"] == "cancelled"
    assert answer_sent(world) == answer
    world.done("record", output=OK)
    assert world.run == "succeeded"


@pytest.mark.parametrize("answer", ["approved", "rejected"])
def test_after_three_days_a_director_may_answer(answer: str) -> None:
    world = vacation()
    world.fire("three_days")
    assert world.statuses["manager_decides"] == "waiting"
    world.ok(world.vote("director_decides", "dora", answer))
    assert world.statuses["manager_decides"] == "cancelled"
    assert answer_sent(world) == answer
    assert world.no(world.vote("manager_decides", "mia")).code == "not_open"
    world.done("record", output=OK)
    assert world.run == "succeeded"


def trip() -> World:
    world = start("business_trip", purpose="Fair", destination="Graz", first_day="2027-02-01")
    assert world.explain().of("plan").waits_for == ("dan",)
    world.ok(world.submission("plan", "dan", journey="Night train", hotel="Station hotel", estimate=640.0))
    return world


def test_a_trip_is_planned_agreed_and_booked_item_by_item() -> None:
    world = trip()
    world.approve("manager_decides", "mia")
    world.done("reserve", output={"status": 200, "body": {"reference": "travel-reserve-0001"}})
    made = [e.input["json"] for e in world.events if isinstance(e, ActivityScheduled) and e.step == "book"]
    assert [x["what"] for x in made] == ["Night train", "Station hotel"]
    world.item_done("book", 1, OK)
    world.item_done("book", 0, OK)
    world.done("tell", output=OK)
    assert world.run == "succeeded"


def test_a_booking_that_fails_gives_the_money_back() -> None:
    world = trip()
    world.approve("manager_decides", "mia")
    world.done("reserve", output={"status": 200, "body": {"reference": "travel-reserve-0001"}})
    world.item_done("book", 0, OK)
    world.ok(world.item_failure("book", 1, retryable=False))
    assert world.run == "compensating"
    undo = [e for e in world.events if isinstance(e, ActivityScheduled) and e.undo]
    assert undo[0].input["json"] == {"reference": "travel-reserve-0001"}
    world.done("reserve", output=OK)
    assert (world.run, world.statuses["reserve"]) == ("failed", "compensated")


def test_two_working_days_without_an_answer_ask_a_director() -> None:
    """Monday 9:00 UTC plus two working days is Wednesday, however long the nights are."""
    world = trip()
    due = world.step("manager_decides").due
    assert due is not None
    assert (due - world.now).days == 2
    world.fire("manager_decides")
    assert world.statuses["director_decides"] == "waiting"
    world.ok(world.vote("director_decides", "dora"))
    assert world.statuses["reserve"] == "scheduled"


def test_a_trip_is_planned_again_where_a_manager_says_so() -> None:
    world = trip()
    world.ok(world.vote("manager_decides", "mia", "returned"))
    assert (world.statuses["plan"], world.step("plan").round) == ("waiting", 2)
