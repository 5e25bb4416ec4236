"""The designer's side panel: an editor for every property of a step, an edge, or the whole definition."""

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
    EffectContract,
    FailurePolicy,
    Join,
    RejectionRule,
    Step,
    WaitConfig,
)
from signoff.core.rejection import Rejection
from signoff.core.validate import Surroundings
from signoff.web.escape import esc, label
from signoff.web.models import renaming
from signoff.web.models import sheet as board
from signoff.web.models.sheet import Sheet
from signoff.web.models.words import KIND_WORDS
from signoff.web.parts.forms import NOTHING
from signoff.web.parts.icons import svg
from signoff.web.parts.inputs import (
    area_input,
    choice_input,
    number_input,
    several_input,
    text_input,
    tick_input,
    words_of,
)
from signoff.web.parts.panes import html
from signoff.web.parts.probe import probe_inputs
from signoff.web.parts.rows import FieldRows, MappingRows

Edit = Callable[[Sheet], Sheet | Rejection]
Apply = Callable[[Edit], None]

EFFECT_WORDS = {
    "May be repeated (idempotent)": EffectContract.IDEMPOTENT.value,
    "Check first whether it happened": EffectContract.CHECK_FIRST.value,
    "At most once, never retried by itself": EffectContract.AT_MOST_ONCE.value,
    "Can be compensated": EffectContract.COMPENSATABLE.value,
}
REJECTION_WORDS = {
    "at once where one approver is asked, else when the rest cannot reach the number": RejectionRule.DEFAULT.value,
    "at once": RejectionRule.AT_ONCE.value,
    "when the rest cannot reach the number": RejectionRule.WHEN_UNREACHABLE.value,
}
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


def step_panel(step: Step, pointer: Pointer, around: Surroundings, apply: Apply) -> list[Any]:
    """Editors for one step."""

    def config(**changes: Any) -> None:
        apply(lambda s: board.change_config(s, pointer.name, **changes))

    def whole(**changes: Any) -> None:
        apply(lambda s: board.change_step(s, pointer.name, **changes))

    own: list[Any]
    more: list[tuple[str, list[Any]]] = []
    match step.config:
        case ActivityConfig() as c:
            own, more = _activity(c, around, config), _activity_more(step, around, config)
        case ApprovalConfig() as c:
            own, more = _approval(c, around, config), _approval_more(c, config)
        case WaitConfig() as c:
            own = _wait(c, config)
    return [
        _title(step.kind.value, pointer),
        text_input("Label", step.label, lambda v: apply(lambda s: renaming.relabel(s, pointer.name, v)), limit=400),
        *own,
        _folded(*more, ("Order, skipping, name", _rules(step, pointer, whole, apply))),
    ]


def _activity(c: ActivityConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    calls = {"choose …": NOTHING} | {name: name for name in sorted(around.connectors or ())}
    return [
        choice_input("Calls", calls, c.connector or NOTHING, lambda v: config(connector=v.strip())),
        MappingRows("Input", c.input, lambda v: config(input=v)),
        FieldRows("Output", c.output, lambda v: config(output=v)),
        choice_input("If its answer is lost", EFFECT_WORDS, c.effect.value, lambda v: config(effect=EffectContract(v))),
    ]


def _activity_more(step: Step, around: Surroundings, config: Callable[..., None]) -> list[tuple[str, list[Any]]]:
    c = step.config
    assert isinstance(c, ActivityConfig)
    now: dict[str, Any] = {"retry": c.retry, "timeouts": c.timeouts}

    def part(name: str, **changes: Any) -> None:
        now[name] = replace(now[name], **changes)
        config(**{name: now[name]})

    retry = [
        number_input("Attempts", c.retry.max_attempts, lambda v: part("retry", max_attempts=v), whole=True),
        number_input("First pause, seconds", c.retry.initial_s, lambda v: part("retry", initial_s=v)),
        number_input("Each pause longer by factor", c.retry.multiplier, lambda v: part("retry", multiplier=v)),
        number_input("Longest pause, seconds", c.retry.cap_s, lambda v: part("retry", cap_s=v)),
        number_input("Random share of a pause, 0 to 1", c.retry.jitter, lambda v: part("retry", jitter=v)),
        number_input("Give up after, seconds", c.retry.total_s, lambda v: part("retry", total_s=v), optional=True),
        text_input(
            "Errors not worth retrying, by code",
            ", ".join(c.retry.not_retryable),
            lambda v: part("retry", not_retryable=words_of(v)),
        ),
    ]
    timeouts = [
        number_input("One attempt may take, seconds", c.timeouts.run_s, lambda v: part("timeouts", run_s=v)),
        number_input(
            "May wait for a worker, seconds", c.timeouts.queue_s, lambda v: part("timeouts", queue_s=v), optional=True
        ),
        number_input("Heartbeat, seconds", c.timeouts.heartbeat_s, lambda v: part("timeouts", heartbeat_s=v)),
        text_input("Pool", c.pool, lambda v: config(pool=v), limit=63),
        number_input("Priority", c.priority, lambda v: config(priority=v), whole=True),
    ]
    parts = [("Retries", retry), ("Time limits and workers", timeouts)]
    return [("Probe of a lost call", probe_inputs(c, around, config)), *parts]


def _approval(c: ApprovalConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    outcomes = ("approved", "rejected", "returned")
    return [
        several_input("Groups that are asked", sorted(around.groups or ()), c.groups, lambda v: config(groups=v)),
        several_input("People that are asked", sorted(around.people or ()), c.people, lambda v: config(people=v)),
        number_input("Approvals needed", c.required, lambda v: config(required=v), whole=True, help="0 means everyone"),
        area_input("Instructions", c.instructions, lambda v: config(instructions=v)),
        MappingRows("What is shown", c.shows, lambda v: config(shows=v), name_label="Shown as"),
        text_input(
            "Expires after",
            c.expires,
            lambda v: config(expires=v.strip()),
            help="such as PT72H or P3D; empty: never",
            limit=40,
        ),
        tick_input("Who started the run may decide", c.requester_may_decide, lambda v: config(requester_may_decide=v)),
        several_input(
            "A comment is needed when", outcomes, c.comment_required_on, lambda v: config(comment_required_on=v)
        ),
    ]


def _approval_more(c: ApprovalConfig, config: Callable[..., None]) -> list[tuple[str, list[Any]]]:
    rules = [
        choice_input(
            "A rejection settles it", REJECTION_WORDS, c.rejection.value, lambda v: config(rejection=RejectionRule(v))
        ),
        text_input(
            "Nobody who decided in",
            ", ".join(c.deciders_differ_from),
            lambda v: config(deciders_differ_from=words_of(v)),
            help="names of earlier approvals, separated by commas",
        ),
        text_input(
            "Work may be sent back to",
            ", ".join(c.returns_to),
            lambda v: config(returns_to=words_of(v)),
            help="names of earlier steps, separated by commas",
        ),
        number_input("Rounds at most", c.max_rounds, lambda v: config(max_rounds=v), whole=True),
    ]
    return [("Rejecting, sending back", rules)]


def _wait(c: WaitConfig, config: Callable[..., None]) -> list[Any]:
    return [
        text_input("For", c.duration, lambda v: config(duration=v.strip()), help="such as PT2H, P3D or P1M", limit=40),
        text_input(
            "Or until", c.until, lambda v: config(until=v.strip()), help="such as 2027-03-28T09:00, or =input.date"
        ),
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

    failures = {"wait for a person": FailurePolicy.STALL.value, "fail the run": FailurePolicy.FAIL.value}
    return [
        html(f'<h3>Definition <span class="mono">{esc(d.name)}</span></h3>', margin=(0, 0, 10, 0)),
        text_input("Title", d.title, lambda v: whole(title=v), limit=400),
        area_input("Description", d.description, lambda v: whole(description=v)),
        FieldRows("Input form", d.input, lambda v: whole(input=v)),
        choice_input(
            "When a failure is not handled",
            failures,
            d.policies.failure.value,
            lambda v: policy(failure=FailurePolicy(v)),
        ),
        text_input(
            "Time zone",
            d.policies.zone,
            lambda v: policy(zone=v.strip()),
            help="an IANA name such as Europe/Berlin",
            limit=60,
        ),
    ]


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
