"""Connections: known ends and outcomes, no doubles, no cycles, everything reachable."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import OUTCOMES, Definition, Edge, Join, Step
from signoff.core.graph import all_cycle_paths, longest_path_length, reachable_from
from signoff.core.plan import successors_of
from signoff.core.problem import Problem

ANY = "any"


def check_edges(d: Definition, _: Surroundings) -> Iterator[Problem]:
    """Each connection by itself and beside its siblings."""
    steps = {s.id: s for s in d.steps}
    seen: set[tuple[str, str, str]] = set()
    for e in d.edges:
        yield from _ends(e, steps)
        same = (e.source, e.target, followed(e, steps))
        if same in seen:
            yield Problem(
                "duplicate_edge",
                f"{_pair(e, steps)} are connected twice in the same way.",
                "Remove one, or join their conditions with ||.",
                edge=e.key,
            )
        seen.add(same)
        if e.otherwise:
            yield from _otherwise(d, e, steps)


def followed(e: Edge, steps: dict[str, Step]) -> str:
    """The outcome an edge follows, with the default written out."""
    source = steps.get(e.source)
    return e.on or (source.good_outcome.value if source else "")


def _ends(e: Edge, steps: dict[str, Step]) -> Iterator[Problem]:
    for end in dict.fromkeys((e.source, e.target)):
        if end not in steps:
            yield Problem(
                "unknown_step",
                f"The connection '{e.key}' names the step '{end[:60]}', which does not exist.",
                "Connect it to a step or remove it.",
                edge=e.key,
            )
    source = steps.get(e.source)
    if source and e.on and e.on != ANY and e.on not in {o.value for o in OUTCOMES[source.kind]}:
        allowed = ", ".join(o.value for o in OUTCOMES[source.kind])
        yield Problem(
            "unknown_outcome",
            f"The connection from '{source.label}' follows '{e.on[:40]}', which cannot happen there.",
            f"Follow one of: {allowed}, any.",
            edge=e.key,
        )


def _otherwise(d: Definition, e: Edge, steps: dict[str, Step]) -> Iterator[Problem]:
    if e.when:
        message = f"The connection between {_pair(e, steps)} has a condition and is 'otherwise'."
        yield Problem("otherwise_with_when", message, "Keep one of the two.", edge=e.key)
    mine = followed(e, steps)
    siblings = [o for o in d.edges if o.source == e.source and o.when]
    if not any(ANY in (mine, followed(o, steps)) or followed(o, steps) == mine for o in siblings):
        yield Problem(
            "lonely_otherwise",
            f"The connection between {_pair(e, steps)} is 'otherwise', but no sibling has a condition.",
            "Give a sibling a condition or clear 'otherwise'.",
            edge=e.key,
        )


def _pair(e: Edge, steps: dict[str, Step]) -> str:
    names = [steps[i].label if i in steps else i for i in (e.source, e.target)]
    return f"'{names[0]}' and '{names[1]}'"


def check_shape(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """The graph as a whole."""
    graph = successors_of(d)
    label = {s.id: s.label for s in d.steps}
    cycles = all_cycle_paths(graph)
    for path in cycles:
        yield Problem(
            "cycle",
            "The steps form a cycle: " + " → ".join(label[i] for i in path) + ".",
            "Remove one of these connections; to send work back, let an approval return it.",
            step=path[0],
        )
    if cycles:
        return
    targets = {e.target for e in d.edges}
    reached = reachable_from(graph, [i for i in graph if i not in targets])
    sources = {e.source for e in d.edges}
    for i in graph:
        if i not in reached:
            yield Problem("unreachable", f"Step '{label[i]}' can never be reached.", "Connect it.", step=i)
        elif len(graph) > 1 and i not in targets and i not in sources:
            message = f"Step '{label[i]}' is not connected to anything, so it begins with the run."
            remedy = "Connect it if that is not meant."
            yield Problem("unconnected", message, remedy, step=i, severity="warning")
    if graph and longest_path_length(graph) > around.limits.depth:
        message = f"The longest branch has more than {around.limits.depth} steps."
        yield Problem("too_deep", message, "Shorten it, or let steps run beside each other.")
    yield from _ends_of_branches(d)
    yield from _joins_without(d)


def _ends_of_branches(d: Definition) -> Iterator[Problem]:
    for s in d.steps:
        good = [e for e in d.edges if e.source == s.id and e.on in ("", ANY, s.good_outcome.value)]
        if good and all(e.when for e in good):
            yield Problem(
                "may_end_here",
                f"If no condition after '{s.label}' is true, that branch ends there.",
                "Add a connection marked 'otherwise' if that is not meant.",
                step=s.id,
                severity="warning",
            )


def _joins_without(d: Definition) -> Iterator[Problem]:
    """A join of all goes on without a branch whose bad end is handled elsewhere; few authors expect that."""
    label = {s.id: s.label for s in d.steps}
    good = {s.id: ("", s.good_outcome.value) for s in d.steps}
    for s in d.steps:
        into = [e for e in d.edges if e.target == s.id and e.source in good]
        if s.join is not Join.ALL or len({e.source for e in into}) < 2:
            continue
        for e in into:
            bad = [o for o in d.edges if o.source == e.source and o.on not in (*good[e.source], ANY)]
            if e.on in good[e.source] and bad:
                ends = " or ".join(dict.fromkeys(f"'{o.on}'" for o in bad))
                yield Problem(
                    "joins_without",
                    f"If '{label[e.source]}' ends as {ends}, that is handled elsewhere, "
                    f"and '{s.label}' can begin without it.",
                    "If that is not meant, follow the bad end with an optional connection (any) and a condition.",
                    edge=e.key,
                    severity="warning",
                )
