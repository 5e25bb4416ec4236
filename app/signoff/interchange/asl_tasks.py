"""Task states of Step Functions: calls, polling, callbacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.interchange.asl_choice import condition_of
from signoff.interchange.asl_data import (
    Cel,
    Literal,
    Made,
)
from signoff.interchange.asl_drawing import Drawing
from signoff.interchange.asl_payload import World
from signoff.interchange.asl_polling import POLL
from signoff.interchange.asl_simple import excludes
from signoff.interchange.asl_work import CALLBACK, connector_of, http_input, retry_of, timeouts_of
from signoff.interchange.cel import both, either, negated
from signoff.interchange.naming import name_of
from signoff.interchange.sketch import Node
from signoff.interchange.translated import CannotExpress

PASS, FAIL = "pass", "fail"


def draw_task(d: Drawing, name: str, state: dict[str, Any], world: World) -> None:
    """An activity, and where it calls back a signal."""
    resource = str(state.get("Resource", ""))
    callback = resource.endswith(CALLBACK)
    world = replace(world, token=Cel("run.id")) if callback else world
    connector = connector_of(resource)
    given = d.given(name, state, world)
    document: dict[str, Any] = {
        "kind": "activity",
        "connector": connector,
        "input": http_input(given) if connector == "http" else given,
        "retry": retry_of(state, d.sketch, name),
        "timeouts": timeouts_of(state, d.sketch, name) if not callback else {},
    }
    node = d.sketch.step(name, document)
    d.enter(name, node)
    if POLL in state:
        _poll(d, name, state, node, world)
    if callback:
        _callback(d, name, state, node, world)
        return
    result = Cel(f"steps.{node.id}.output")
    d.caught(name, state, node, world)
    d.leave(name, state, node, replace(world, result=result))


def _poll(d: Drawing, name: str, state: dict[str, Any], node: Node, world: World) -> None:
    told = state[POLL]
    asked = d.output(state, replace(world, result=Cel("answer")))
    variables = d.assigned(state, replace(world, result=Cel("answer")))
    asking = World(asked.doc, variables)
    try:
        backs: list[str] = []
        good: list[str] = []
        for rule in told["choice"].get("Choices", ()):
            mine = condition_of(rule, asking)
            if rule.get("Next") == told["back"]:
                backs.append(mine)
            else:
                good.append(both(*(negated(b) for b in backs if not excludes(b, mine)), mine))
        if told["choice"].get("Default") not in (None, told["back"]):
            good = [both(*(negated(b) for b in backs))]
        until = either(*good)
    except CannotExpress as error:
        d.sketch.refuse("polling", f"a loop around '{name}' that depends on {error}")
        return
    assert node.step is not None
    node.step["poll"] = {"until": until, "every": f"PT{told['seconds']}S", "for": told["for"]}


def _callback(d: Drawing, name: str, state: dict[str, Any], sent: Node, world: World) -> None:
    """The call hands out a token; the message that comes back is a signal, an error in it one of the task."""
    seconds = [state.get(k) for k in ("TimeoutSeconds", "HeartbeatSeconds")]
    limits = [s for s in seconds if isinstance(s, int) and not isinstance(s, bool)]
    if "HeartbeatSeconds" in state:
        d.sketch.note(f"'{name}' need not send heartbeats; its answer must come within that time.")
    if state.get("Retry"):
        d.sketch.note(f"'{name}' calls again where the call fails, not where the answer says that it failed.")
    message: dict[str, Any] = {"kind": "signal", "signal": f"{name_of(name)[:50]}_answer", "key": "=run.id"}
    if limits:
        message["expires"] = f"PT{min(limits)}S"
    waiting = d.sketch.step(name, message, label=f"{name}: answer", share="answer")
    d.sketch.link(sent.id, waiting.id)
    base = f"steps.{waiting.id}.output"
    error = Made({"Error": Cel(f"{base}.error"), "Cause": Cel(f"{base}.cause")})
    timed_out = Made({"Error": Literal("States.Timeout"), "Cause": Literal("")})
    catchers = state.get("Catch") or []
    if catchers:
        d.caught(name, state, sent, world)
        if len(catchers) > 1:
            d.sketch.note(f"What comes back to '{name}' as an error is caught by its first catcher.")
        failed = f"has({base}.error)"
        d.to_catcher(state, catchers[0], waiting, world, "received", failed, error)
        if limits:
            d.to_catcher(state, catchers[0], waiting, world, "expired", "", timed_out)
    else:
        ending = {
            "kind": "activity",
            "connector": FAIL,
            "input": {"error": f"={base}.error", "cause": f'=has({base}.cause) ? {base}.cause : ""'},
            "retry": {"max_attempts": 1},
        }
        end = d.sketch.step(name, ending, label=f"{name}: failed", share="failed")
        d.sketch.link(waiting.id, end.id, "received", f"has({base}.error)")
    d.leave(name, state, waiting, replace(world, result=Cel(base)), when=f"!has({base}.error)")
