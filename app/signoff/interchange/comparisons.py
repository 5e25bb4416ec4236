"""Simple conditions of foreign languages (JUEL, Python, JSONata, JavaScript, Pebble) as CEL.

All of these write comparisons, `and`, `or`, `not`, names and literals nearly alike. Whatever is more than that is
refused, never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from signoff.interchange.cel import literal
from signoff.interchange.translated import CannotExpress

MAX_CONDITION_CHARS = 1_000
MAX_NESTING = 20

Resolve = Callable[[tuple[str | int, ...], Any], str]
"""From a path of names, and a literal it is compared with (None: no literal; True: used as a condition), to CEL."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)(?![\w])"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<name>\$?\$?[A-Za-z_]\w*)"
    r"|(?P<op>===|!==|==|!=|<>|<=|>=|&&|\|\||[=<>!().\[\]]))"
)
_COMPARE = {
    "==": "==", "=": "==", "===": "==", "eq": "==", "is": "==", "!=": "!=", "!==": "!=", "<>": "!=", "ne": "!=",
    "<": "<", "lt": "<", "<=": "<=", "le": "<=", ">": ">", "gt": ">", ">=": ">=", "ge": ">=",
}  # fmt: skip
_AND, _OR, _NOT = {"&&", "and"}, {"||", "or"}, {"!", "not"}
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


@dataclass(frozen=True, slots=True)
class _Operand:
    """A literal, a path, or CEL that is already a condition."""

    value: Any = None
    path: tuple[str | int, ...] = ()
    condition: str = ""

    @property
    def is_literal(self) -> bool:
        return not self.path and not self.condition


def translate_condition(source: str, resolve: Resolve) -> str:
    """One condition as CEL.

    Raises:
        CannotExpress: it is more than comparisons of names and literals.
    """
    if len(source) > MAX_CONDITION_CHARS:
        raise CannotExpress("a very long condition")
    parser = _Parser(_tokens(source), resolve, source)
    made = parser.any_of(0)
    if parser.rest:
        raise CannotExpress(f"the condition '{_short(source)}'")
    return parser.as_condition(made)


def _short(source: str) -> str:
    return " ".join(source.split())[:80]


def _tokens(source: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = source.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise CannotExpress(f"the condition '{_short(source)}'")
        tokens.append((str(match.lastgroup), match.group(str(match.lastgroup))))
        at = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], resolve: Resolve, source: str) -> None:
        self.rest, self._resolve, self._source = tokens, resolve, source

    def _fail(self) -> CannotExpress:
        return CannotExpress(f"the condition '{_short(self._source)}'")

    def _next_is(self, words: set[str]) -> bool:
        return bool(self.rest) and self.rest[0][0] in ("op", "name") and self.rest[0][1] in words

    def _take(self) -> tuple[str, str]:
        if not self.rest:
            raise self._fail()
        return self.rest.pop(0)

    def any_of(self, depth: int) -> _Operand:
        """Conditions joined by `or`."""
        if depth > MAX_NESTING:
            raise self._fail()
        made = self._all_of(depth)
        while self._next_is(_OR):
            self._take()
            other = self._all_of(depth)
            made = _Operand(condition=f"({self.as_condition(made)}) || ({self.as_condition(other)})")
        return made

    def _all_of(self, depth: int) -> _Operand:
        made = self._one(depth)
        while self._next_is(_AND):
            self._take()
            other = self._one(depth)
            made = _Operand(condition=f"({self.as_condition(made)}) && ({self.as_condition(other)})")
        return made

    def _one(self, depth: int) -> _Operand:
        if self._next_is(_NOT):
            self._take()
            if depth > MAX_NESTING:
                raise self._fail()
            return _Operand(condition=f"!({self.as_condition(self._one(depth + 1))})")
        left = self._operand(depth)
        if self.rest and self.rest[0][1] in _COMPARE and self.rest[0][0] != "text":
            word = _COMPARE[self._take()[1]]
            return self._compare(left, word, self._operand(depth))
        return left

    def _compare(self, left: _Operand, word: str, right: _Operand) -> _Operand:
        if left.is_literal and right.is_literal:
            raise self._fail()
        if word == "!=" and self._next_is(_NOT):
            raise self._fail()
        sides = [self._side(left, right), self._side(right, left)]
        return _Operand(condition=f"{sides[0]} {word} {sides[1]}")

    def _side(self, mine: _Operand, other: _Operand) -> str:
        if mine.condition:
            return f"({mine.condition})"
        if mine.path:
            return self._resolve(mine.path, other.value if other.is_literal else None)
        return literal(mine.value)

    def _operand(self, depth: int) -> _Operand:
        kind, text = self._take()
        if kind == "number":
            return _Operand(json.loads(text))
        if kind == "text":
            return _Operand(re.sub(r"\\(.)", r"\1", text[1:-1]))
        if (kind, text) == ("op", "("):
            made = self.any_of(depth + 1)
            if self._take()[1] != ")":
                raise self._fail()
            return made
        if kind != "name" or text in _AND | _OR | set(_COMPARE):
            raise self._fail()
        if text in _CONSTANTS:
            return _Operand(_CONSTANTS[text])
        return _Operand(path=self._path(text))

    def _path(self, first: str) -> tuple[str | int, ...]:
        parts: list[str | int] = [first]
        while self.rest and self.rest[0] in (("op", "."), ("op", "["), ("op", "(")):
            opened = self._take()[1]
            if opened == "(":
                raise self._fail()
            kind, text = self._take()
            if opened == ".":
                if kind != "name":
                    raise self._fail()
                parts.append(text)
            else:
                if kind not in ("number", "text") or self._take()[1] != "]":
                    raise self._fail()
                parts.append(int(text) if kind == "number" and text.isdigit() else text[1:-1])
        return tuple(parts)

    def as_condition(self, made: _Operand) -> str:
        """A path used as a condition is resolved as one; a literal becomes true or false."""
        if made.condition:
            return made.condition
        if made.path:
            return self._resolve(made.path, True)
        if isinstance(made.value, bool):
            return literal(made.value)
        raise self._fail()
