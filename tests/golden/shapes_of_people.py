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
