"""How the golden histories were made: one function per shape. Only `record` uses them; replaying never does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.core import commands as c
from signoff.core.events import EvidenceRecorded
from signoff.core.evolve import evolve
from signoff.core.rejection import Rejection
from tests.arch.sources import ROOT
from tests.core.kit import (
    CLOCK,
    DIRECTORY,
    OPERATOR,
    PEOPLE,
    World,
    activity,
    approval,
    checked,
    document,
    edge,
    once,
    wait,
)

Shape = Callable[[], World]
SHAPES: dict[str, Shape] = {}


def shape(build: Shape) -> Shape:
    SHAPES[build.__name__] = build
    return build


def evidence(world: World, refused: c.Command, kind: str) -> None:
    """What the engine appends when a command is refused and must be kept."""
    answer = world.send(refused)
    assert isinstance(answer, Rejection)
    step = str(getattr(refused, "step", ""))
    event = EvidenceRecorded(
        at=world.now,
        kind=kind,
        actor=refused.actor,
        command=type(refused).__name__,
        message=answer.message,
        step=step,
        data={"code": answer.code},
    )
    world.keep(evolve(world.plan, world.state, event), (event,))


def template(name: str, **values: Any) -> World:
    doc = json.loads((ROOT / "assets" / "templates" / f"{name}.json").read_text(encoding="utf-8"))["document"]
    groups = dict.fromkeys(("managers", "finance", "legal", "directors", "it_owners"), ("ann", "bob"))
    return World(doc, values, directory=replace(DIRECTORY, groups=groups))


ANSWER = {"status": 200, "body": {"available": 12000.5, "ok": True}}


@shape
def straight_line() -> World:
    world = World(document(*map(activity, "abc"), edges="a>b b>c"))
    world.done("a", "b", "c", output={"n": 1})
    return world


@shape
def diamond_retried_by_an_operator() -> World:
    world = World(document(*map(once, "abcd"), edges="a>b a>c b>d c>d"))
    world.done("a", "b")
    world.breaks("c")
    world.later(hours=3)
    world.ok(world.retry("c"))
    world.done("c", "d")
    return world


@shape
def automatic_retries_and_a_lost_worker() -> World:
    retry = {"max_attempts": 4, "initial_s": 10.0, "jitter": 0.5}
    world = World(document(activity("a", retry=retry, timeouts={"queue_s": 60.0})))
    world.jitter = 0.25
    world.claim("a")
    world.ok(world.failure("a"))
    world.fire("a")
    world.claim("a")
    late = world.completion("a", {"n": 1})
    world.ok(world.lost("a"))
    evidence(world, late, "late_result")
    world.fire("a")
    world.done("a", output={"n": 2})
    evidence(world, late, "late_result")
    return world


@shape
def outcome_unknown_and_skipped() -> World:
    """Recorded before an operator could say what happened; today such a step is not skipped."""
    steps = [activity("pay", effect="at_most_once", output=[{"name": "id"}]), activity("tell")]
    world = World(document(*steps, edges="pay>tell"))
    world.claim("pay")
    world.fire("pay")
    world.ok(world.skip("pay", output={"id": "P-77"}))
    world.done("tell")
    return world


@shape
def quorum_of_two_with_comments() -> World:
    world = World(document(approval("p", required=2, expires="P3D"), activity("a"), edges="p>a"))
    evidence(world, world.vote("p", "dan"), "refused_decision")
    world.ok(world.vote("p", "ann", comment='Fine.\n"Really" – 李, Łódź'))
    evidence(world, world.vote("p", "ANN"), "second_decision")
    world.later(hours=5)
    world.ok(world.vote("p", "BOB", comment=""))
    world.done("a")
    return world


@shape
def rejected_early() -> World:
    world = World(document(approval("p", required=0), *map(activity, "ab"), edges="p>b"))
    world.reject("p", "cem")
    world.done("a")
    evidence(world, world.vote("p", "bob"), "late_decision")
    return world


@shape
def rejection_handled() -> World:
    world = World(document(approval("p"), *map(activity, "ab"), edges="p>a p:rejected>b"))
    world.reject("p", "ann", "bob", "cem")
    world.done("b")
    return world


@shape
def expired_and_asked_again() -> World:
    zone = {"zone": "Europe/Berlin"}
    world = World(document(approval("p", expires="P2D"), activity("a"), edges="p>a", policies=zone))
    world.fire("p")
    world.later(days=1)
    world.ok(world.retry("p"))
    world.approve("p", "ann")
    world.done("a")
    return world


@shape
def approvers_who_left() -> World:
    world = World(document(approval("p", ("pair",), required=2)))
    world.approve("p", "ann")
    world.directory = replace(DIRECTORY, version=8, people={k: v for k, v in PEOPLE.items() if k != "bob"})
    world.ok(c.CheckApprovers(actor=CLOCK, step="p"))
    return world


@shape
def paused_twice() -> World:
    steps = [wait("w", "PT1H"), activity("a", retry={"initial_s": 600.0, "jitter": 0.0})]
    world = World(document(*steps, activity("b"), edges="a>b"))
    world.claim("a")
    world.ok(world.failure("a"))
    for _ in range(2):
        world.later(minutes=2)
        world.pause()
        world.later(hours=4)
        world.resume()
    world.fire("a")
    world.pause()
    world.resume()
    world.done("a", "b")
    world.fire("w")
    return world


@shape
def first_answer_cancels_the_rest() -> World:
    steps = [approval("ask"), wait("late", "P1D"), activity("x"), activity("go", join="cancel_rest")]
    world = World(document(*steps, edges="ask>go late>x x>go"))
    world.approve("ask", "ann")
    world.done("go")
    return world


@shape
def outrun_failure() -> World:
    world = World(document(once("a"), activity("b"), activity("c", join="any"), edges="a>c b>c"))
    world.breaks("a")
    world.done("b", "c")
    return world


@shape
def dead_paths_and_otherwise() -> World:
    form = [{"name": "n", "type": "number"}]
    links = [edge("a>b", when="input.n > 10.0"), edge("a>c", otherwise=True), edge("b>d"), edge("c>d"), edge("b>e")]
    world = World(document(*map(activity, "abcde"), edges=links, input=form), {"n": 3})
    world.done("a", "c", "d")
    return world


@shape
def condition_mended() -> World:
    form = [{"name": "n", "type": "number", "required": False}]
    links = [edge("a>b", when="input.n > 10.0"), edge("a>c", otherwise=True)]
    world = World(document(*map(activity, "abc"), edges=links, input=form), {})
    world.done("a")
    world.ok(world.edit({"n": 11}))
    world.ok(world.retry("c"))
    world.done("b")
    return world


@shape
def policy_fail_with_work_under_way() -> World:
    steps = [once("a"), *map(activity, "bc"), wait("w"), approval("p")]
    world = World(document(*steps, policies={"failure": "fail"}))
    world.claim("b")
    world.breaks("a")
    world.ok(world.completion("b", [1, 2]))
    return world


@shape
def cancelled_during_a_pause() -> World:
    world = World(document(*map(activity, "ab"), approval("p"), edges="a>b"))
    world.claim("a")
    world.later(seconds=10)
    world.pause()
    world.later(hours=1)
    world.cancel()
    world.ok(world.completion("a"))
    return world


@shape
def terminated() -> World:
    world = World(document(*map(activity, "ab"), approval("p"), wait("w"), edges="a>b"))
    world.claim("a")
    world.ok(c.TerminateRun(actor=OPERATOR, reason="Wrong customer."))
    evidence(world, world.completion("a"), "late_result")
    return world


@shape
def optional_source_failed() -> World:
    world = World(document(once("check"), approval("ask"), activity("b"), edges="check:any>ask check>b"))
    world.breaks("check")
    world.approve("ask", "bob")
    world.ok(world.retry("check", new_effect=True))
    world.done("check", "b")
    return world


@shape
def still_open_everywhere() -> World:
    steps = [*map(activity, "abc"), wait("w"), approval("p", required=2, expires="P1D"), once("f"), activity("g")]
    world = World(document(*steps, edges="f>g"))
    world.claim("a")
    world.claim("b")
    world.ok(world.failure("b"))
    world.approve("p", "ann")
    world.breaks("f")
    return world


@shape
def purchase_with_two_approvals() -> World:
    values = {"item": "Desk", "supplier": "Holz AG", "cost_centre": "IT", "amount": 8000, "reason": "Old one broke."}
    world = template("purchase_approval", **values)
    world.done("check_budget", output=ANSWER)
    world.approve("manager_approval", "ann")
    world.later(days=1)
    world.approve("finance_approval", "bob")
    world.done("place_order", output=ANSWER)
    return world


@shape
def contract_rejected_and_reported() -> World:
    world = template("contract_review", partner="Ada Ltd", subject="Support", value=9000, term=24, place="Folder 7")
    world.reject("legal_review", "ann", "bob")
    world.done("report_rejection", output=ANSWER)
    world.approve("finance_review", "bob")
    return world


@shape
def refund_by_hand() -> World:
    world = template("refund", order_number="A-1", customer="c@example.org", amount=50, cause="Damaged")
    world.done("find_payment", output=ANSWER)
    world.claim("pay_back")
    world.ok(world.failure("pay_back", "http_402"))
    world.approve("by_hand", "ann")
    world.done("tell_customer", output=ANSWER)
    return world


@shape
def access_until_the_last_day() -> World:
    values = {"person": "Dan", "system": "Payroll", "level": "Read", "last_day": "2027-03-28", "reason": "Year end."}
    world = template("access_request", **values)
    world.approve("manager_approval", "ann")
    world.approve("owner_approval", "bob")
    world.done("grant", output=ANSWER)
    world.fire("until_last_day")
    world.done("revoke", output=ANSWER)
    return world


@shape
def sent_back_twice() -> World:
    steps = [activity("draft"), activity("check"), approval("ask", required=2, returns_to=["draft", "check"])]
    world = World(document(*steps, activity("send"), edges="draft>check check>ask ask>send"))
    world.done("draft", "check", output={"page": 1})
    world.approve("ask", "ann")
    world.ok(world.vote("ask", "bob", "returned", to="draft", comment="Page 3 is missing."))
    world.later(hours=2)
    world.done("draft", "check", output={"page": 3})
    world.ok(world.vote("ask", "cem", "returned", to="check", comment="Check it again."))
    world.done("check", output={"page": 3})
    world.approve("ask", "cem", "ann")
    world.done("send")
    return world


@shape
def asked_again_after_an_edit() -> World:
    form = [{"name": "amount", "label": "Amount", "type": "number"}]
    steps = [approval("p", required=2), approval("q", shows={"Fixed": "text"}, deciders_differ_from=["p"])]
    world = World(document(*steps, edges="p>q", input=form), {"amount": 500})
    world.approve("p", "ann")
    world.ok(world.edit({"amount": 5000}))
    world.approve("p", "ann", "bob")
    world.ok(world.edit({"amount": 6000}))
    evidence(world, world.vote("q", "ann"), "refused_decision")
    world.approve("q", "cem")
    return world


@shape
def probes_of_lost_calls() -> World:
    retry = {"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0}
    world = World(document(*(checked(i, retry=retry) for i in ("found", "missing", "silent"))))
    for step in ("found", "missing", "silent"):
        world.claim(step)
        world.ok(world.lost(step))
        world.fire(step)
    world.done("found", output={"found": True, "result": {"id": "P-77"}})
    world.done("missing", output={"found": False})
    world.fire("missing")
    world.done("missing", output={"id": "P-78"})
    world.done("silent", output={})
    world.fire("silent")
    world.claim("silent")
    world.ok(world.failure("silent"))
    world.later(hours=1)
    world.ok(world.outcome("silent", True, {"id": "P-79"}))
    return world


@shape
def unknown_outcome_denied_and_confirmed() -> World:
    steps = [activity("pay", effect="at_most_once", output=[{"name": "id"}]), activity("tell")]
    world = World(document(*steps, edges="pay>tell"))
    world.claim("pay")
    late = world.completion("pay", {"id": "P-77"})
    world.fire("pay")
    evidence(world, late, "late_result")
    evidence(world, world.skip("pay"), "outcome_unknown")
    world.ok(world.outcome("pay", False))
    world.claim("pay")
    world.ok(world.lost("pay"))
    world.pause()
    world.ok(world.outcome("pay", True, {"id": "P-77"}))
    world.resume()
    world.done("tell")
    return world


@shape
def moved_to_another_version() -> World:
    form = [{"name": "amount", "label": "Amount", "type": "number"}]
    asks = [approval("p", required=2), approval("q", expires="P2D"), wait("w"), once("pay"), activity("tell")]
    world = World(document(*asks, edges="p>tell q>tell pay>tell", input=form), {"amount": 500})
    world.approve("p", "ann")
    world.breaks("pay")
    world.later(minutes=20)
    more = [*form, {"name": "currency", "label": "Currency"}]
    asks[0] = approval("p", required=1, label="The boss approves")
    mended = document(asks[0], asks[1], wait("pause"), once("pay"), activity("check"), activity("tell"),
                      edges="p>check check>tell pay>tell", input=more)  # fmt: skip
    world.ok(world.migration(mended, {"w": "pause"}, {"currency": "= 'EUR'"}))
    world.approve("p", "bob")
    world.ok(world.retry("pay"))
    world.done("pay", "check")
    world.approve("q", "cem")
    back = document(asks[0], asks[1], wait("pause"), once("pay"), activity("tell"), edges="p>tell pay>tell", input=form)
    world.ok(world.migration(back))
    world.done("tell")
    world.fire("pause")
    return world
