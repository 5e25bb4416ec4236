"""Everything that is wrong with a definition, all at once (semantics §1).

The designer, the API, the CLI and publishing use this one function and therefore the same sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from signoff.core.calendar import find_zone, parse_duration, parse_local
from signoff.core.definition import (
    MAX_STEPS,
    OUTCOMES,
    ActivityConfig,
    ApprovalConfig,
    Definition,
    Edge,
    Field,
    FieldType,
    Step,
    WaitConfig,
)
from signoff.core.expression import Expression, ExpressionError, compile_expression, template_expressions
from signoff.core.graph import all_cycle_paths, longest_path_length, reachable_from
from signoff.core.plan import successors_of, template_of
from signoff.core.problem import Problem

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
MAX_LABEL_CHARS = 400
MAX_DEPTH = MAX_STEPS
_SECRET = re.compile(
    r"(?i)\b(?:bearer\s+[a-z0-9._-]{16,}|sk_live_\w{8,}|AKIA[0-9A-Z]{16}|ghp_\w{20,}|-----BEGIN [A-Z ]*PRIVATE KEY)"
)
_SECRET_KEYS = frozenset({"password", "secret", "token", "api_key", "apikey", "authorization"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a definition may refer to; None means "not known here, do not check"."""

    connectors: Collection[str] | None = None
    groups: Collection[str] | None = None
    group_sizes: dict[str, int] = field(default_factory=dict)
    people: Collection[str] | None = None


def validate(definition: Definition, around: Surroundings = Surroundings()) -> tuple[Problem, ...]:
    """All problems, errors and warnings, in the order of the steps.

    Args:
        definition: read by `read_document` (whose own problems come before these).
        around: connectors, groups and people that exist.
    """
    checks: tuple[Callable[[Definition, Surroundings], Iterable[Problem]], ...] = (
        _names,
        _fields,
        _edges,
        _shape,
        _expressions,
        _steps,
    )
    return tuple(p for check in checks for p in check(definition, around))


def is_publishable(problems: Iterable[Problem]) -> bool:
    """True where no problem is an error."""
    return all(p.severity != "error" for p in problems)


def _names(d: Definition, _: Surroundings) -> Iterator[Problem]:
    if not NAME.fullmatch(d.name):
        yield Problem(
            "bad_name",
            f"The definition's name '{d.name[:60]}' is not a name.",
            "Use a lower-case letter, then lower-case letters, digits and underscores, at most 63.",
            path="name",
        )
    if not d.title.strip() or len(d.title) > MAX_LABEL_CHARS:
        yield Problem("bad_title", "The definition has no title or one over 400 characters.", "Give it a short title.")
    if not d.steps:
        yield Problem("no_steps", "The definition has no steps.", "Add at least one step.")
    if len(d.steps) > MAX_STEPS:
        over = ", ".join(f"'{s.label}'" for s in d.steps[MAX_STEPS:])
        yield Problem(
            "too_many_steps",
            f"The definition has {len(d.steps)} steps; at most {MAX_STEPS} are allowed. Over the limit: {over}.",
            "Remove steps or move part of the process into a definition of its own.",
        )
    if find_zone(d.policies.zone) is None:
        yield Problem(
            "unknown_zone", f"The time zone '{d.policies.zone[:60]}' is not known.", "Use an IANA name such as Europe/Berlin."
        )
    seen: set[str] = set()
    for s in d.steps:
        if s.id in seen:
            yield Problem("duplicate_step", f"Two steps have the id '{s.id}'.", "Give one another id.", step=s.id)
        seen.add(s.id)
        if not NAME.fullmatch(s.id):
            yield Problem(
                "bad_step_id",
                f"The id '{s.id[:60]}' of step '{s.label[:60]}' is not a name.",
                "Use a lower-case letter, then lower-case letters, digits and underscores, at most 63.",
                step=s.id,
            )
        if not s.label.strip() or len(s.label) > MAX_LABEL_CHARS:
            yield Problem("bad_label", f"Step '{s.id}' has no label or one over 400 characters.", "Name it.", step=s.id)


def _fields(d: Definition, _: Surroundings) -> Iterator[Problem]:
    yield from _check_fields(d.input, "the input form", "")
    for s in d.steps:
        if isinstance(s.config, ActivityConfig):
            yield from _check_fields(s.config.output, f"the output of '{s.label}'", s.id)


def _check_fields(fields: tuple[Field, ...], where: str, step: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for f in fields:
        if not NAME.fullmatch(f.name):
            yield Problem("bad_field", f"'{f.name[:60]}' in {where} is not a name.", "Use lower case and underscores.", step)
        if f.name in seen:
            yield Problem("duplicate_field", f"Two fields of {where} are called '{f.name}'.", "Rename one.", step)
        seen.add(f.name)
        if f.type is FieldType.CHOICE and not f.options:
            yield Problem("no_options", f"Choice '{f.name}' in {where} offers nothing.", "List its options.", step)
        if f.minimum is not None and f.maximum is not None and f.minimum > f.maximum:
            yield Problem("empty_range", f"'{f.name}' in {where} allows no value.", "Swap minimum and maximum.", step)


def _edges(d: Definition, _: Surroundings) -> Iterator[Problem]:
    steps = {s.id: s for s in d.steps}
    seen: set[str] = set()
    for e in d.edges:
        for end in (e.source, e.target):
            if end not in steps:
                yield Problem(
                    "unknown_step",
                    f"The connection '{e.key}' names the step '{end[:60]}', which does not exist.",
                    "Connect it to a step or remove it.",
                    edge=e.key,
                )
        if e.key in seen:
            yield Problem(
                "duplicate_edge",
                f"{_pair(e, steps)} are connected twice in the same way.",
                "Remove one, or join their conditions with ||.",
                edge=e.key,
            )
        seen.add(e.key)
        source = steps.get(e.source)
        if source and e.on and e.on != "any" and e.on not in {o.value for o in OUTCOMES[source.kind]}:
            allowed = ", ".join(o.value for o in OUTCOMES[source.kind])
            yield Problem(
                "unknown_outcome",
                f"The connection from '{source.label}' follows '{e.on[:40]}', which cannot happen there.",
                f"Follow one of: {allowed}, any.",
                edge=e.key,
            )
        if e.otherwise and e.when:
            yield Problem(
                "otherwise_with_when", f"The connection '{e.key}' has a condition and is 'otherwise'.", "Keep one.", edge=e.key
            )
        if e.otherwise and not any(o.when for o in d.edges if o.source == e.source and o.on == e.on):
            yield Problem(
                "lonely_otherwise",
                f"The connection '{e.key}' is 'otherwise', but no sibling has a condition.",
                "Give a sibling a condition or clear 'otherwise'.",
                edge=e.key,
            )


def _pair(e: Edge, steps: dict[str, Step]) -> str:
    names = [steps[i].label if i in steps else i for i in (e.source, e.target)]
    return f"'{names[0]}' and '{names[1]}'"


def _shape(d: Definition, _: Surroundings) -> Iterator[Problem]:
    graph = successors_of(d)
    label = {s.id: s.label for s in d.steps}
    cycles = all_cycle_paths(graph)
    for path in cycles:
        yield Problem(
            "cycle",
            "The steps form a cycle: " + " → ".join(label[i] for i in path) + ".",
            "Remove one of these connections; to send work back, use an approval's 'returned' outcome.",
            step=path[0],
        )
    if cycles:
        return
    starts = [i for i in graph if not any(i in targets for targets in graph.values())]
    reached = reachable_from(graph, starts)
    for i in graph:
        if i not in reached:
            yield Problem("unreachable", f"Step '{label[i]}' can never be reached.", "Connect it.", step=i)
    if graph and longest_path_length(graph) > MAX_DEPTH:
        yield Problem("too_deep", f"The longest branch has more than {MAX_DEPTH} steps.", "Shorten it.")
    for s in d.steps:
        good = [e for e in d.edges if e.source == s.id and e.on in ("", "any", s.good_outcome.value)]
        if good and all(e.when for e in good):
            yield Problem(
                "may_end_here",
                f"If no condition after '{s.label}' is true, that branch ends there.",
                "Add a connection marked 'otherwise' if that is not meant.",
                step=s.id,
                severity="warning",
            )


def _expressions(d: Definition, _: Surroundings) -> Iterator[Problem]:
    graph = successors_of(d)
    before = {i: {j for j in graph if j != i and i in reachable_from(graph, [j])} for i in graph}
    label = {s.id: s.label for s in d.steps}
    for s in d.steps:
        written = template_expressions(template_of(s))
        places = [(f"{'input' if isinstance(s.config, ActivityConfig) else 'shows'} {p}".strip(), x) for p, x in written]
        for place, source in places:
            yield from _one_expression(d, source, f"{place} of '{s.label}'", before.get(s.id, set()), step=s.id)
        if s.skip.condition:
            where = f"the skip condition of '{s.label}'"
            yield from _one_expression(d, s.skip.condition, where, set(graph), step=s.id)
    for e in d.edges:
        if e.when and e.source in label:
            where = f"the condition from '{label[e.source]}' to '{label.get(e.target, e.target)}'"
            usable = before.get(e.source, set()) | {e.source}
            yield from _one_expression(d, e.when, where, usable, edge=e.key)


def _one_expression(
    d: Definition, source: str, where: str, usable: set[str], *, step: str = "", edge: str = ""
) -> Iterator[Problem]:
    try:
        expression = compile_expression(source)
    except ExpressionError as error:
        yield Problem(
            "bad_expression", f"In {where}: {error}", "Correct the expression.", step, edge, position=error.position
        )
        return
    yield from _unknown_names(d, expression, where, usable, step, edge)


def _unknown_names(
    d: Definition, expression: Expression, where: str, usable: set[str], step: str, edge: str
) -> Iterator[Problem]:
    fields = {f.name for f in d.input}
    for name in sorted(expression.inputs - {"*"}):
        if name not in fields:
            known = ", ".join(sorted(fields)) or "no fields"
            yield Problem(
                "unknown_input", f"In {where}: the input form has no field '{name}'.", f"It has: {known}.", step, edge
            )
    for name, rest in sorted(expression.steps):
        other = d.find_step(name)
        if other is None:
            yield Problem("unknown_name", f"In {where}: there is no step '{name}'.", "Correct the name.", step, edge)
        elif name not in usable:
            yield Problem(
                "not_yet_known",
                f"In {where}: step '{other.label}' does not come before it, so it has no output yet.",
                "Use a step that comes before.",
                step,
                edge,
            )
        else:
            parts = rest.split(".") if rest else []
            if parts and parts[0] not in ("output", "outcome"):
                yield Problem(
                    "unknown_name",
                    f"In {where}: 'steps.{name}' has no '{parts[0]}'.",
                    f"Use steps.{name}.output or steps.{name}.outcome.",
                    step,
                    edge,
                )
            declared = {f.name for f in getattr(other.config, "output", ())}
            if len(parts) > 1 and parts[0] == "output" and declared and parts[1] not in declared:
                yield Problem(
                    "unknown_output",
                    f"In {where}: '{other.label}' gives no '{parts[1]}'.",
                    f"It gives: {', '.join(sorted(declared))}.",
                    step,
                    edge,
                )


def _steps(d: Definition, around: Surroundings) -> Iterator[Problem]:
    for s in d.steps:
        match s.config:
            case ActivityConfig() as config:
                yield from _activity(s, config, around)
            case ApprovalConfig() as config:
                yield from _approval(s, config, around)
            case WaitConfig() as config:
                yield from _wait(d, s, config)


def _activity(s: Step, c: ActivityConfig, around: Surroundings) -> Iterator[Problem]:
    if not c.connector:
        yield Problem("no_connector", f"Activity '{s.label}' calls nothing.", "Choose a connector.", s.id)
    elif around.connectors is not None and c.connector not in around.connectors:
        known = ", ".join(sorted(around.connectors)) or "none"
        yield Problem(
            "missing_connector",
            f"Activity '{s.label}' calls '{c.connector[:80]}', which is not installed.",
            f"Installed: {known}.",
            s.id,
        )
    if c.retry.max_attempts < 1 or c.retry.max_attempts > 100:
        yield Problem("bad_retry", f"'{s.label}' must try between 1 and 100 times.", "Correct the attempts.", s.id)
    if c.retry.initial_s < 0 or c.retry.multiplier < 1 or not 0 <= c.retry.jitter <= 1 or c.retry.cap_s < 0:
        yield Problem("bad_retry", f"The retry pauses of '{s.label}' make no sense.", "Use positive values.", s.id)
    if c.timeouts.run_s <= 0 or c.timeouts.heartbeat_s < 1:
        yield Problem(
            "bad_timeout",
            f"'{s.label}' needs a run time above 0 s and a heartbeat of at least 1 s.",
            "Give it longer.",
            s.id,
        )
    if c.retry.total_s is not None and c.retry.total_s < c.timeouts.run_s:
        yield Problem(
            "timeout_too_short",
            f"The total time of '{s.label}' ({c.retry.total_s:g} s) is shorter than one attempt ({c.timeouts.run_s:g} s).",
            "Lengthen the total time or shorten the attempt.",
            s.id,
        )
    for path, text in _texts(c.input):
        key = path.rsplit(".", 1)[-1].lower().replace("-", "_")
        if _SECRET.search(text) or (key in _SECRET_KEYS and not text.startswith("=") and not text.startswith("secret:")):
            yield Problem(
                "plain_secret",
                f"'{path}' of '{s.label}' looks like a secret written in plain text.",
                "Store it outside and refer to it as secret:NAME.",
                s.id,
            )


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from _texts(v, f"{path}.{k}".lstrip("."))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from _texts(v, f"{path}[{i}]")


def _approval(s: Step, c: ApprovalConfig, around: Surroundings) -> Iterator[Problem]:
    if not c.groups and not c.people:
        yield Problem("no_approvers", f"Nobody is asked in approval '{s.label}'.", "Name a group or people.", s.id)
    if around.groups is not None:
        for g in c.groups:
            if g not in around.groups:
                known = ", ".join(sorted(around.groups)) or "none"
                yield Problem("unknown_group", f"'{s.label}' asks the group '{g}', which does not exist.", f"Groups: {known}.", s.id)
            elif around.group_sizes.get(g) == 0:
                yield Problem("empty_group", f"'{s.label}' asks the group '{g}', which has no members.", "Add members.", s.id)
    if around.people is not None:
        for p in c.people:
            if p not in around.people:
                yield Problem("unknown_person", f"'{s.label}' asks '{p}', who has no account.", "Correct the login.", s.id)
    if c.required < 0:
        yield Problem("bad_quorum", f"'{s.label}' needs a negative number of approvals.", "Use 1 or more; 0 means all.", s.id)
    if not c.groups and c.people and c.required > len(set(c.people)):
        yield Problem(
            "quorum_unreachable",
            f"'{s.label}' needs {c.required} approvals but asks only {len(set(c.people))} people.",
            "Ask more people or need fewer approvals.",
            s.id,
        )
    for word in c.comment_required_on:
        if word not in {o.value for o in OUTCOMES[s.kind]}:
            yield Problem("unknown_outcome", f"'{s.label}' wants a comment on '{word}', which cannot happen.", "Correct it.", s.id)
    if c.expires:
        yield from _duration(s, c.expires)


def _wait(d: Definition, s: Step, c: WaitConfig) -> Iterator[Problem]:
    if bool(c.duration) == bool(c.until):
        yield Problem("bad_wait", f"'{s.label}' needs either a duration or a date and time.", "Give exactly one.", s.id)
    if c.duration:
        yield from _duration(s, c.duration)
    zone = find_zone(d.policies.zone)
    if c.until and not c.until.startswith("=") and zone:
        try:
            parse_local(c.until, zone)
        except ValueError as error:
            yield Problem("bad_time", f"In '{s.label}': {error}", "Correct the date and time.", s.id)


def _duration(s: Step, text: str) -> Iterator[Problem]:
    try:
        duration = parse_duration(text)
    except ValueError as error:
        yield Problem("bad_duration", f"In '{s.label}': {error}", "Correct the duration.", s.id)
        return
    if duration.is_zero:
        yield Problem("bad_duration", f"In '{s.label}': '{text}' waits for nothing.", "Give a longer duration.", s.id)
