"""What the data of a state machine are at each state: known statically as CEL, as an object, or as a mixture.

A Step Functions state gets one JSON document and gives one. Here a document is a `Doc`; selecting a path of it and
writing it as a mapping or as CEL is all that translating needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signoff.interchange.cel import literal, path
from signoff.interchange.translated import CannotExpress


@dataclass(frozen=True, slots=True)
class Cel:
    """Whatever this expression gives."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is known."""

    value: Any


@dataclass(frozen=True, slots=True)
class Made:
    """An object whose members are known."""

    members: Mapping[str, Doc]


@dataclass(frozen=True, slots=True)
class Many:
    """A list whose items are known."""

    items: tuple[Doc, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """A document with another one laid over it at a path (ResultPath)."""

    base: Doc
    at: tuple[str, ...]
    value: Doc


@dataclass(frozen=True, slots=True)
class Several:
    """Where ways come together: each with a condition that tells whether it was taken, empty where none can tell."""

    ways: tuple[tuple[str, Doc], ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known; `why` names what was not understood."""

    why: str


Doc = Cel | Literal | Made | Many | Over | Several | Unknown

_PATH_PART = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


def parse_path(text: str) -> tuple[str | int, ...]:
    """The parts of a reference path `$.a.b[0]`.

    Raises:
        CannotExpress: filters, wildcards, slices.
    """
    parts: list[str | int] = []
    at = 1
    while at < len(text):
        match = _PATH_PART.match(text, at)
        if not match:
            raise CannotExpress(f"the path '{text[:60]}'")
        name = next((match[n] for n in (1, 3, 4) if match[n] is not None), None)
        parts.append(int(match[2]) if name is None else name)
        at = match.end()
    return tuple(parts)


def select(doc: Doc, parts: tuple[str | int, ...]) -> Doc:
    """What stands at a path of a document."""
    for number, part in enumerate(parts):
        match doc:
            case Cel(text):
                doc = Cel(path(text, [part]))
            case Made(members) if isinstance(part, str):
                doc = members[part] if part in members else Unknown(f"'{part}', which is not there")
            case Many(items) if isinstance(part, int) and part < len(items):
                doc = items[part]
            case Literal(value):
                try:
                    doc = Literal(value[part])
                except (LookupError, TypeError):
                    return Unknown(f"'{part}', which is not there")
            case Over(base, at, value):
                rest = parts[number:]
                if rest[: len(at)] == at:
                    return select(value, rest[len(at) :])
                if at[: len(rest)] == rest:
                    return Over(select(base, rest), at[len(rest) :], value)
                return select(base, rest)
            case Several(ways):
                return merged([(taken, select(way, parts[number:])) for taken, way in ways])
            case Unknown():
                return doc
            case _:
                return Unknown(f"'{part}', which is not there")
    return doc


def lay_over(base: Doc, at: tuple[str, ...], value: Doc) -> Doc:
    """The document with a value at a path."""
    if not at:
        return value
    if isinstance(base, Literal) and isinstance(base.value, dict):
        base = Made({k: Literal(v) for k, v in base.value.items()})
    if isinstance(base, Made):
        below = base.members.get(at[0], Made({}))
        return Made({**base.members, at[0]: lay_over(below, at[1:], value)})
    return Over(base, at, value)


def to_cel(doc: Doc) -> str:
    """The document as one expression.

    Raises:
        CannotExpress: it would need two objects to be merged, or is not known.
    """
    match doc:
        case Cel(text):
            return text
        case Literal(value):
            return literal(value)
        case Made(members):
            return "{" + ", ".join(f"{literal(k)}: {to_cel(v)}" for k, v in members.items()) + "}"
        case Many(items):
            return "[" + ", ".join(to_cel(v) for v in items) + "]"
        case Over():
            raise CannotExpress("an object with a result laid over it")
        case Several(ways):
            return _which(ways)
        case Unknown(why):
            raise CannotExpress(why)


def to_template(doc: Doc) -> Any:
    """The document as a mapping in which texts that begin with `=` are expressions.

    Raises:
        CannotExpress: as `to_cel`.
    """
    match doc:
        case Literal(value):
            return escaped(value)
        case Made(members):
            return {k: to_template(v) for k, v in members.items()}
        case Many(items):
            return [to_template(v) for v in items]
        case _:
            return f"={to_cel(doc)}"


def escaped(value: Any) -> Any:
    """A literal for a mapping: texts that begin with `=` get another one."""
    if isinstance(value, str):
        return f"={value}" if value.startswith("=") else value
    if isinstance(value, dict):
        return {k: escaped(v) for k, v in value.items()}
    return [escaped(v) for v in value] if isinstance(value, list) else value


def in_parts(doc: Doc) -> dict[str, Any] | None:
    """An object with results laid over it, as a mapping of its parts: `data` is what they lie on."""
    parts: dict[str, Any] = {}
    while isinstance(doc, Over):
        try:
            parts.setdefault(".".join(doc.at), to_template(doc.value))
        except CannotExpress:
            return None
        doc = doc.base
    try:
        return {"data": to_template(doc), **parts}
    except CannotExpress:
        return None


def merged(docs: list[tuple[str, Doc]]) -> Doc:
    """What is known where several ways come together; each with a condition that tells whether it was taken."""
    first = docs[0][1]
    return first if all(d == first for _, d in docs) else Several(tuple(docs))


def _which(ways: tuple[tuple[str, Doc], ...]) -> str:
    """The value of the way that was taken, as one expression; at most one way may have nothing that tells."""
    told = sorted(ways, key=lambda x: not x[0])
    if sum(not taken for taken, _ in told) > 1:
        raise CannotExpress("data that come from several ways")
    text = to_cel(told[-1][1])
    for taken, doc in reversed(told[:-1]):
        text = f"{taken} ? {to_cel(doc)} : {text}"
    return f"({text})"
