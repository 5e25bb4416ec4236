"""Shapes of golden histories about clocks."""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core.limits import Limits
from signoff.core.states import TimerKind
from tests.core.kit import CLOCK, World, activity, approval, document, once, wait
from tests.golden.shapes import shape

DEADLINE = c.FireTimer(actor=CLOCK, step="", timer=TimerKind.DEADLINE, generation=0)


@shape
def overdue_on_working_time() -> World:
    policies = {
        "zone": "Europe/Berlin",
        "calendar": {"hours": ["08:00-12:00", "13:00-17:00"], "holidays": ["2027-01-06"]},
        "deadline": "P3D working",
    }
    doc = document(wait("a", "PT12H working"), approval("b", expires="P4D working"), edges="a>b", policies=policies)
    world = World(doc)
    world.fire("a")
    world.pause()
    world.later(hours=5)
    world.resume()
    assert world.state.deadline is not None
    world.now = world.state.deadline
    world.ok(DEADLINE)
    world.approve("b", "ann")
    return world


@shape
def stopped_at_its_deadline() -> World:
    doc = document(once("a"), approval("b"), policies={"deadline": "PT8H", "on_deadline": "fail"})
    world = World(doc)
    world.claim("a")
    world.later(hours=8)
    world.ok(DEADLINE)
    world.ok(world.completion("a", "too late to matter"))
    return world


@shape
def paused_by_the_limits_of_its_tenant() -> World:
    limits = Limits(run_time="P30D", events_per_run=8)
    policies = {"deadline": "P40D", "on_deadline": "fail"}
    world = World(document(once("a"), wait("w", "P90D"), edges="a>w", policies=policies), limits=limits)
    world.done("a")
    world.later(days=30)
    world.ok(DEADLINE)
    world.resume()
    assert world.state.status == "paused"  # the eighth event
    world.resume()
    world.later(days=10)
    world.ok(DEADLINE)
    return world


@shape
def wait_over_the_change_of_clocks() -> World:
    world = World(
        document(wait("w", until="2027-03-28T02:30"), activity("a"), edges="w>a", policies={"zone": "Europe/Berlin"})
    )
    world.fire("w")
    world.claim("a")
    return world


@shape
def polled_until_ready_and_in_vain() -> World:
    poll = {"until": "answer.ready", "every": "PT1M", "for": "PT3M"}
    world = World(document(activity("ready", poll=poll), activity("never", poll=poll)))
    world.done("ready", "never", output={"ready": False})
    world.fire("ready")
    world.claim("ready")
    world.ok(world.failure("ready"))
    world.fire("ready")
    world.done("ready", output={"ready": True, "n": 3})
    while world.statuses["never"] == "waiting":
        world.fire("never")
        world.done("never", output={"ready": False})
    return world
