"""Shapes of golden histories about compensation."""

from __future__ import annotations

from signoff.core import commands as c
from tests.core.kit import OPERATOR, World, approval, document, once, undoable
from tests.golden.shapes import shape

CHAIN = "flight>hotel hotel>car car>pay"


def booked() -> World:
    steps = [undoable("flight"), undoable("hotel"), undoable("car"), once("pay")]
    world = World(document(*steps, edges=CHAIN, policies={"failure": "compensate"}))
    for step in ("flight", "hotel", "car"):
        world.done(step, output={"booking": f"no. {step}"})
    return world


@shape
def undone_after_a_failure() -> World:
    world = booked()
    world.breaks("pay")
    world.claim("car")
    world.ok(world.lost("car"))
    world.fire("car")
    world.done("car")
    world.claim("hotel")
    world.ok(world.failure("hotel", retryable=False))
    world.ok(world.retry("hotel"))
    world.claim("hotel")
    world.ok(world.failure("hotel", retryable=False))
    world.ok(world.skip("hotel", output={"called": "the desk"}))
    world.done("flight", output={"refund": 12.5})
    return world


@shape
def cancelled_with_compensation() -> World:
    world = World(document(undoable("a"), undoable("b"), approval("p"), edges="a>p"))
    world.done("a", output={"booking": 1})
    world.claim("b")
    world.ok(c.CancelRun(actor=OPERATOR, reason="No longer needed.", compensate=True))
    world.ok(world.completion("b", {"booking": 2}))
    world.done("b", "a")
    return world


@shape
def terminated_while_undoing() -> World:
    world = booked()
    world.breaks("pay")
    world.done("car")
    world.claim("hotel")
    world.ok(c.TerminateRun(actor=OPERATOR, reason="Enough."))
    return world
