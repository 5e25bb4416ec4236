"""Events of BPMN: waiting, sending, and what stands on the edge of a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from signoff.core.calendar import parse_duration
from signoff.interchange.bpmn_reading import event_kind, is_computed, label_of, text_of, unmarked
from signoff.interchange.naming import name_of
from signoff.interchange.sketch import Node
from signoff.interchange.translated import CannotExpress
from signoff.interchange.xml_text import Element

if TYPE_CHECKING:
    from signoff.interchange.bpmn_drawing import BpmnDrawing


def timer_of(d: BpmnDrawing, timer: Element | None, name: str) -> dict[str, str]:
    """`duration` or `until` of a timer.

    Raises:
        CannotExpress: it repeats, or is of another form.
    """
    if timer is None or timer.first("timeCycle") is not None:
        raise CannotExpress(f"the repeated timer '{name}'")
    for tag, ours in (("timeDuration", "duration"), ("timeDate", "until")):
        told = timer.first(tag)
        if told is None:
            continue
        plain = unmarked(told.text).strip("'\" ")
        if ours == "duration" and _is_duration(plain):
            return {"duration": plain}
        if ours == "until" and re.match(r"\d{4}-\d\d-\d\dT", plain):
            return {"until": plain}
        if is_computed(told.text) and plain.isidentifier():
            return {ours: f"={d.variable((plain,), None)}"}
    raise CannotExpress(f"the timer '{name}' of another form")


def _is_duration(text: str) -> bool:
    try:
        return not parse_duration(text).is_zero
    except ValueError:
        return False


def message_of(d: BpmnDrawing, told: Element | None, name: str) -> str:
    """The name of a message or signal, as a signal's name."""
    ref = (told.get("messageRef") or told.get("signalRef")) if told is not None else ""
    return name_of(d.model.names.get(ref, "") or name, "message")


def catch_event(d: BpmnDrawing, node: Element, name: str) -> None:
    """An intermediate event that waits."""
    kind, told = event_kind(node)
    if kind == "timer":
        try:
            d.put(node, d.sketch.step(name, {"kind": "wait", **timer_of(d, told, name)}))
        except CannotExpress as error:
            d.sketch.refuse("timer", str(error))
            d.put(node, d.sketch.point(name))
    elif kind in ("message", "signal"):
        d.put(node, d.sketch.step(name, {"kind": "signal", "signal": message_of(d, told, name)}))
    elif kind in ("link", "none"):
        d.put(node, d.sketch.point(name))
    else:
        d.sketch.refuse("event", f"the {kind} event '{name}'")


def throw_event(d: BpmnDrawing, node: Element, name: str) -> None:
    """An end, or an intermediate event that sends."""
    kind, told = event_kind(node)
    ends = node.tag == "endEvent"
    if kind in ("message", "signal"):
        d.put(
            node,
            d.sketch.step(name, {"kind": "activity", "connector": f"python:send_{message_of(d, told, name)[:45]}"}),
        )
    elif kind == "error":
        code = d.model.codes.get(told.get("errorRef"), "") if told is not None else ""
        document: dict[str, Any] = {"kind": "activity", "connector": "fail", "retry": {"max_attempts": 1}}
        d.put(node, d.sketch.step(name, {**document, "input": {"error": code or "failed", "cause": name}}))
        d.sketch.policies["failure"] = "fail"
    elif kind in ("none", "terminate"):
        if kind == "terminate":
            d.sketch.note(f"'{name}' ends its own branch only; what runs beside it goes on.")
        d.put(node, d.sketch.point(f"{name} end" if ends else name, label=name))
    elif kind == "link":
        point = d.sketch.point(f"{name} from")
        d.put(node, point)
        wanted = told.get("name") if told is not None else ""
        for other in list(d.elements.values()):
            other_kind, other_told = event_kind(other)
            named = other_told is not None and other_told.get("name") == wanted
            if other.tag == "intermediateCatchEvent" and other_kind == "link" and named:
                if other.get("id") not in d.enter:
                    catch_event(d, other, label_of(other))
                d.sketch.link(point.id, d.enter[other.get("id")])
    else:
        d.sketch.refuse("event", f"the {kind} event '{name}'")


def on_boundary(d: BpmnDrawing, node: Element) -> None:
    """An event on the edge of a task."""
    kind, told = event_kind(node)
    name, host = label_of(node), d.elements.get(node.get("attachedToRef"))
    drawn = d.sketch.nodes.get(d.enter.get(node.get("attachedToRef"), ""))
    if host is None or drawn is None:
        return
    on = label_of(host)
    if kind == "compensate":
        _compensation(d, node, drawn, on)
    elif drawn.step is None:
        d.sketch.refuse("boundary", f"the {kind} event '{name}' on the subprocess '{on}'")
    elif node.get("cancelActivity", "true") == "false":
        d.sketch.refuse("reminder", f"the {kind} event '{name}' beside '{on}', which does not end it")
    elif kind == "error" and drawn.step["kind"] in ("activity", "subflow"):
        _error(d, node, told, drawn)
    elif kind == "timer":
        _timeout(d, node, told, drawn, name)
    else:
        d.sketch.refuse("boundary", f"the {kind} event '{name}' on '{on}'")


def _way_out(d: BpmnDrawing, node: Element, drawn: Node, on: str, when: str = "") -> None:
    point = d.sketch.point(f"{label_of(node)} on {drawn.source}")
    d.put(node, point)
    d.sketch.link(drawn.id, point.id, on, when)


def _error(d: BpmnDrawing, node: Element, told: Element | None, drawn: Node) -> None:
    code = d.model.codes.get(told.get("errorRef"), told.get("errorRef")) if told is not None else ""
    when = f"steps.{drawn.id}.error.code == {code!r}".replace("'", '"') if code and "{" not in code else ""
    _way_out(d, node, drawn, "failed", when)


def _timeout(d: BpmnDrawing, node: Element, told: Element | None, drawn: Node, name: str) -> None:
    assert drawn.step is not None
    try:
        timer = timer_of(d, told, name)
    except CannotExpress as error:
        d.sketch.refuse("timer", str(error))
        return
    duration = timer.get("duration", "=")
    kind = drawn.step["kind"]
    if duration.startswith("="):
        d.sketch.refuse("timer", f"the timer '{name}' on '{drawn.source}' that is computed")
    elif kind in ("form", "approval", "signal"):
        drawn.step["expires"] = duration
        _way_out(d, node, drawn, "expired")
    elif kind == "activity":
        read = parse_duration(duration)
        drawn.step["timeouts"] = {"run_s": float(read.seconds + read.days * 86_400) or 60.0}
        drawn.step["retry"] = {"max_attempts": 1}
        _way_out(d, node, drawn, "failed", f'steps.{drawn.id}.error.code == "run_timeout"')
    else:
        d.sketch.refuse("timer", f"the timer '{name}' on '{drawn.source}'")


def _compensation(d: BpmnDrawing, node: Element, drawn: Node, on: str) -> None:
    handler = d.elements.get(d.model.associations.get(node.get("id"), ""))
    if drawn.step is None or drawn.step["kind"] != "activity" or handler is None:
        d.sketch.refuse("compensation", f"the compensation of '{on}'")
        return
    drawn.step["compensation"] = {"connector": f"python:{name_of(label_of(handler), 'undo')[:50]}"}
    d.sketch.policies["failure"] = "compensate"
    d.sketch.note(f"'{on}' is undone by '{label_of(handler)}' where the run fails.")


__all__ = ["catch_event", "on_boundary", "text_of", "throw_event", "timer_of"]
