"""How the golden histories about forms, signals and subflows were made; see `shapes.py`."""

from __future__ import annotations

from dataclasses import replace

from signoff.core import commands as c
from tests.core.kit import CLOCK, DIRECTORY, PEOPLE, World, activity, approval, document, form, signal, subflow
from tests.golden.shapes import evidence, shape


@shape
def form_returned_and_filled_in() -> World:
    fields = [{"name": "amount", "type": "number"}, {"name": "note", "type": "long_text", "required": False}]
    steps = [
        activity("draft"),
        form("details", requester=True, fields=fields, prefill={"amount": "=input.amount"}, returns_to=["draft"]),
        approval("ask", returns_to=["details"]),
    ]
    asked = [{"name": "amount", "label": "Amount", "type": "number"}]
    world = World(document(*steps, edges="draft>details details>ask", input=asked), {"amount": 500})
    world.done("draft")
    world.ok(world.returning("details", "bob", comment="Which draft?"))
    world.done("draft")
    world.ok(world.edit({"amount": 600}))
    world.ok(world.submission("details", "dan", amount=600, note="First."))
    evidence(world, world.submission("details", "ann", amount=1), "already_handled")
    world.later(hours=1)
    world.ok(world.vote("ask", "ann", "returned", comment="Why 600?"))
    world.ok(world.submission("details", "dan", amount=600, note="Because."))
    world.approve("ask", "ann")
    return world


@shape
def form_expired_and_filled_in_by_an_operator() -> World:
    steps = [form("f", expires="P1D"), form("g", ("solo",)), activity("a")]
    world = World(document(*steps, edges="f>a"))
    world.fire("f")
    world.directory = replace(DIRECTORY, version=8, people={k: v for k, v in PEOPLE.items() if k != "eve"})
    world.ok(c.CheckApprovers(actor=CLOCK, step="g"))
    world.ok(world.skip("f", output={"n": 5}))
    world.done("a")
    world.directory = DIRECTORY
    world.ok(world.retry("g"))
    world.ok(world.submission("g", "eve", n=2))
    return world


@shape
def signals_received_early_late_and_wrong() -> World:
    fields = [{"name": "amount", "type": "number"}]
    steps = [
        activity("a"),
        signal("paid", key="=input.order", payload=fields, expires="P3D"),
        signal("shipped", "shipment"),
        signal("seen", "receipt", payload=fields),
        signal("late", "never", expires="PT1H"),
    ]
    links = "a>paid a>shipped a>seen a>late"
    world = World(document(*steps, edges=links, input=[{"name": "order", "type": "integer"}]), {"order": 4711})
    world.done("a")
    evidence(world, world.message("paid", payload={"amount": "all"}), "invalid_payload")
    world.later(hours=2)
    world.ok(world.message("paid", payload={"amount": 12.5}))
    world.pause()
    world.resume()
    world.ok(world.message("shipped", message="m2", payload={"parcel": "P-1"}))
    world.ok(world.message("seen", message="m3", payload={"amount": "none"}, kept=True))
    world.fire("late")
    world.ok(world.retry("seen"))
    world.ok(world.message("seen", message="m4", payload={"amount": 1}, kept=True))
    world.ok(world.skip("late", output={"by": "hand"}))
    return world


@shape
def subflows_of_every_end() -> World:
    steps = [
        subflow("good", input={"n": "=input.n"}),
        subflow("refused"),
        subflow("broken"),
        activity("after"),
        activity("told"),
    ]
    links = "good>after refused:rejected>told"
    world = World(document(*steps, edges=links, input=[{"name": "n", "type": "integer"}]), {"n": 7})
    world.ok(world.child_ended("good"))
    world.later(minutes=5)
    world.ok(world.child_ended("refused", "rejected"))
    world.ok(world.child_ended("broken", "cancelled"))
    world.done("after", "told")
    world.ok(world.retry("broken"))
    world.pause()
    world.ok(world.child_ended("broken"))
    world.resume()
    return world


@shape
def child_cancelled_with_its_parent() -> World:
    doc = document(activity("a"), subflow("s"), edges="a>s")
    world = World(doc)
    world.done("a")
    world.cancel()
    world.ok(world.child_ended("s", "cancelled"))
    return world


@shape
def subflow_expired_and_started_again() -> World:
    world = World(document(subflow("s", expires="PT2H"), activity("a"), edges="s:expired>a"))
    world.fire("s")
    world.done("a")
    return world
