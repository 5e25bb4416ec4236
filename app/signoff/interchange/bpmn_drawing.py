"""Drawing the nodes of a BPMN process into a sketch."""

from __future__ import annotations

from typing import Any

from signoff.interchange.bpmn_events import catch_event, on_boundary, throw_event
from signoff.interchange.bpmn_gateways import draw_flows
from signoff.interchange.bpmn_people import fields_of, people_of
from signoff.interchange.bpmn_reading import NODES, SCOPES, TASKS, Model, event_kind, label_of
from signoff.interchange.cel import path
from signoff.interchange.naming import free_name, name_of
from signoff.interchange.sketch import Node, Sketch
from signoff.interchange.translated import CannotExpress
from signoff.interchange.xml_text import Element

_CALLS = ("serviceTask", "scriptTask", "businessRuleTask", "sendTask")


class BpmnDrawing:
    """One process.

    Attributes:
        enter: id of a BPMN node to the id of the sketch node where it begins.
        leave: the same, where it ends.
        fields: step id to its form's fields, by their name in the model.
        results: variable to the CEL of what gives it.
        skipped: BPMN ids of gateways that became part of the approval before them.
    """

    def __init__(self, sketch: Sketch, model: Model) -> None:
        self.sketch, self.model = sketch, model
        self.enter: dict[str, str] = {}
        self.leave: dict[str, str] = {}
        self.elements: dict[str, Element] = {}
        self.fields: dict[str, dict[str, dict[str, Any]]] = {}
        self.results: dict[str, str] = {}
        self.drawn: dict[str, Element] = {}
        self.skipped: set[str] = set()

    def draw(self) -> None:
        """All of it."""
        self.scope(self.model.process, None)
        for node in self.sketch.nodes.values():
            if node.step is not None and node.step["kind"] == "form" and not node.step["fields"]:
                node.step["fields"] = [{"name": "note", "label": "Note", "type": "long_text", "required": False}]

    def scope(self, scope: Element, end: Node | None) -> None:
        """A process or an embedded subprocess; what ends inside goes on to `end`."""
        nodes = [c for c in scope.children if c.tag in NODES and c.get("id")]
        for node in nodes:
            self.elements[node.get("id")] = node
        for node in nodes:
            if node.tag != "boundaryEvent" and node.get("isForCompensation") != "true":
                self._node(node)
        for node in nodes:
            if node.tag == "boundaryEvent":
                on_boundary(self, node)
        flows = [f for f in scope.all("sequenceFlow") if self._is_known(f)]
        draw_flows(self, nodes, flows)
        if end is not None:
            sources = {f.get("sourceRef") for f in flows}
            for node in nodes:
                if node.get("id") in self.leave and node.get("id") not in sources and node.tag != "boundaryEvent":
                    self.sketch.link(self.leave[node.get("id")], end.id)

    def _is_known(self, flow: Element) -> bool:
        return flow.get("sourceRef") in self.leave and flow.get("targetRef") in self.enter

    def put(self, node: Element, drawn: Node, last: Node | None = None) -> None:
        """Remember where a BPMN node begins and ends."""
        self.enter[node.get("id")] = drawn.id
        self.leave[node.get("id")] = (last or drawn).id
        self.drawn[drawn.id] = node

    def _node(self, node: Element) -> None:
        name = label_of(node)
        if node.tag in SCOPES:
            self._subprocess(node, name)
        elif node.tag in TASKS:
            self._task(node, name)
        elif node.tag == "complexGateway":
            self.sketch.refuse("gateway", f"the complex gateway '{name}'")
        elif node.tag == "startEvent":
            kind, _ = event_kind(node)
            if kind != "none":
                self.sketch.note(f"The process starts by a {kind} at '{name}': start its runs through the API then.")
            self.put(node, self.sketch.point(f"{name} start", label=name))
        elif node.tag in ("endEvent", "intermediateThrowEvent"):
            throw_event(self, node, name)
        elif node.tag == "intermediateCatchEvent":
            catch_event(self, node, name)
        else:
            self.put(node, self.sketch.point(name, waits_for_all=node.tag == "parallelGateway"))

    def _subprocess(self, node: Element, name: str) -> None:
        if node.get("triggeredByEvent") == "true":
            self.sketch.refuse("event_subprocess", f"the event subprocess '{name}'")
        elif node.tag != "subProcess":
            self.sketch.refuse("subprocess", f"the {node.tag} '{name}'")
        elif node.first("multiInstanceLoopCharacteristics", "standardLoopCharacteristics") is not None:
            self.sketch.refuse("loop", f"the repeated subprocess '{name}'", "Move its inside into an activity.")
        else:
            begin, end = self.sketch.point(f"{name} begins"), self.sketch.point(f"{name} ends", waits_for_all=True)
            self.put(node, begin, end)
            self.scope(node, end)
            inside = [c for c in node.children if c.tag in NODES and c.get("id") in self.enter]
            targets = {f.get("targetRef") for f in node.all("sequenceFlow")}
            for c in inside:
                if c.get("id") not in targets and c.tag != "boundaryEvent":
                    self.sketch.link(begin.id, self.enter[c.get("id")])
            if not inside:
                self.sketch.link(begin.id, end.id)

    def _task(self, node: Element, name: str) -> None:
        loop = node.first("multiInstanceLoopCharacteristics", "standardLoopCharacteristics")
        if node.tag in _CALLS:
            drawn = self.sketch.step(name, self._call(node, name))
            if loop is not None:
                self._each(node, name, loop, drawn)
        elif loop is not None:
            kind = "user task" if node.tag in ("userTask", "manualTask", "task") else node.tag
            self.sketch.refuse("loop", f"the repeated {kind} '{name}'", "Ask several people in one approval.")
            drawn = self.sketch.point(name)
        elif node.tag == "receiveTask":
            message = self.model.names.get(node.get("messageRef"), name)
            drawn = self.sketch.step(name, {"kind": "signal", "signal": name_of(message, "message")})
        elif node.tag == "callActivity":
            drawn = self._called(node, name)
        else:
            drawn = self._person(node, name)
        self.put(node, drawn)

    def _call(self, node: Element, name: str) -> dict[str, Any]:
        told = [node.get(a) for a in ("topic", "delegateExpression", "class", "type", "decisionRef", "operatorName")]
        called = next((t for t in told if t and t != "external" and "{" not in t), "") or name
        connector = f"python:{name_of(called.rsplit('.', 1)[-1], 'task')[:50]}"
        if node.tag == "scriptTask":
            self.sketch.note(f"'{name}' runs a script, which is not carried over: install it as '{connector}'.")
        given: dict[str, Any] = {}
        for one in node.inside("inputParameter"):
            if one.get("name") and not one.children:
                given[one.get("name")] = one.text.strip()
        if given:
            self.sketch.note(f"The inputs of '{name}' are passed as they are written in the model.")
        return {
            "kind": "activity",
            "connector": connector,
            "input": {k: f"={v}" if v[:1] == "=" else v for k, v in given.items()},
        }

    def _each(self, node: Element, name: str, loop: Element, drawn: Node) -> None:
        assert drawn.step is not None
        told = loop.get("collection") or next((x.text for x in loop.inside("loopDataInputRef")), "")
        count = next((x.text.strip() for x in loop.inside("loopCardinality")), "")
        if loop.tag != "multiInstanceLoopCharacteristics" or loop.first("completionCondition") is not None:
            self.sketch.refuse("loop", f"the repeated task '{name}' with a condition for its end")
        elif count.isdigit() and 1 <= int(count) <= 100:
            items = "[" + ", ".join(str(i) for i in range(int(count))) + "]"
            drawn.step["for_each"] = {"items": items, "parallel": 1 if loop.get("isSequential") == "true" else 20}
        elif told and told.strip("${}#").isidentifier():
            variable = self.sketch.input(told.strip("${}#"), "list")
            items = f"input.{variable}"
            drawn.step["for_each"] = {"items": items, "parallel": 1 if loop.get("isSequential") == "true" else 20}
            drawn.step["input"] = {**drawn.step["input"], "item": "=item"}
        else:
            self.sketch.refuse("loop", f"the repeated task '{name}' whose number is computed")

    def _called(self, node: Element, name: str) -> Node:
        called = node.get("calledElement")
        if not called or "{" in called:
            self.sketch.refuse("dynamic", f"the process that '{name}' calls, which only a run decides about")
            return self.sketch.point(name)
        given = {}
        for one in node.inside("in"):
            if one.get("source") and one.get("target"):
                given[name_of(one.get("target"), "field")] = f"=input.{self.sketch.input(one.get('source'))}"
        if not given:
            self.sketch.note(f"'{name}' passes nothing on; map what '{called}' asks for.")
        return self.sketch.step(name, {"kind": "subflow", "definition": name_of(called, "process"), "input": given})

    def _person(self, node: Element, name: str) -> Node:
        fields = fields_of(node)
        asked = people_of(node, self.model.lanes.get(node.get("id"), ""))
        if asked.get("groups") == ["staff"]:
            self.sketch.note(f"'{name}' asks the group 'staff'; the model does not say whom.")
        if node.tag == "task":
            self.sketch.note(f"'{name}' is a task of no kind: a person says that it is done.")
        drawn = self.sketch.step(name, {"kind": "form", **asked, "fields": list(fields.values())})
        self.fields[drawn.id] = fields
        for foreign, told in fields.items():
            self.results.setdefault(foreign, path(f"steps.{drawn.id}.output", [told["name"]]))
        return drawn

    def add_field(self, step: str, foreign: str, told: dict[str, Any]) -> str:
        """Let a form ask for one more value; answers the CEL that reads it."""
        fields = self.fields[step]
        if foreign not in fields:
            name = free_name(foreign, [f["name"] for f in fields.values()], "field")
            fields[foreign] = {"name": name, "label": foreign[:200], **told}
            document = self.sketch.nodes[step].step
            assert document is not None
            document["fields"] = list(fields.values())
        elif told.get("type") == "choice" and fields[foreign].get("type") in ("choice", "text"):
            known = fields[foreign].get("options", [])
            fields[foreign].update(type="choice", options=list(dict.fromkeys([*known, *told["options"]])))
        fields[foreign]["required"] = True
        self.results[foreign] = path(f"steps.{step}.output", [fields[foreign]["name"]])
        return self.results[foreign]

    def variable(self, parts: tuple[str | int, ...], other: Any) -> str:
        """A process variable: what a form or a call gave, else an input that must be there from the start."""
        first, *rest = parts
        if not isinstance(first, str):
            raise CannotExpress("an expression")
        if first in self.results:
            return path(self.results[first], rest)
        kinds = {bool: "boolean", int: "number", float: "number"}
        field = self.sketch.input(first, "object" if rest else kinds.get(type(other), ""))
        self.sketch.note(f"The variable '{first}' has to be given when a run starts.")
        return path(f"input.{field}", rest)
