"""CEL expressions: compiled once, bounded, and loud about missing or wrongly typed values.

Names an expression may use: `input.<field>`, `steps.<id>.output.<field>`, `steps.<id>.outcome`,
`run.id`, `run.started_by`, `run.business_key`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cel

from signoff.core.cost import MAX_COST, cost_of
from signoff.core.payload import plain_json

MAX_EXPRESSION_CHARS = 2_000
MAX_MACRO_ITEMS = 1_000
SHOWN_CHARS = 200
ROOTS = frozenset({"input", "steps", "run"})

FUNCTIONS = frozenset(
    "size has int uint double string bool bytes contains startsWith endsWith matches timestamp duration type dyn "
    "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds "
    "getMilliseconds min max map filter all exists exists_one".split()
)

_STRING = re.compile(r"r?(\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S)
_MACRO = re.compile(r"\.\s*(?:map|filter|all|exists|exists_one)\s*\($")
_PATH = re.compile(r"(?<![\w.])(input|steps)\b((?:\s*\.\s*[A-Za-z_]\w*)*)")
_EXTRA = re.compile(r"(?<![\w.])(?:answer|call|item|index)\b")
_POSITION = re.compile(r"<input>:(\d+):(\d+): ?(?:Syntax error: )?([^\n]*)")


class ExpressionError(ValueError):
    """An expression cannot be compiled, or could not be evaluated with the values at hand."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.position = position


class ExpressionTypeError(ExpressionError):
    """A value has the wrong type for what the expression does with it."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression.

    Attributes:
        source: as written.
        inputs: input fields it reads; `*` where it reads the whole input.
        steps: (step id, rest of the path) pairs it reads.
        has_macro: whether it goes through a list.
        uses: how often it names a value.
        joins: how many `+` it has.
        roots: which of `input`, `steps`, `run` and the names of its own place it names.
    """

    source: str
    program: Any
    inputs: frozenset[str]
    steps: frozenset[tuple[str, str]]
    has_macro: bool
    roots: frozenset[str]
    uses: int = 1
    joins: int = 0

    @property
    def shown(self) -> str:
        """The source as it stands in messages: a long one is cut."""
        return self.source if len(self.source) <= SHOWN_CHARS else f"{self.source[: SHOWN_CHARS - 1]}…"

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The value as plain JSON-like data.

        Args:
            scope: `input`, `steps`, `run`, and what else its place offers.

        Raises:
            ExpressionError: a value is missing, of the wrong type, or a list is too long.
        """
        if self.has_macro:
            _refuse_long_lists(self._read_from(scope), self.shown)
        named = self._read_from(scope)
        if cost_of(named, uses=self.uses, joins=self.joins, has_macro=self.has_macro) > MAX_COST:
            raise ExpressionError(f"'{self.shown}' would go through too much data; do that in an activity.")
        try:
            value = self.program.execute(named)
        except KeyError as error:
            missing = str(error).strip("'\"")
            raise ExpressionError(f"In '{self.shown}' the value '{missing}' is missing.") from None
        except TypeError:
            message = f"In '{self.shown}' a value has the wrong type for what is done with it."
            raise ExpressionTypeError(message) from None
        except (RuntimeError, ValueError, ArithmeticError, LookupError) as error:
            if "Undefined variable or function" in str(error):  # a known function has no form for this type
                message = f"In '{self.shown}' a value has the wrong type for what is done with it."
                raise ExpressionTypeError(message) from None
            why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise ExpressionError(f"'{self.shown}' could not be evaluated: {why}.") from None
        try:
            return plain_json(value)
        except ValueError as error:
            raise ExpressionError(f"'{self.shown}' gives something that cannot be stored. {error}") from None

    def _read_from(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """Only what the expression names: handing over the rest would cost more than evaluating it."""
        given, steps = scope["input"], scope["steps"]
        named: dict[str, Any] = {}
        if "input" in self.roots:
            named["input"] = given if "*" in self.inputs else {n: given[n] for n in self.inputs if n in given}
        if "steps" in self.roots:
            named["steps"] = {name: steps[name] for name, _ in self.steps if name in steps}
        if "run" in self.roots:
            named["run"] = scope["run"]
        for name in self.roots - ROOTS:
            named[name] = scope[name]
        return named

    def decide(self, scope: Mapping[str, Any]) -> bool:
        """The value of a condition; anything but true or false is an error, never a silent false."""
        value = self.evaluate(scope)
        if not isinstance(value, bool):
            raise ExpressionTypeError(f"'{self.shown}' gives {_kind(value)}, where true or false is needed.")
        return value


def compile_expression(source: str, extra: frozenset[str] = frozenset()) -> Expression:
    """Compile one expression.

    Args:
        source: as written.
        extra: names that its place offers besides `input`, `steps` and `run`.

    Raises:
        ExpressionError: with the position of the fault where the parser knows it.
    """
    if len(source) > MAX_EXPRESSION_CHARS:
        raise ExpressionError(f"The expression is longer than {MAX_EXPRESSION_CHARS} characters.")
    if not source.strip():
        raise ExpressionError("The expression is empty.", 0)
    try:
        program = cel.compile(source)
    except ValueError as error:
        raise _syntax_error(source, str(error)) from None
    except (RuntimeError, RecursionError) as error:
        raise ExpressionError(f"The expression cannot be read: {str(error)[:200]}.") from None
    bare = _STRING.sub(lambda m: '"' + " " * (len(m.group()) - 2) + '"', source)
    has_macro = _check_macros(bare)
    bound = _bound_names(bare)
    roots = ROOTS | extra
    for name in program.variables():
        if name not in roots and name not in bound:
            known = ", ".join(["input", "steps", *sorted(extra)])
            raise ExpressionError(
                f"The name '{name}' is not known; an expression may use {known} and run.", bare.find(name)
            )
    for name in program.functions():
        if name.isidentifier() and not name.startswith("_") and name not in FUNCTIONS:
            raise ExpressionError(f"The function '{name}' is not known.", bare.find(name))
    inputs, steps = _references(bare)
    uses = len(_PATH.findall(bare)) + (len(_EXTRA.findall(bare)) if extra else 0)
    named = roots & set(program.variables()) - (bound - ROOTS)
    return Expression(source, program, inputs, steps, has_macro, named, uses=uses, joins=bare.count("+"))


def _syntax_error(source: str, text: str) -> ExpressionError:
    match = _POSITION.search(text)
    if not match:
        return ExpressionError("The expression cannot be read; perhaps its brackets are too many or not closed.")
    line, column = int(match[1]), int(match[2])
    lines = source.split("\n")
    position = sum(len(x) + 1 for x in lines[: line - 1]) + column - 1
    what = match[3].split(", expecting")[0].split(" expecting")[0].replace("'<EOF>'", "the end of the expression")
    return ExpressionError(f"The expression cannot be read at position {position + 1}: {what[:160]}.", position)


def _check_macros(bare: str) -> bool:
    """True where a list macro is used; nested ones are refused, because their cost has no limit."""
    stack: list[bool] = []
    found = False
    for i, char in enumerate(bare):
        if char in "([{":
            macro = char == "(" and bool(_MACRO.search(bare, 0, i + 1))
            if macro and any(stack):
                raise ExpressionError("List macros (map, filter, all, exists) may not stand inside one another.", i)
            found = found or macro
            stack.append(macro)
        elif char in ")]}" and stack:
            stack.pop()
    return found


def _bound_names(bare: str) -> set[str]:
    return set(re.findall(r"\.\s*(?:map|filter|all|exists|exists_one)\s*\(\s*([A-Za-z_]\w*)\s*,", bare))


def _references(bare: str) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    inputs: set[str] = set()
    steps: set[tuple[str, str]] = set()
    for match in _PATH.finditer(bare):
        parts = [p.strip() for p in match[2].split(".") if p.strip()]
        if match[1] == "input":
            inputs.add(parts[0] if parts else "*")
        elif parts:
            steps.add((parts[0], ".".join(parts[1:])))
        else:
            raise ExpressionError("Write steps by name, for example steps.check.output.", match.start())
    return frozenset(inputs), frozenset(steps)


def _refuse_long_lists(value: Any, source: str) -> None:
    if isinstance(value, Mapping):
        for v in value.values():
            _refuse_long_lists(v, source)
    elif isinstance(value, list):
        if len(value) > MAX_MACRO_ITEMS:
            raise ExpressionError(f"'{source}' would go through a list of more than {MAX_MACRO_ITEMS} items.")
        for v in value:
            _refuse_long_lists(v, source)


def _kind(value: Any) -> str:
    return {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}.get(
        type(value), "nothing" if value is None else "another kind of value"
    )


Template = Callable[[Mapping[str, Any]], Any]


def template_expressions(value: Any, path: str = "") -> list[tuple[str, str]]:
    """All expressions of a mapping as (path, source): texts that begin with `=` (`==` writes a literal `=`)."""
    if isinstance(value, str):
        return [(path, value[1:])] if value.startswith("=") and not value.startswith("==") else []
    if isinstance(value, Mapping):
        return [x for k, v in value.items() for x in template_expressions(v, f"{path}.{k}".lstrip("."))]
    if isinstance(value, list | tuple):
        return [x for i, v in enumerate(value) for x in template_expressions(v, f"{path}[{i}]")]
    return []


def compile_template(value: Any, extra: frozenset[str] = frozenset()) -> tuple[Template, tuple[Expression, ...]]:
    """Compile a mapping whose texts may be expressions; literals are passed through.

    Args:
        value: the mapping.
        extra: names that its expressions may use besides `input`, `steps` and `run`.

    Returns:
        A function of the scope, and the expressions inside (for finding out what they read).
    """
    if isinstance(value, str):
        if value.startswith("=="):
            literal = value[1:]
            return (lambda scope: literal), ()
        if value.startswith("="):
            expression = compile_expression(value[1:], extra)
            return expression.evaluate, (expression,)
    elif isinstance(value, Mapping):
        parts = {k: compile_template(v, extra) for k, v in value.items()}
        inner = tuple(e for _, es in parts.values() for e in es)
        if inner:
            made = {k: f for k, (f, _) in parts.items()}
            return (lambda scope: {k: f(scope) for k, f in made.items()}), inner
    elif isinstance(value, list | tuple):
        listed = [compile_template(v, extra) for v in value]
        inner = tuple(e for _, es in listed for e in es)
        if inner:
            return (lambda scope: [f(scope) for f, _ in listed]), inner
    return (lambda scope: value), ()
