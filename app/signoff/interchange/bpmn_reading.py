"""Finding one's way in a BPMN document: processes, lanes, flows, what an event is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from signoff.interchange.xml_text import Element

TASKS = (
    "task", "userTask", "manualTask", "serviceTask", "scriptTask", "businessRuleTask", "sendTask", "receiveTask",
    "callActivity",
)  # fmt: skip
SCOPES = ("subProcess", "transaction", "adHocSubProcess")
NODES = (
    *TASKS, *SCOPES, "startEvent", "endEvent", "intermediateCatchEvent", "intermediateThrowEvent", "boundaryEvent",
    "exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway",
)  # fmt: skip


@dataclass
class Model:
    """A document with its tables.

    Attributes:
        process: the one that is translated.
        names: of messages, signals, errors by id.
        lanes: name of the lane by id of the node.
        associations: target by source.
    """

    process: Element
    others: int
    names: dict[str, str] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    lanes: dict[str, str] = field(default_factory=dict)
    associations: dict[str, str] = field(default_factory=dict)


def read_model(root: Element) -> Model | None:
    """The largest process, executable ones first; None where there is none with anything in it."""
    processes = [p for p in root.all("process") if any(c.tag in NODES for c in p.children)]
    if not processes:
        return None
    size = {id(p): (p.get("isExecutable") != "false", sum(1 for _ in p.inside(*NODES))) for p in processes}
    process = max(processes, key=lambda p: size[id(p)])
    model = Model(process, len(processes) - 1)
    for one in root.all("message", "signal", "error", "escalation"):
        model.names[one.get("id")] = one.get("name") or one.get("id")
        model.codes[one.get("id")] = one.get("errorCode") or one.get("name") or one.get("id")
    for lane in process.inside("lane"):
        for ref in lane.all("flowNodeRef"):
            model.lanes[ref.text.strip()] = lane.get("name")
    for one in root.inside("association"):
        model.associations[one.get("sourceRef")] = one.get("targetRef")
    return model


def label_of(node: Element) -> str:
    """What people call a node."""
    return " ".join(node.get("name").split()) or node.get("id") or node.tag


def event_kind(node: Element) -> tuple[str, Element | None]:
    """`timer`, `message`, … and its definition; `none` where an event is about nothing."""
    found = [c for c in node.children if c.tag.endswith("EventDefinition")]
    if not found:
        return "none", None
    return found[0].tag.removesuffix("EventDefinition"), found[0]


def text_of(element: Element | None) -> str:
    """The text of an element, without the marks around an expression and without quotes."""
    return unmarked(element.text) if element is not None else ""


def unmarked(text: str) -> str:
    """`${x}`, `#{x}` and `=x` as `x`."""
    plain = text.strip()
    match = re.fullmatch(r"[$#]\{(.*)\}", plain, re.S)
    return match[1].strip() if match else plain.removeprefix("=").strip()


def is_computed(text: str) -> bool:
    """Whether a text is an expression."""
    return bool(re.fullmatch(r"\s*[$#]\{.*\}\s*|\s*=.*", text, re.S))
