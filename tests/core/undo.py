"""Runs that are compensated, with a step in each state that compensation knows."""

from __future__ import annotations

from signoff.core.states import StepStatus
from tests.core.kit import World, document, once, undoable


def undo(status: StepStatus) -> World:
    """A run that is compensated, with `x` in that status; what is undone before it is `y`."""
    steps = [undoable("x"), undoable("y"), once("z")]
    world = World(document(*steps, edges="x>y y>z", policies={"failure": "compensate"}))
    world.done("x", "y", output={"booking": 1})
    world.breaks("z")
    if status is StepStatus.SUCCEEDED:
        return world
    world.done("y")
    match status:
        case StepStatus.RUNNING:
            world.claim("x")
        case StepStatus.RETRYING:
            world.claim("x")
            world.ok(world.failure("x"))
        case StepStatus.FAILED:
            world.breaks("x")
        case _:  # `y` has been undone
            pass
    return world


def not_undone_for_want_of_input() -> World:
    """A compensation whose input cannot be made fails before it is scheduled."""
    step = undoable("a", compensation={"connector": "python:undo", "input": {"x": "=1 / steps.a.output.n"}})
    world = World(document(step, once("b"), edges="a>b", policies={"failure": "compensate"}))
    world.done("a", output={"n": 0})
    world.breaks("b")
    assert world.run == "stalled"
    return world
