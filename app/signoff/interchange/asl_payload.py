"""Payload templates, paths and JSONata of Step Functions as documents (`asl_data`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from signoff.interchange.asl_data import Cel, Doc, Literal, Made, Many, Unknown, parse_path, select, to_cel
from signoff.interchange.comparisons import translate_condition
from signoff.interchange.translated import CannotExpress

_JSONATA = re.compile(r"\{%\s*(.*?)\s*%\}", re.S)
_NAME = re.compile(r"\$[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class World:
    """What a state can read.

    Attributes:
        doc: its input.
        variables: of the machine, by name.
        start: the machine's own input (`$$.Execution.Input`).
        result: what its work gave, where that is over.
        error: what it failed with, where that is handled.
        item: of a map, inside its iterations.
        token: the key of the message that it waits for, where it calls back.
    """

    doc: Doc
    variables: Mapping[str, Doc] = field(default_factory=dict)
    start: Doc = field(default_factory=lambda: Cel("input.data"))
    result: Doc | None = None
    error: Doc | None = None
    item: Doc | None = None
    token: Doc | None = None


def read_path(text: object, world: World) -> Doc:
    """A path of the data (`$.a`), of the context (`$$.a`) or of a variable (`$name.a`)."""
    if not isinstance(text, str) or not text.startswith("$"):
        return Unknown(f"the path {text!r:.60}")
    try:
        if text.startswith("$$"):
            return _context(parse_path(text[1:]), world)
        if match := _NAME.match(text):
            known = world.variables.get(match.group()[1:])
            rest = parse_path("$" + text[match.end() :])
            return Unknown(f"the variable '{match.group()}'") if known is None else select(known, rest)
        return select(world.doc, parse_path(text))
    except CannotExpress as error:
        return Unknown(str(error))


def _context(parts: tuple[str | int, ...], world: World) -> Doc:
    match parts:
        case ("Execution", "Input", *rest):
            return select(world.start, tuple(rest))
        case ("Execution", "Id") | ("Execution", "Name"):
            return Cel("run.id")
        case ("Task", "Token") if world.token is not None:
            return world.token
        case ("Map", "Item", "Value", *rest) if world.item is not None:
            return select(world.item, tuple(rest))
        case ("Map", "Item", "Index") if world.item is not None:
            return Cel("index")
        case _:
            return Unknown(f"the context value '$${'.'.join(['', *map(str, parts)])}'")


def payload(template: Any, world: World) -> Doc:
    """A payload template: members whose name ends with `.$` are paths or intrinsic functions."""
    if isinstance(template, dict):
        members: dict[str, Doc] = {}
        for key, value in template.items():
            if key.endswith(".$"):
                members[key[:-2]] = dynamic(value, world)
            else:
                members[key] = payload(value, world)
        return Made(members)
    if isinstance(template, list):
        return Many(tuple(payload(v, world) for v in template))
    return Literal(template)


def dynamic(text: object, world: World) -> Doc:
    """A path, or one of the intrinsic functions that CEL can do as well."""
    if isinstance(text, str) and text.startswith("States."):
        return _intrinsic(text, world)
    return read_path(text, world)


def _intrinsic(text: str, world: World) -> Doc:
    name, _, rest = text[len("States.") :].partition("(")
    unknown = Unknown(f"the function States.{name}")
    if not rest.endswith(")"):
        return unknown
    try:
        given = [_argument(a, world) for a in _split(rest[:-1])]
        words = [to_cel(a) for a in given]
    except CannotExpress:
        return unknown
    match name, given, words:
        case "Array", _, _:
            return Many(tuple(given))
        case "ArrayLength", _, [listed]:
            return Cel(f"size({listed})")
        case "ArrayContains", _, [listed, item]:
            return Cel(f"({item} in {listed})")
        case "ArrayGetItem", _, [listed, at]:
            return Cel(f"{listed}[{at}]")
        case "Format", [Literal(str(form)), *_], [_, *values] if form.count("{}") == len(values) and "\\" not in form:
            texts = form.split("{}")
            parts = [to_cel(Literal(texts[0]))]
            for value, after in zip(values, texts[1:], strict=True):
                parts += [_text_of(value), to_cel(Literal(after))]
            return Cel("(" + " + ".join(p for p in parts if p != '""') + ")")
        case _:
            return unknown


def _text_of(value: str) -> str:
    """CEL writes numbers and texts as texts, but neither null nor true nor false."""
    if value.startswith('"'):
        return value
    told = f'{value} == true ? "true" : ({value} == false ? "false" : string({value}))'
    return f'({value} == null ? "null" : ({told}))'


def _argument(text: str, world: World) -> Doc:
    text = text.strip()
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return Literal(text[1:-1])
    if re.fullmatch(r"-?\d+", text):
        return Literal(int(text))
    if text in ("true", "false", "null"):
        return Literal({"true": True, "false": False, "null": None}[text])
    return dynamic(text, world)


def _split(text: str) -> list[str]:
    parts, depth, quoted, began = [], 0, False, 0
    for i, char in enumerate(text):
        if char == "'" and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif not quoted:
            depth += (char in "([") - (char in ")]")
            if char == "," and not depth:
                parts.append(text[began:i])
                began = i + 1
    last = text[began:]
    return [*parts, last] if last.strip() or parts else []


def jsonata(value: Any, world: World) -> Doc:
    """A value of a JSONata machine: texts in `{% %}` are expressions, of which paths and comparisons are known."""
    if isinstance(value, dict):
        return Made({k: jsonata(v, world) for k, v in value.items()})
    if isinstance(value, list):
        return Many(tuple(jsonata(v, world) for v in value))
    if isinstance(value, str) and (match := _JSONATA.fullmatch(value.strip())):
        return _jsonata_text(match[1], world)
    return Literal(value)


def _jsonata_text(text: str, world: World) -> Doc:
    try:
        if re.fullmatch(r"\$[\w.\[\]$]*", text):
            return _jsonata_path(text, world)
        if re.fullmatch(r"-?\d+|\"[^\"\\]*\"|'[^'\\]*'|true|false|null", text):
            return _argument(text.replace('"', "'"), world)
        return Cel(f"({translate_condition(text, lambda parts, _: to_cel(_jsonata_parts(parts, world)))})")
    except CannotExpress:
        return Unknown(f"the expression '{' '.join(text.split())[:60]}'")


def _jsonata_path(text: str, world: World) -> Doc:
    head, _, rest = text.partition(".")
    return _jsonata_parts((head, *parse_path("$." + rest)) if rest else (head,), world)


def _jsonata_parts(parts: tuple[str | int, ...], world: World) -> Doc:
    match parts:
        case ("$states", "input", *rest):
            return select(world.doc, tuple(rest))
        case ("$states", "result", *rest) if world.result is not None:
            return select(world.result, tuple(rest))
        case ("$states", "errorOutput", *rest) if world.error is not None:
            return select(world.error, tuple(rest))
        case ("$states", "context", *rest):
            return _context(tuple(rest), world)
        case (str(name), *rest) if name.startswith("$") and name[1:] in world.variables:
            return select(world.variables[name[1:]], tuple(rest))
        case _:
            return Unknown(f"the value '{'.'.join(map(str, parts))[:60]}'")
