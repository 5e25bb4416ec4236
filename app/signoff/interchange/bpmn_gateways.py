"""Sequence flows and gateways of BPMN: conditions, decisions of people, events of which the first wins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from signoff.interchange.bpmn_reading import event_kind, label_of, text_of
from signoff.interchange.cel import both, literal, negated
from signoff.interchange.comparisons import translate_condition
from signoff.interchange.naming import DECIDING, name_of
from signoff.interchange.translated import CannotExpress
from signoff.interchange.xml_text import Element

if TYPE_CHECKING:
    from signoff.interchange.bpmn_drawing import BpmnDrawing

_YES_NO = re.compile(
    r"(not\s+|!)?\s*\(?\s*([A-Za-z_]\w*)\s*\)?\s*(?:(==|!=|eq|=)\s*['\"]?(true|false|yes|no|y|n)['\"]?)?", re.I
)
_YES = re.compile(r"yes|ok|approv|accept|true|granted|positive", re.I)
_NO = re.compile(r"\bno\b|not|reject|declin|den(y|ied)|false|refus|negative", re.I)


def draw_flows(d: BpmnDrawing, nodes: list[Element], flows: list[Element]) -> None:
    """All sequence flows of a scope."""
    by_source: dict[str, list[Element]] = {}
    for f in flows:
        by_source.setdefault(f.get("sourceRef"), []).append(f)
    into: dict[str, list[str]] = {}
    for f in flows:
        into.setdefault(f.get("targetRef"), []).append(f.get("sourceRef"))
    for node in nodes:
        out = by_source.get(node.get("id"), [])
        if not out:
            continue
        if node.tag == "exclusiveGateway" and len(out) > 1:
            person = _person_before(d, node, into)
            if not (person and _approval(d, node, out, person)):
                _exclusive(d, node, out, person)
        elif node.tag == "eventBasedGateway" and len(out) > 1:
            _first_event(d, node, out)
        elif node.tag == "parallelGateway":
            for f in out:
                _link(d, f)
        else:
            _conditional(d, node, out)


def _link(d: BpmnDrawing, flow: Element, when: str = "", on: str = "") -> None:
    if flow.get("targetRef") not in d.skipped:
        d.sketch.link(d.leave[flow.get("sourceRef")], d.enter[flow.get("targetRef")], on, when)


def _condition_text(flow: Element) -> str:
    return text_of(flow.first("conditionExpression"))


def _person_before(d: BpmnDrawing, gateway: Element, into: dict[str, list[str]]) -> str:
    """The step of the person right before a gateway, empty where there is another way in."""
    sources = into.get(gateway.get("id"), [])
    if len(sources) != 1:
        return ""
    step = d.leave.get(sources[0], "")
    return step if step in d.fields else ""


def _approval(d: BpmnDrawing, gateway: Element, out: list[Element], person: str) -> bool:
    """Where a form is only asked yes or no, it is an approval; answers whether it was."""
    node = d.sketch.nodes[person]
    assert node.step is not None
    if len(out) != 2 or node.step["kind"] != "form" or (not node.step.get("groups") and not node.step.get("people")):
        return False
    answers = [_says_yes(f, gateway) for f in out]
    variables = {v for v, _ in answers if v}
    if {yes for _, yes in answers} != {True, False} or len(variables) > 1 or set(d.fields[person]) - variables:
        return False
    words = " ".join([node.label, label_of(gateway), *variables, *(label_of(f) for f in out)])
    if not DECIDING.search(words):
        return False
    kept = {k: v for k, v in node.step.items() if k in ("groups", "people", "expires")}
    node.step = {"kind": "approval", **kept, "instructions": node.label}
    for variable in variables:
        d.results[variable] = f'(steps.{person}.outcome == "approved")'
    del d.fields[person]
    for f, (_, yes) in zip(out, answers, strict=True):
        if f.get("targetRef") not in d.skipped:
            d.sketch.link(person, d.enter[f.get("targetRef")], "" if yes else "rejected")
    d.skipped.add(gateway.get("id"))
    del d.leave[gateway.get("id")]
    d.sketch.remove(d.enter[gateway.get("id")])
    return True


def _says_yes(flow: Element, gateway: Element) -> tuple[str, bool | None]:
    """The variable of a yes-or-no condition and whether the flow is the yes; None where it is neither."""
    text = _condition_text(flow)
    if match := _YES_NO.fullmatch(text):
        yes = (match[4] or "true").lower() in ("true", "yes", "y")
        yes = (yes != (match[3] == "!=") and True) or (not yes and match[3] == "!=")
        return match[2], yes != bool(match[1])
    if text:
        return "", None
    if gateway.get("default") == flow.get("id") or not label_of(flow):
        others = None
        return "", others if flow.get("name") == "" and gateway.get("default") != flow.get("id") else _by_name(
            flow, False
        )
    return "", _by_name(flow, None)


def _by_name(flow: Element, usual: bool | None) -> bool | None:
    name = flow.get("name")
    if _NO.search(name):
        return False
    return True if _YES.search(name) else usual


def _exclusive(d: BpmnDrawing, gateway: Element, out: list[Element], person: str) -> None:
    """The first condition that holds; a question without conditions is asked of the person before, or at the start."""
    name = label_of(gateway)
    default = gateway.get("default")
    asked = [f for f in out if f.get("id") != default]
    if any(not _condition_text(f) for f in asked):
        _by_answer(d, gateway, out, person)
        return
    try:
        conditions = [_translated(d, f, person, out) for f in asked]
    except CannotExpress as error:
        d.sketch.note(f"'{name}' depends on {error}: which way to go is asked instead.")
        _by_answer(d, gateway, out, person)
        return
    before: list[str] = []
    for f, mine in zip(asked, conditions, strict=True):
        others = [negated(b) for b in before if b != mine and not _excludes(b, mine)]
        _link(d, f, both(*others, mine))
        before.append(mine)
    for f in out:
        if f.get("id") == default:
            _link(d, f, both(*(negated(b) for b in before)))


def _by_answer(d: BpmnDrawing, gateway: Element, out: list[Element], person: str) -> None:
    """Somebody says which way to go: a choice with one option for each flow."""
    options: list[str] = []
    for f in out:
        option = (f.get("name") or label_of(d.elements[f.get("targetRef")]))[:80]
        options.append(option if option not in options else f"{option} ({f.get('id')})")
    question = gateway.get("name") or "decision"
    told = {"type": "choice", "options": options}
    if person:
        value = d.add_field(person, question, told)
    else:
        field = d.sketch.input(question, "choice", options=options)
        value = f"input.{field}"
        d.sketch.note(f"Which way '{label_of(gateway)}' goes has to be said when a run starts.")
    for f, option in zip(out, options, strict=True):
        _link(d, f, f"{value} == {literal(option)}")


def _translated(d: BpmnDrawing, flow: Element, person: str, out: list[Element]) -> str:
    compared = _compared_with(out)

    def resolve(parts: tuple[str | int, ...], other: Any) -> str:
        first = str(parts[0])
        if person and len(parts) == 1 and (first not in d.results or first in d.fields[person]):
            return d.add_field(person, first, _field_for(other, compared.get(first, [])))
        return d.variable(parts, other)

    return translate_condition(_condition_text(flow), resolve)


def _compared_with(out: list[Element]) -> dict[str, list[str]]:
    """Texts that each variable is compared with, over all flows of a gateway."""
    found: dict[str, list[str]] = {}
    for f in out:
        for match in re.finditer(r"([A-Za-z_]\w*)\s*(?:==|=|eq)\s*['\"]([^'\"]*)['\"]", _condition_text(f)):
            found.setdefault(match[1], []).append(match[2])
    return found


def _field_for(other: Any, options: list[str]) -> dict[str, Any]:
    if isinstance(other, bool):
        return {"type": "boolean"}
    if isinstance(other, int | float):
        return {"type": "number"}
    if options:
        more = [] if len(set(options)) > 1 else ["other"]
        return {"type": "choice", "options": list(dict.fromkeys([*options, *more]))}
    return {"type": "text"}


def _conditional(d: BpmnDrawing, node: Element, out: list[Element]) -> None:
    """An inclusive gateway, or a task with conditions on its flows: every condition that holds."""
    conditions: list[str] = []
    for f in out:
        if f.get("id") == node.get("default"):
            continue
        try:
            when = _translated(d, f, "", out) if _condition_text(f) else ""
        except CannotExpress as error:
            field = d.sketch.input(f.get("name") or f"{label_of(node)} {len(conditions) + 1}", "boolean")
            d.sketch.note(f"Whether the way on from '{label_of(node)}' is gone depends on {error}: it is an input now.")
            when = f"input.{field}"
        conditions.append(when)
        _link(d, f, when)
    for f in out:
        if f.get("id") == node.get("default"):
            _link(d, f, both(*(negated(c) for c in conditions if c)))


def _first_event(d: BpmnDrawing, gateway: Element, out: list[Element]) -> None:
    """One message and one timer are a signal that expires; other choices of events are refused."""
    name = label_of(gateway)
    targets = [d.elements[f.get("targetRef")] for f in out]
    kinds = ["message" if t.tag == "receiveTask" else event_kind(t)[0] for t in targets]
    waits = [t for t, k in zip(targets, kinds, strict=True) if k == "timer"]
    signals = [t for t, k in zip(targets, kinds, strict=True) if k in ("message", "signal")]
    timer = d.sketch.nodes[d.enter[waits[0].get("id")]].step if len(waits) == 1 else None
    if len(signals) != 1 or len(targets) != 2 or not timer or "duration" not in timer or timer["duration"][0] == "=":
        d.sketch.refuse("event_gateway", f"the choice between events '{name}', other than one message and one timer")
        return
    signal = d.sketch.nodes[d.enter[signals[0].get("id")]]
    assert signal.step is not None
    signal.step["expires"] = timer["duration"]
    _link(d, next(f for f in out if f.get("targetRef") == signals[0].get("id")))
    late = d.sketch.nodes[d.enter[waits[0].get("id")]]
    late.step = None
    d.sketch.link(signal.id, late.id, "expired")
    d.sketch.note(f"'{late.source}' became the expiry of '{signal.source}'.")


def _excludes(a: str, b: str) -> bool:
    """Whether two comparisons of one value with different literals cannot both hold."""
    left, sep, one = a.partition(" == ")
    other, also, two = b.partition(" == ")
    return bool(sep and also) and left == other and one != two and one[:1] in '"0123456789tf' and name_of(left) != ""
