"""Conditions, mappings and safety conditions: readable, about known names, of the right type as far as known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from signoff.core.checks.samples import gives, wrong_type
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    Definition,
    FormConfig,
    Probe,
    SignalConfig,
    Step,
)
from signoff.core.expression import (
    Expression,
    ExpressionError,
    compile_expression,
    template_expressions,
)
from signoff.core.graph import reachable_from
from signoff.core.plan import names_of, successors_of, template_of
from signoff.core.probes import ANSWER, CALL, PROBED
from signoff.core.problem import Problem

MAX_STEP_EXPRESSIONS = 64
"""All of them are evaluated together when the step begins."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an expression stands, what it may read, and whether it must give true or false."""

    where: str
    usable: frozenset[str]
    step: str = ""
    edge: str = ""
    condition: bool = False
    list_wanted: bool = False
    number_wanted: bool = False
    extra: frozenset[str] = frozenset()

    def problem(self, code: str, message: str, remedy: str, position: int = -1) -> Problem:
        text = f"In {self.where}: {message}"
        return Problem(code, text, remedy, self.step, self.edge, position=position)


def check_expressions(d: Definition, _: Surroundings) -> Iterator[Problem]:
    """Every expression of the definition."""
    for s in d.steps:
        count = len(template_expressions(template_of(s)))
        if count > MAX_STEP_EXPRESSIONS:
            yield Problem(
                "too_many_expressions",
                f"Step '{s.label}' has {count} expressions; at most {MAX_STEP_EXPRESSIONS} are allowed.",
                "Pass a whole object, such as =input.order, instead of each of its values.",
                step=s.id,
            )
    for source, place in _places(d):
        try:
            expression = compile_expression(source, place.extra)
        except ExpressionError as error:
            yield place.problem("bad_expression", str(error), "Correct the expression.", error.position)
            continue
        unknown = [*_unknown_inputs(d, expression, place), *_unknown_steps(d, expression, place)]
        if unknown:
            yield from unknown
        elif message := wrong_type(
            d,
            expression,
            condition=place.condition,
            list_wanted=place.list_wanted,
            number_wanted=place.number_wanted,
        ):
            remedy = "Compare and compute like with like; convert with int(), double() or string()."
            yield place.problem("type_mismatch", message, remedy)


def _places(d: Definition) -> Iterator[tuple[str, _Place]]:
    graph = successors_of(d)
    after = {i: reachable_from(graph, [i]) - {i} for i in graph}
    before = {i: frozenset(j for j in graph if i in after[j]) for i in graph}
    label = {s.id: s.label for s in d.steps}
    for s in d.steps:
        for path, source in template_expressions(template_of(s)):
            where = f"{_template_name(s)} {path}".strip() + f" of '{s.label}'"
            yield source, _Place(where, before[s.id], step=s.id, extra=names_of(s))
        if isinstance(s.config, ActivityConfig) and s.config.probe:
            yield from _probe_places(s, s.config.probe, before[s.id])
        if isinstance(s.config, ActivityConfig) and s.config.for_each and s.config.for_each.items.strip():
            where = f"for_each.items of '{s.label}'"
            yield s.config.for_each.items, _Place(where, before[s.id], step=s.id, list_wanted=True)
        if isinstance(s.config, ActivityConfig) and s.config.poll and s.config.poll.until.strip():
            where = f"poll.until of '{s.label}'"
            yield s.config.poll.until, _Place(where, before[s.id], step=s.id, condition=True, extra=ANSWER)
        if isinstance(s.config, ActivityConfig) and s.config.compensation:
            for path, source in template_expressions(s.config.compensation.input):
                where = f"compensation.input {path} of '{s.label}'"
                yield source, _Place(where, before[s.id] | {s.id}, step=s.id)
        if isinstance(s.config, ApprovalConfig):
            yield from _policy_places(s, s.config, before[s.id])
        if s.skip.condition:
            where = f"the skip condition of '{s.label}'"
            yield s.skip.condition, _Place(where, frozenset(graph) - {s.id}, step=s.id, condition=True)
    for e in d.edges:
        if e.when and e.source in label:
            where = f"the condition from '{label[e.source]}' to '{label.get(e.target, e.target)}'"
            yield e.when, _Place(where, before[e.source] | {e.source}, edge=e.key, condition=True)


def _policy_places(s: Step, c: ApprovalConfig, usable: frozenset[str]) -> Iterator[tuple[str, _Place]]:
    if c.required_by:
        yield c.required_by, _Place(f"required_by of '{s.label}'", usable, step=s.id, number_wanted=True)
    if c.groups_by:
        yield c.groups_by, _Place(f"groups_by of '{s.label}'", usable, step=s.id, list_wanted=True)
    for number, q in enumerate(c.quotas, 1):
        if q.when:
            yield q.when, _Place(f"the condition of quota {number} of '{s.label}'", usable, step=s.id, condition=True)


def _probe_places(s: Step, probe: Probe, usable: frozenset[str]) -> Iterator[tuple[str, _Place]]:
    for path, source in template_expressions(probe.input):
        yield source, _Place(f"probe.input {path} of '{s.label}'", usable, step=s.id, extra=CALL)
    if probe.happened.strip():
        where = f"probe.happened of '{s.label}'"
        yield probe.happened, _Place(where, usable, step=s.id, condition=True, extra=PROBED)
    if probe.output:
        yield probe.output, _Place(f"probe.output of '{s.label}'", usable, step=s.id, extra=PROBED)


def _template_name(s: Step) -> str:
    match s.config:
        case ActivityConfig():
            return "input"
        case ApprovalConfig():
            return "shows"
        case FormConfig():
            return ""
        case SignalConfig():
            return "the key"
        case _:
            return "until"


def _unknown_inputs(d: Definition, expression: Expression, place: _Place) -> Iterator[Problem]:
    fields = {f.name for f in d.input}
    for name in sorted(expression.inputs - {"*"} - fields):
        known = ", ".join(sorted(fields)) or "no fields"
        yield place.problem("unknown_input", f"the input form has no field '{name}'.", f"It has: {known}.")


def _unknown_steps(d: Definition, expression: Expression, place: _Place) -> Iterator[Problem]:
    for name, rest in sorted(expression.steps):
        other = d.find_step(name)
        if other is None:
            yield place.problem("unknown_name", f"there is no step '{name}'.", "Correct the name.")
        elif name not in place.usable:
            message = f"step '{other.label}' does not come before it, so it has no output yet."
            yield place.problem("not_yet_known", message, "Use a step that comes before.")
        else:
            parts = rest.split(".") if rest else []
            if parts and parts[0] not in ("output", "outcome", "error"):
                remedy = f"Use steps.{name}.output, steps.{name}.outcome or steps.{name}.error."
                yield place.problem("unknown_name", f"'steps.{name}' has no '{parts[0]}'.", remedy)
            declared = {f.name for f in other.output} or gives(other)
            if len(parts) > 1 and parts[0] == "output" and declared and parts[1] not in declared:
                remedy = f"It gives: {', '.join(sorted(declared))}."
                yield place.problem("unknown_output", f"'{other.label}' gives no '{parts[1]}'.", remedy)
            asked = {f.name for f in other.config.fields} if isinstance(other.config, ApprovalConfig) else set()
            if len(parts) > 2 and parts[:2] == ["output", "values"] and asked and parts[2] not in asked:
                remedy = f"It asks for: {', '.join(sorted(asked))}."
                yield place.problem("unknown_output", f"'{other.label}' asks for no '{parts[2]}'.", remedy)
