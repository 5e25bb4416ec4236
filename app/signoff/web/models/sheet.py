"""The draft on the drawing board: an immutable definition with canvas positions, and the edits of a person.

Every edit gives a new sheet, or a `Rejection` whose sentence the page shows; nothing here is changed in place, so that
undo is a list of sheets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from signoff.core.definition import (
    MAX_STEPS,
    ActivityConfig,
    ApprovalConfig,
    Definition,
    Edge,
    FormConfig,
    SignalConfig,
    Step,
    StepConfig,
    StepKind,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.definition import Field as FormField
from signoff.core.document import read_document, write_document
from signoff.core.plan import successors_of
from signoff.core.problem import Problem
from signoff.core.rejection import Rejection
from signoff.core.validate import Surroundings, validate
from signoff.web.models.layout import COLUMN, ROW, layered
from signoff.web.models.naming import identifier

Position = tuple[float, float]

NEW_LABELS = {
    StepKind.ACTIVITY: "New activity",
    StepKind.APPROVAL: "New approval",
    StepKind.FORM: "New form",
    StepKind.WAIT: "New wait",
    StepKind.SIGNAL: "New signal",
    StepKind.SUBFLOW: "New subflow",
}
_NEW_CONFIGS: dict[StepKind, StepConfig] = {
    StepKind.ACTIVITY: ActivityConfig(),
    StepKind.APPROVAL: ApprovalConfig(),
    StepKind.FORM: FormConfig(fields=(FormField("answer", "Answer"),)),
    StepKind.SIGNAL: SignalConfig(signal="message"),
    StepKind.SUBFLOW: SubflowConfig(),
    StepKind.WAIT: WaitConfig(duration="P1D"),
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A definition and where its steps stand."""

    definition: Definition
    positions: Mapping[str, Position] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The JSON form, as it is stored."""
        return write_document(self.definition)

    def layout(self) -> dict[str, Any]:
        """Positions as they are stored beside the document."""
        return {s.id: dict(zip("xy", self.positions.get(s.id, (0.0, 0.0)), strict=True)) for s in self.definition.steps}

    def find_edge(self, key: str) -> Edge | None:
        """The edge with that key, or None."""
        return next((e for e in self.definition.edges if e.key == key), None)


def open_sheet(document: object, layout: Mapping[str, Any]) -> tuple[Sheet | None, tuple[Problem, ...]]:
    """Read a stored draft; steps without a stored position are laid out."""
    definition, problems = read_document(document)
    if definition is None:
        return None, problems
    return Sheet(definition, positions_of(definition, layout)), problems


def positions_of(definition: Definition, layout: Mapping[str, Any]) -> dict[str, Position]:
    """Stored positions; where one is missing or unreadable, all steps are laid out anew."""
    stored = {s.id: p for s in definition.steps if (p := position_of(layout.get(s.id))) is not None}
    return stored if len(stored) == len(definition.steps) else layered(successors_of(definition))


def position_of(stored: object) -> Position | None:
    """A place as it is stored or sent, or None where it is not one."""
    if isinstance(stored, Mapping):
        x, y = stored.get("x"), stored.get("y")
        if isinstance(x, int | float) and isinstance(y, int | float) and abs(x) < 1e6 and abs(y) < 1e6:
            return float(x), float(y)
    return None


def problems_of(sheet: Sheet, around: Surroundings) -> tuple[Problem, ...]:
    """What the API, the CLI and publishing would say about it."""
    definition, read = read_document(sheet.document())
    return read + (validate(definition, around) if definition else ())


def add_step(sheet: Sheet, kind: StepKind, *, after: str = "") -> Sheet | Rejection:
    """A new step of that kind, connected to `after` where one is given; its id is `last_added`."""
    d = sheet.definition
    if len(d.steps) >= MAX_STEPS:
        return refuse(
            "too_many_steps",
            f"Expected to add a step, but the definition has {len(d.steps)} steps; at most {MAX_STEPS} are allowed.",
            "Remove a step or move part of the process into a definition of its own.",
        )
    label = _free_label(NEW_LABELS[kind], {s.label for s in d.steps})
    step = Step(identifier(label, {s.id for s in d.steps}), label, _NEW_CONFIGS[kind])
    source = d.find_step(after) if after else None
    edges = (*d.edges, Edge(source.id, step.id)) if source else d.edges
    place = _free_place(sheet, source.id if source else "")
    return Sheet(replace(d, steps=(*d.steps, step), edges=sorted_edges(edges)), {**sheet.positions, step.id: place})


def last_added(sheet: Sheet) -> str:
    """The id of the newest step, or "" where there is none."""
    return sheet.definition.steps[-1].id if sheet.definition.steps else ""


def remove(sheet: Sheet, steps: Collection[str] = (), edges: Collection[str] = ()) -> Sheet:
    """Without these steps and edges. What came before a removed step is connected with what came after it."""
    d = sheet.definition
    gone = set(steps)
    kept = [e for e in d.edges if e.key not in edges or e.source in gone or e.target in gone]
    for step_id in steps:
        step = d.find_step(step_id)
        if step is None:
            continue
        before = [e for e in kept if e.target == step_id]
        after = [e for e in kept if e.source == step_id and e.on in ("", step.good_outcome.value)]
        kept = [e for e in kept if step_id not in (e.source, e.target)]
        bridges = [replace(b, target=a.target) for b in before for a in after if b.source != a.target]
        known = {e.key for e in kept}
        for bridge in bridges:
            if bridge.key not in known:
                known.add(bridge.key)
                kept.append(bridge)
    left = tuple(s for s in d.steps if s.id not in gone)
    alive = {s.id for s in left}
    kept = [e for e in kept if e.source in alive and e.target in alive]
    positions = {i: p for i, p in sheet.positions.items() if i not in gone}
    return Sheet(replace(d, steps=left, edges=sorted_edges(kept)), positions)


def connect(sheet: Sheet, source: str, target: str, on: str = "") -> Sheet | Rejection:
    """A new edge following the outcome `on`; refused in the words of validation where it makes a cycle."""
    step = sheet.definition.find_step(source)
    if step is None or sheet.definition.find_step(target) is None:
        return refuse("unknown_step", "Expected to connect two steps, but one of them is gone.", "Try again.")
    edge = Edge(source, target, "" if on == step.good_outcome.value else on)
    return _with_edges(sheet, (*sheet.definition.edges, edge))


def change_edge(sheet: Sheet, key: str, **changes: Any) -> Sheet | Rejection:
    """The edge with other values for `on`, `when` or `otherwise`."""
    old = sheet.find_edge(key)
    if old is None:
        return refuse("unknown_edge", "Expected to change a connection, but it is gone.", "Select it again.")
    step = sheet.definition.find_step(old.source)
    if step and changes.get("on") == step.good_outcome.value:
        changes["on"] = ""
    return _with_edges(sheet, tuple(replace(e, **changes) if e is old else e for e in sheet.definition.edges))


def _with_edges(sheet: Sheet, edges: tuple[Edge, ...]) -> Sheet | Rejection:
    changed = replace(sheet, definition=replace(sheet.definition, edges=sorted_edges(edges)))
    before = {p.message for p in validate(sheet.definition)}
    for problem in validate(changed.definition):
        if problem.code in ("cycle", "duplicate_edge", "self_edge", "self_loop") and problem.message not in before:
            return refuse(problem.code, problem.message, problem.remedy)
    return changed


def change_step(sheet: Sheet, step_id: str, **changes: Any) -> Sheet:
    """The step with another label, configuration, join or skip rule."""
    steps = tuple(replace(s, **changes) if s.id == step_id else s for s in sheet.definition.steps)
    return replace(sheet, definition=replace(sheet.definition, steps=steps))


def change_config(sheet: Sheet, step_id: str, **changes: Any) -> Sheet:
    """The step with other values inside its configuration."""
    step = sheet.definition.find_step(step_id)
    return sheet if step is None else change_step(sheet, step_id, config=replace(step.config, **changes))


def change_definition(sheet: Sheet, **changes: Any) -> Sheet:
    """Another title, description, input form or policy."""
    return replace(sheet, definition=replace(sheet.definition, **changes))


def move(sheet: Sheet, places: Mapping[str, Position]) -> Sheet:
    """Steps at other places; unknown ids are ignored."""
    known = {s.id for s in sheet.definition.steps}
    rounded = {i: (round(x, 1), round(y, 1)) for i, (x, y) in places.items() if i in known}
    return replace(sheet, positions={**sheet.positions, **rounded})


def arrange(sheet: Sheet) -> Sheet:
    """All steps laid out anew."""
    return replace(sheet, positions=layered(successors_of(sheet.definition)))


def _free_label(label: str, taken: Collection[str]) -> str:
    number = next(n for n in range(1, len(taken) + 2) if (label if n == 1 else f"{label} {n}") not in taken)
    return label if number == 1 else f"{label} {number}"


def _free_place(sheet: Sheet, beside: str) -> Position:
    x, y = sheet.positions.get(beside, (-COLUMN, 0.0)) if beside else (-COLUMN, 0.0)
    if not beside and sheet.positions:
        x, y = 0.0 - COLUMN, max(p[1] for p in sheet.positions.values()) + ROW
    place = (x + COLUMN, y)
    taken = list(sheet.positions.values())
    while any(abs(place[0] - t[0]) < COLUMN * 0.8 and abs(place[1] - t[1]) < ROW * 0.8 for t in taken):
        place = (place[0], place[1] + ROW)
    return place


def sorted_edges(edges: Collection[Edge]) -> tuple[Edge, ...]:
    """In the order in which a definition is stored."""
    return tuple(sorted(edges, key=lambda e: e.key))


def refuse(code: str, message: str, remedy: str) -> Rejection:
    """A refusal that nobody needs to keep."""
    return Rejection(code, message, remedy, evidence=False)
