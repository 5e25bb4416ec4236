"""Shapes of golden histories about people who stand in: for a worker, for one another, or who think again."""

from __future__ import annotations

from tests.core.kit import World, approval, document, form, once
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
