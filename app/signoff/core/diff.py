"""What differs between two definitions, in words a business user reads. Pure.

It walks the dataclasses of the definition, so that a field added to any of them is compared and named by itself:
its words come from its name (`max_attempts` reads "max attempts", a name that ends in `_s` counts seconds).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any

from signoff.core.definition import Definition, Edge, Step

_WORDS = {
    "groups": "groups asked",
    "people": "people asked",
    "shows": "shown to approvers",
    "expires": "expiry",
    "connector": "connector",
    "effect": "effect contract",
    "input": "input",
    "until": "waits until",
    "skip": "skip rule",
    "zone": "time zone",
    "failure": "when a step fails",
    "on": "outcome followed",
    "when": "condition",
    "otherwise": "otherwise",
    "config": "",
}
"""Better words than a field's own name, where there are some. Nothing needs to be listed here."""
_LONG = 120


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        what: `step_added`, `step_removed`, `step_renamed`, `step_changed`, `edge_added`, `edge_removed`,
            `edge_changed`, `input_added`, `input_removed`, `input_changed`, `order_changed` or `definition_changed`.
        sentence: for people.
        step: id of the step in the newer definition (in the older one where it was removed), or "".
        edge: key of the edge, likewise.
        name: path of the field, for example `retry.max_attempts`.
        before: the older value as JSON, None where there was none.
        after: the newer value.
    """

    what: str
    sentence: str
    step: str = ""
    edge: str = ""
    name: str = ""
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class _Piece:
    name: str
    before: Any
    after: Any
    words: str


def compare(old: Definition, new: Definition) -> tuple[Change, ...]:
    """Every difference from `old` to `new`: the whole, the input form, steps, ways between them."""
    renamed = match_steps(old, new)
    return (
        *_whole(old, new),
        *_inputs(old, new),
        *_steps(old, new, renamed),
        *_edges(old, new, renamed),
    )


def match_steps(old: Definition, new: Definition) -> dict[str, str]:
    """Old id to new id of the steps that are in both: by id, else by an equal label or content of the same kind."""
    found = {s.id: s.id for s in old.steps if new.find_step(s.id)}
    left = [s for s in new.steps if s.id not in found]
    for step in old.steps:
        if step.id in found:
            continue
        alike = [s for s in left if s.kind is step.kind and (s.label == step.label or s.config == step.config)]
        if len(alike) == 1:
            found[step.id] = alike[0].id
            left.remove(alike[0])
    return found


def _whole(old: Definition, new: Definition) -> Iterator[Change]:
    for name in ("name", "title", "description"):
        a, b = getattr(old, name), getattr(new, name)
        if a != b:
            yield Change("definition_changed", f"The {name} is {_to(a, b)}.", name=name, before=a, after=b)
    for p in _pieces(old.policies, new.policies, ""):
        yield Change(
            "definition_changed", f"For the whole process: {p.words}.", name=p.name, before=p.before, after=p.after
        )
    known = {"name", "title", "description", "input", "steps", "edges", "policies"}
    for f in fields(Definition):
        if f.name not in known and getattr(old, f.name) != getattr(new, f.name):
            for p in _pieces_of(getattr(old, f.name), getattr(new, f.name), f.name):
                sentence = f"For the whole process: {p.words}."
                yield Change("definition_changed", sentence, name=p.name, before=p.before, after=p.after)


def _inputs(old: Definition, new: Definition) -> Iterator[Change]:
    before, after = {f.name: f for f in old.input}, {f.name: f for f in new.input}
    for name, field in before.items():
        shown = field.label or name
        if name not in after:
            yield Change(
                "input_removed", f"The start form no longer asks for '{shown}'.", name=name, before=plain(field)
            )
            continue
        for p in _pieces(field, after[name], ""):
            sentence = f"In the start form, '{after[name].label or name}': {p.words}."
            yield Change("input_changed", sentence, name=f"{name}.{p.name}", before=p.before, after=p.after)
    for name, field in after.items():
        if name not in before:
            need = "" if field.required else " (optional)"
            sentence = f"The start form asks for '{field.label or name}'{need}."
            yield Change("input_added", sentence, name=name, after=plain(field))


def _steps(old: Definition, new: Definition, same: Mapping[str, str]) -> Iterator[Change]:
    for step in old.steps:
        if step.id not in same:
            sentence = f"Removed the {_kind(step)} '{step.label}'."
            yield Change("step_removed", sentence, step=step.id, before=plain(step))
    kept = set(same.values())
    for step in new.steps:
        if step.id not in kept:
            yield Change("step_added", f"Added the {_kind(step)} '{step.label}'.", step=step.id, after=plain(step))
    for step in old.steps:
        after = new.find_step(same.get(step.id, ""))
        if after is not None:
            yield from _step(step, after)
    order = [same[s.id] for s in old.steps if s.id in same]
    if order != [s.id for s in new.steps if s.id in kept]:
        yield Change("order_changed", "The steps are listed in another order.", name="steps", before=order)


def _step(old: Step, new: Step) -> Iterator[Change]:
    if old.id != new.id:
        sentence = f"'{new.label}' has the new id '{new.id}' (was '{old.id}')."
        yield Change("step_renamed", sentence, step=new.id, name="id", before=old.id, after=new.id)
    if old.label != new.label:
        sentence = f"'{old.label}' is now called '{new.label}'."
        yield Change("step_renamed", sentence, step=new.id, name="label", before=old.label, after=new.label)
    if old.kind is not new.kind:
        sentence = f"'{new.label}' is now {_a(_kind(new))} (was {_a(_kind(old))})."
        yield Change("step_changed", sentence, step=new.id, name="kind", before=str(old.kind), after=str(new.kind))
        return
    for f in fields(Step):
        if f.name in ("id", "label"):
            continue
        inner = "" if f.name == "config" else f.name
        for p in _pieces_of(getattr(old, f.name), getattr(new, f.name), inner):
            sentence = f"'{new.label}': {p.words}."
            yield Change("step_changed", sentence, step=new.id, name=p.name, before=p.before, after=p.after)


def _edges(old: Definition, new: Definition, same: Mapping[str, str]) -> Iterator[Change]:
    before = {(same.get(e.source, f"-{e.source}"), same.get(e.target, f"-{e.target}"), e.on): e for e in old.edges}
    after = {(e.source, e.target, e.on): e for e in new.edges}
    gone = {k: e for k, e in before.items() if k not in after}
    come = {k: e for k, e in after.items() if k not in before}
    for key, edge in list(gone.items()):
        moved = [k for k in come if k[:2] == key[:2]]
        if len(moved) == 1 and sum(k[:2] == key[:2] for k in gone) == 1:
            yield from _edge(new, edge, come.pop(moved[0]))
            del gone[key]
    for edge in gone.values():
        yield Change("edge_removed", f"Removed the way {way_words(old, edge)}.", edge=edge.key, before=plain(edge))
    for edge in come.values():
        yield Change("edge_added", f"Added the way {way_words(new, edge)}.", edge=edge.key, after=plain(edge))
    for key, edge in before.items():
        if key in after:
            yield from _edge(new, edge, after[key])


def _edge(new: Definition, old_edge: Edge, edge: Edge) -> Iterator[Change]:
    for f in fields(Edge):
        if f.name in ("source", "target"):
            continue
        for p in _pieces_of(getattr(old_edge, f.name), getattr(edge, f.name), f.name):
            sentence = f"The way {_ends(new, edge)}: {p.words}."
            yield Change("edge_changed", sentence, edge=edge.key, name=p.name, before=p.before, after=p.after)


def way_words(definition: Definition, edge: Edge) -> str:
    """An edge in words: from where to where, after which outcome, under which condition."""
    on = f" after '{edge.on}'" if edge.on else ""
    when = f" when {edge.when}" if edge.when else " otherwise" if edge.otherwise else ""
    return f"{_ends(definition, edge)}{on}{when}"


def _ends(definition: Definition, edge: Edge) -> str:
    names = [found.label if (found := definition.find_step(i)) else i for i in (edge.source, edge.target)]
    return f"from '{names[0]}' to '{names[1]}'"


def _pieces(old: Any, new: Any, path: str) -> Iterator[_Piece]:
    """Differences of two dataclasses of the same type, field by field."""
    for f in fields(old):
        yield from _pieces_of(getattr(old, f.name), getattr(new, f.name), f"{path}.{f.name}".lstrip("."))


def _pieces_of(a: Any, b: Any, path: str) -> Iterator[_Piece]:
    if a == b:
        return
    if is_dataclass(a) and type(a) is type(b):
        yield from _pieces(a, b, path)
    elif isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            if a.get(key) != b.get(key) or (key in a) is not (key in b):
                yield from _pieces_of(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(a, tuple) and isinstance(b, tuple):
        yield from _rows(a, b, path)
    else:
        count = path.rpartition(".")[2] == "required" and not isinstance(b, bool)
        words = "approvals needed" if count else _words(path)
        yield _Piece(path, plain(a), plain(b), f"{words} {_to(a, b, path)}".strip())


def _rows(a: tuple[Any, ...], b: tuple[Any, ...], path: str) -> Iterator[_Piece]:
    named = [x for x in (*a, *b) if is_dataclass(x)]
    if named and all(hasattr(x, "name") for x in named):
        before, after = {x.name: x for x in a}, {x.name: x for x in b}
        for name in [*before, *(n for n in after if n not in before)]:
            old, new = before.get(name), after.get(name)
            if old is None or new is None:
                words = f"{_words(path)}: {'added' if old is None else 'removed'} '{name}'"
                yield _Piece(f"{path}.{name}", plain(old), plain(new), words)
            else:
                yield from _pieces_of(old, new, f"{path}.{name}")
        return
    gone, come = [x for x in a if x not in b], [x for x in b if x not in a]
    said = [f"{word} {_value(tuple(x), path)}" for word, x in (("without", gone), ("now with", come)) if x]
    words = " and ".join(said) or "in another order"
    yield _Piece(path, plain(a), plain(b), f"{_words(path)} {words}")


def _words(path: str) -> str:
    """The path of a field in words: `retry.max_attempts` reads "retry, max attempts"."""
    words = []
    for part in path.split("."):
        said = _WORDS.get(part)
        if said is None:
            said = part.removesuffix("_s").replace("_", " ")
        if said:
            words.append(said)
    return ", ".join(words)


def _to(a: Any, b: Any, path: str = "") -> str:
    return f"now {_value(b, path)} (was {_value(a, path)})"


def _value(value: Any, path: str = "") -> str:
    match value:
        case None | "" | () | {}:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case StrEnum():
            return value.value.replace("_", " ")
        case int() | float():
            seconds = path.endswith("_s")
            return f"{value:g} second{'' if value == 1 else 's'}" if seconds else f"{value:g}"
        case tuple() | list():
            return ", ".join(_value(v) for v in value)
        case _:
            text = str(plain(value))
            return f"'{text if len(text) <= _LONG else text[:_LONG] + '…'}'"


def _kind(step: Step) -> str:
    return step.kind.value


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plain(value: Any) -> Any:
    """A value of the definition as JSON data."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value
