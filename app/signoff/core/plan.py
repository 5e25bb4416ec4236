"""A definition compiled for execution: adjacency, order, conditions and mappings, built once per digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from signoff.core.calendar import find_zone
from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    Definition,
    Edge,
    FormConfig,
    SignalConfig,
    Step,
    StepKind,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.expression import Expression, Template, compile_expression, compile_template
from signoff.core.graph import topological_order
from signoff.core.probes import ANSWER, CompiledProbe, compile_probe
from signoff.core.worktime import WorkTime, compile_calendar


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """The expressions of an approval's policy: its number, its groups, when each quota applies (None: always)."""

    required: Expression | None
    groups: Expression | None
    quotas: tuple[Expression | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the pure core executes.

    Attributes:
        definition: the frozen content.
        digest: its content digest.
        version: its published number (0 for a draft on trial).
        steps: by id, in topological order.
        kinds: of its steps.
        incoming / outgoing: edges by step id.
        conditions: compiled `when` by edge key.
        templates: compiled mapping of each step, as `template_of` gives it, by step id.
        skip_conditions: compiled safety condition of the skip rule by step id.
        worktime: the definition's business calendar in its time zone.
        probes: compiled probe by step id.
        undos: compiled mapping of the compensation by step id.
        polls: compiled `until` of a poll by step id.
        lists: compiled list of items by step id.
        policies: compiled policy of each approval that has expressions, by step id.
    """

    definition: Definition
    digest: str
    version: int
    steps: Mapping[str, Step]
    kinds: frozenset[StepKind]
    incoming: Mapping[str, tuple[Edge, ...]]
    outgoing: Mapping[str, tuple[Edge, ...]]
    edges: Mapping[str, Edge]
    conditions: Mapping[str, Expression]
    templates: Mapping[str, Template]
    skip_conditions: Mapping[str, Expression]
    worktime: WorkTime
    probes: Mapping[str, CompiledProbe]
    undos: Mapping[str, Template]
    polls: Mapping[str, Expression]
    lists: Mapping[str, Expression]
    policies: Mapping[str, CompiledPolicy]

    def label(self, step_id: str) -> str:
        """The label people read, for a step id."""
        return self.steps[step_id].label


def successors_of(definition: Definition) -> dict[str, list[str]]:
    """The step graph as a successor mapping; edges to unknown steps are left out."""
    graph: dict[str, list[str]] = {s.id: [] for s in definition.steps}
    for e in definition.edges:
        if e.source in graph and e.target in graph and e.target not in graph[e.source]:
            graph[e.source].append(e.target)
    return graph


def compile_plan(definition: Definition, digest: str, version: int) -> Plan:
    """Compile a definition that `validate` found no error in.

    Raises:
        ValueError: the definition is not valid (a cycle, a bad expression); validate it first.
    """
    order = topological_order(successors_of(definition))
    steps = {s.id: s for s in definition.steps}
    incoming: dict[str, list[Edge]] = {i: [] for i in order}
    outgoing: dict[str, list[Edge]] = {i: [] for i in order}
    for e in definition.edges:
        incoming[e.target].append(e)
        outgoing[e.source].append(e)
    return Plan(
        definition=definition,
        digest=digest,
        version=version,
        steps={i: steps[i] for i in order},
        kinds=frozenset(s.kind for s in definition.steps),
        incoming={i: tuple(v) for i, v in incoming.items()},
        outgoing={i: tuple(v) for i, v in outgoing.items()},
        edges={e.key: e for e in definition.edges},
        conditions={e.key: compile_expression(e.when) for e in definition.edges if e.when},
        templates={s.id: compile_template(template_of(s), names_of(s))[0] for s in definition.steps},
        skip_conditions={s.id: compile_expression(s.skip.condition) for s in definition.steps if s.skip.condition},
        worktime=compile_calendar(definition.policies.calendar, find_zone(definition.policies.zone) or ZoneInfo("UTC")),
        undos={
            s.id: compile_template(s.config.compensation.input)[0]
            for s in definition.steps
            if isinstance(s.config, ActivityConfig) and s.config.compensation
        },
        probes={
            s.id: compile_probe(s.config.probe)
            for s in definition.steps
            if isinstance(s.config, ActivityConfig) and s.config.probe
        },
        polls={
            s.id: compile_expression(s.config.poll.until, ANSWER)
            for s in definition.steps
            if isinstance(s.config, ActivityConfig) and s.config.poll
        },
        lists={
            s.id: compile_expression(s.config.for_each.items)
            for s in definition.steps
            if isinstance(s.config, ActivityConfig) and s.config.for_each
        },
        policies={s.id: _policy(s.config) for s in definition.steps if isinstance(s.config, ApprovalConfig)},
    )


def _policy(c: ApprovalConfig) -> CompiledPolicy:
    def compiled(source: str) -> Expression | None:
        return compile_expression(source) if source else None

    return CompiledPolicy(compiled(c.required_by), compiled(c.groups_by), tuple(compiled(q.when) for q in c.quotas))


def names_of(step: Step) -> frozenset[str]:
    """What the step's mapping may name besides `input`, `steps` and `run`."""
    each = isinstance(step.config, ActivityConfig) and step.config.for_each
    return frozenset({"item", "index"}) if each else frozenset()


def template_of(step: Step) -> Any:
    """The mapping of a step that may hold expressions."""
    match step.config:
        case ActivityConfig(input=mapping):
            return mapping
        case ApprovalConfig(shows=shows):
            return shows
        case WaitConfig(duration=duration, until=until):
            return duration if duration.startswith("=") else until
        case FormConfig(shows=shows, prefill=prefill):
            return {"shows": shows, "prefill": prefill}
        case SignalConfig(key=key):
            return key
        case SubflowConfig(input=mapping):
            return mapping
