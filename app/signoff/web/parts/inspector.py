"""The designer's side panel: what is common to all steps, edges and the whole definition; `editors` has the kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import (
    OUTCOMES,
    ActivityConfig,
    ApprovalConfig,
    FormConfig,
    Join,
    Policies,
    SignalConfig,
    Step,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.rejection import Rejection
from signoff.core.validate import Surroundings
from signoff.web.escape import esc, label
from signoff.web.models import renaming
from signoff.web.models import sheet as board
from signoff.web.models.sheet import Sheet
from signoff.web.models.words import KIND_WORDS
from signoff.web.parts.editors.activity import activity_editors, activity_limits
from signoff.web.parts.editors.ladder import ladder_editors
from signoff.web.parts.editors.people import approval_editors, approval_policy, approval_rules, form_editors, form_rules
from signoff.web.parts.editors.subflow import subflow_editors
from signoff.web.parts.editors.timing import signal_editors, wait_editors
from signoff.web.parts.editors.whole import whole_editors
from signoff.web.parts.icons import svg
from signoff.web.parts.inputs import (
    choice_input,
    text_input,
    tick_input,
)
from signoff.web.parts.panes import html

Edit = Callable[[Sheet], Sheet | Rejection]
Apply = Callable[[Edit], None]

JOIN_WORDS = {
    "all connections": Join.ALL.value,
    "the first connection": Join.ANY.value,
    "the first; cancel the rest": Join.CANCEL_REST.value,
}
SKIP_WORDS = {"as usual for its kind": "", "yes": "yes", "no": "no"}


class Pointer:
    """The name of what a panel edits. It follows when the name changes, so that no edit goes to the old one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.listeners: list[Callable[[str], None]] = []

    def rename(self, name: str) -> None:
        """Point to the same thing under its new name."""
        if name != self.name:
            self.name = name
            for listener in self.listeners:
                listener(name)


def step_panel(step: Step, pointer: Pointer, policies: Policies, around: Surroundings, apply: Apply) -> list[Any]:
    """Editors for one step."""

    def config(**changes: Any) -> None:
        apply(lambda s: board.change_config(s, pointer.name, **changes))

    def whole(**changes: Any) -> None:
        apply(lambda s: board.change_step(s, pointer.name, **changes))

    own: list[Any]
    more: list[tuple[str, list[Any]]] = []
    match step.config:
        case ActivityConfig() as c:
            own, more = activity_editors(c, around, config), activity_limits(c, around, config)
        case ApprovalConfig() as c:
            own = approval_editors(c, around, config)
            policy, ladder = approval_policy(c, around, config), ladder_editors(c, policies, around, config)
            more = [policy, ladder, *approval_rules(c, config)]
        case FormConfig() as c:
            own = form_editors(c, around, config)
            more = [ladder_editors(c, policies, around, config), *form_rules(c, config)]
        case SignalConfig() as c:
            own = signal_editors(c, config)
        case SubflowConfig() as c:
            own = subflow_editors(c, around, config)
        case WaitConfig() as c:
            own = wait_editors(c, policies, config)
    return [
        _title(step.kind.value, pointer),
        text_input("Label", step.label, lambda v: apply(lambda s: renaming.relabel(s, pointer.name, v)), limit=400),
        *own,
        _folded(*more, ("Order, skipping, name", _rules(step, pointer, whole, apply))),
    ]


def _rules(step: Step, pointer: Pointer, whole: Callable[..., None], apply: Apply) -> list[Any]:
    skip, allowed = step.skip, {None: "", True: "yes", False: "no"}[step.skip.allowed]

    def rule(**changes: Any) -> None:
        nonlocal skip
        skip = replace(skip, **changes)
        whole(skip=skip)

    return [
        choice_input("Begins after", JOIN_WORDS, step.join.value, lambda v: whole(join=Join(v))),
        choice_input(
            "An operator may skip it",
            SKIP_WORDS,
            allowed,
            lambda v: rule(allowed={"": None, "yes": True, "no": False}[v]),
        ),
        tick_input("Skipping needs a substitute output", skip.needs_output, lambda v: rule(needs_output=v)),
        text_input(
            "Skipping is safe when",
            skip.condition,
            lambda v: rule(condition=v.strip()),
            help="an expression; empty: always",
        ),
        text_input(
            "Name in expressions",
            step.id,
            lambda v: apply(lambda s: renaming.rename_step(s, pointer.name, v.strip())),
            limit=63,
        ),
    ]


def edge_panel(sheet: Sheet, pointer: Pointer, apply: Apply) -> list[Any]:
    """Editors for one edge."""
    edge = sheet.find_edge(pointer.name)
    assert edge is not None
    source, target = sheet.definition.find_step(edge.source), sheet.definition.find_step(edge.target)
    names = [s.label if s else i for s, i in ((source, edge.source), (target, edge.target))]
    outcomes = [o.value for o in OUTCOMES[source.kind]] if source else []
    options = {o: o for o in [*outcomes, "any"]}

    def change(**changes: Any) -> None:
        apply(lambda s: board.change_edge(s, pointer.name, **changes))

    head = f"<h3>Connection</h3><h2>{label(names[0])} → {label(names[1])}</h2>"
    return [
        html(head, margin=(0, 0, 10, 0)),
        choice_input(
            "Follows the outcome", options, edge.on or (outcomes[0] if outcomes else ""), lambda v: change(on=v)
        ),
        text_input(
            "Only when",
            edge.when,
            lambda v: change(when=v.strip().removeprefix("=")),
            help="an expression such as input.amount > 1000.0",
        ),
        tick_input("Otherwise: when no sibling's condition is true", edge.otherwise, lambda v: change(otherwise=v)),
    ]


def definition_panel(sheet: Sheet, apply: Apply) -> list[Any]:
    """Editors for what holds for the whole definition."""
    d = sheet.definition

    def whole(**changes: Any) -> None:
        apply(lambda s: board.change_definition(s, **changes))

    def policy(**changes: Any) -> None:
        apply(lambda s: board.change_definition(s, policies=replace(s.definition.policies, **changes)))

    usual, more = whole_editors(d, whole, policy)
    head = html(f'<h3>Definition <span class="mono">{esc(d.name)}</span></h3>', margin=(0, 0, 10, 0))
    return [head, *usual, _folded(*more)]


def _title(kind: str, pointer: Pointer) -> Any:
    def words(name: str) -> str:
        return f'<h3>{svg(kind, size=15)} {KIND_WORDS[kind]} <span class="mono">steps.{esc(name)}</span></h3>'

    pane = html(words(pointer.name), margin=(0, 0, 12, 0))
    pointer.listeners.append(lambda name: setattr(pane, "object", words(name)))
    return pane


def _folded(*sections: tuple[str, list[Any]]) -> Any:
    columns = [(name, pn.Column(*inputs, sizing_mode="stretch_width", margin=0)) for name, inputs in sections]
    return pmui.Accordion(
        *columns, sizing_mode="stretch_width", margin=(4, 0, 0, 0), active=[], title_variant="subtitle2"
    )
