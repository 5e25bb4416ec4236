"""Shapes of golden histories about people who stand in: for a worker, for one another, or who think again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from signoff.core.facts import Absence, Directory
from signoff.core.states import SignIn
from tests.core.kit import GROUPS, PEOPLE, START, World, activity, approval, document, form, once
from tests.golden.shapes import evidence, shape


@shape
def done_by_hand() -> World:
    out = [{"name": "copies", "type": "integer"}]
    world = World(document(once("copy", output=out), once("tell"), edges="copy>tell"))
    world.breaks("copy")
    world.later(minutes=30)
    world.ok(world.by_hand("copy", {"copies": 3}))
    world.done("tell")
    return world


@shape
def decided_on_behalf_of_somebody_absent() -> World:
    """Eve decides and fills in for Ann, thinks again, and sends the work back; what she may not is evidence."""
    p = approval("p", required=2, returns_to=["f"])
    world = World(document(form("f", ("pair",)), p, edges="f>p"))
    ann = Absence(1, "ann", "eve", START - timedelta(days=1), START + timedelta(days=2), "On leave.", "ann")
    bob = Absence(2, "bob", "eve", START, START + timedelta(hours=3), "", "olga")
    world.directory = Directory(8, GROUPS, PEOPLE, (ann, bob))
    signed = SignIn("password", START - timedelta(hours=1), None, "0123456789abcdef", "10.0.0.7", "Browser")
    world.ok(replace(world.submission("f", "eve"), on_behalf_of="ann", signed_in=signed))
    world.ok(world.vote("p", "eve", on_behalf_of="ann", signed_in=signed))
    evidence(world, world.vote("p", "eve", on_behalf_of="bob"), "counted_already")
    world.ok(world.withdrawal("p", "eve"))
    world.ok(world.vote("p", "eve", "returned", on_behalf_of="bob", signed_in=signed))
    world.later(hours=4)
    evidence(world, replace(world.submission("f", "eve"), on_behalf_of="bob"), "not_standing_in")
    world.ok(replace(world.submission("f", "eve"), on_behalf_of="ann"))
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))
    world.approve("p", "cem")
    return world


@shape
def two_of_one_group_and_one_of_another() -> World:
    """So many of each, then one after another, then by an expression, with what is filled in when deciding."""
    fields = [{"name": "cost_center", "type": "integer"}]
    both = {"id": "p", "kind": "approval", "label": "P", "fields": fields}
    both["quotas"] = [{"groups": ["team"], "required": 2}, {"people": ["eve"], "when": "input.amount > 10.0"}]
    after = {"id": "q", "kind": "approval", "label": "Q", "in_sequence": True}
    after["quotas"] = [{"groups": ["pair"]}, {"groups": ["solo"]}]
    amount = {"id": "r", "kind": "approval", "label": "R", "required_by": "input.amount > 10.0 ? 2 : 1"}
    amount["groups_by"] = "input.amount > 10.0 ? ['pair'] : ['team']"
    doc = document(both, after, amount, edges="p>q q>r", input=[{"name": "amount", "type": "number"}])
    world = World(doc, {"amount": 50.0})
    for who, center in (("ann", 1), ("eve", 2)):
        world.ok(world.vote("p", who, values={"cost_center": center}))
    world.reject("p", "cem")
    world.ok(world.vote("p", "bob", values={"cost_center": 3}))
    evidence(world, world.vote("q", "eve"), "not_your_turn")
    world.approve("q", "ann")
    world.later(hours=1)
    world.approve("q", "eve")
    world.approve("r", "ann", "bob")
    return world


@shape
def reminded_escalated_and_rejected_in_time() -> World:
    """One approval is settled by whom it was handed over to, one expires after its only rung found nobody new."""
    ladder = {
        "reminders": {"every": "P1D working", "at_most": 2},
        "escalation": [{"after": "P3D", "groups": ["solo"], "hand_over": True}],
    }
    q = approval("q", ("pair",), expires="P2D", escalation=[{"after": "P1D", "people": ["bob"]}])
    world = World(document(approval("p", expires="P9D", **ladder), q, edges="p:rejected>q"))
    world.fire("p")
    world.later(hours=2)
    world.pause()
    world.later(days=1)
    world.resume()
    world.fire("p")
    world.fire("p")
    evidence(world, world.vote("p", "ann"), "handed_over")
    world.reject("p", "eve")
    world.fire("q")
    world.fire("q")
    return world


@shape
def reassigned_and_thought_again() -> World:
    world = World(document(approval("p", required=2, expires="P3D"), form("f", ("pair",)), edges="p>f"))
    world.approve("p", "ann")
    evidence(world, world.reassignment("p", "dan"), "own_request")
    world.ok(world.reassignment("p", "eve", remove=("bob",)))
    world.ok(world.withdrawal("p", "ann"))
    world.later(hours=1)
    world.approve("p", "eve", "cem")
    world.ok(world.reassignment("f", "cem"))
    world.ok(world.submission("f", "cem"))
    return world


@shape
def moved_by_an_approved_plan() -> World:
    world = World(document(approval("p"), activity("a"), edges="p>a", policies={"migration": "approved"}))
    target = document(approval("p", label="The boss approves"), activity("a"), edges="p>a")
    move = world.migration(target)
    evidence(world, move, "plan_not_approved")
    world.ok(replace(move, plan_id="p-1", approved_by="pia"))
    world.approve("p", "ann")
    world.done("a")
    return world
