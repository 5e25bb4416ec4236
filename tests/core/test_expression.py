"""Expressions: what they may say, where a fault lies, and that nothing gets out of them but plain JSON or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.expression import (
    MAX_MACRO_ITEMS,
    ExpressionError,
    ExpressionTypeError,
    compile_expression,
    compile_template,
    template_expressions,
)

SCOPE: dict[str, Any] = {
    "input": {"n": 10.0, "i": 3, "t": "x", "l": [1, 2], "o": {"k": None}, "nothing": None, "b": True},
    "steps": {"check": {"outcome": "succeeded", "output": {"n": 5, "items": [{"a": 1}, {"a": 2}]}}},
    "run": {"id": "r1", "started_by": "dan", "business_key": ""},
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("input.n > 5", True),
        ("input.n > 5.0 && input.i == 3", True),
        ("input.i / 2", 1),
        ("input.nothing == null", True),
        ("has(input.missing)", False),
        ("has(steps.other)", False),
        ("steps.check.output.items.map(x, x.a)", [1, 2]),
        ("steps.check.output.items.exists(x, x.a == 2)", True),
        ("size(input.l) == 2", True),
        ("'a' + input.t", "ax"),
        ("run.started_by", "dan"),
        ("true || input.missing", True),
        ('"input.gone" + input.t', "input.gonex"),
        ("timestamp('2027-01-01T00:00:00Z')", "2027-01-01T00:00:00+00:00"),
        ("{'a': [1, null, 1.5]}", {"a": [1, None, 1.5]}),
        ("input.b ? 'yes' : 'no'", "yes"),
    ],
)
def test_values(source: str, expected: Any) -> None:
    assert compile_expression(source).evaluate(SCOPE) == expected


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("input.missing", "the value 'missing' is missing"),
        ("steps.check.output.gone", "the value 'gone' is missing"),
        ("input.o.k.deeper", "wrong type"),
        ("input.nothing > 5", "wrong type"),
        ("input.t + 1", "wrong type"),
        ("input.i + 1.5", "wrong type"),
        ("1 / 0", "division by zero"),
        ("1.0 / 0.0", "not finite"),
        ("input.l[9]", "could not be evaluated"),
        ("9223372036854775807 + 1", "could not be evaluated"),
        ("9007199254740993", "2^53"),
        ("b'x'", "not JSON"),
        ("duration('1h')", "not JSON"),
        ("{1: 2}", "names in an object"),
        ("int('x')", "could not be evaluated"),
        ("timestamp('x')", "could not be evaluated"),
    ],
)
def test_values_that_are_visible_errors(source: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why.replace("^", r"\^")) as caught:
        compile_expression(source).evaluate(SCOPE)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("source", "kind"), [("input.n", "a number"), ("input.t", "a text"), ("null", "nothing")])
def test_a_condition_is_true_or_false(source: str, kind: str) -> None:
    with pytest.raises(ExpressionTypeError, match=kind):
        compile_expression(source).decide(SCOPE)


@pytest.mark.parametrize(
    ("source", "position", "why"),
    [
        ("", 0, "is empty"),
        ("  ", 0, "is empty"),
        ("input.n >", 9, "position 10"),
        ("input.n ++ 1", 9, "position 10"),
        ("1 +\n+ 2", 4, "position 5"),
        ("amount > 5", 0, "'amount' is not known"),
        ("input.n > limit", 10, "'limit' is not known"),
        ("now() > 1", 0, "'now' is not known"),
        ("input.t.foo()", 8, "'foo' is not known"),
        ("steps", 0, "steps by name"),
        ("steps['check'].output", 0, "steps by name"),
        ("input.l.map(x, input.l.map(y, y))", -1, "inside one another"),
        ("x" * 2001, -1, "longer than 2000"),
    ],
)
def test_faults_have_a_position(source: str, position: int, why: str) -> None:
    with pytest.raises(ExpressionError, match=why) as caught:
        compile_expression(source)
    if position >= 0:
        assert caught.value.position == position
    assert str(caught.value).endswith(".")


def test_what_an_expression_reads() -> None:
    read = compile_expression("input.a + input.b.c + steps.check.output.n + steps.pay.outcome + 'input.no'")
    assert read.inputs == {"a", "b"}
    assert read.steps == {("check", "output.n"), ("pay", "outcome")}
    assert compile_expression("size(input) > 0").inputs == {"*"}


def test_macros_have_bounded_cost() -> None:
    long = {**SCOPE, "input": {"l": list(range(MAX_MACRO_ITEMS + 1))}}
    with pytest.raises(ExpressionError, match="more than 1000 items"):
        compile_expression("input.l.exists(x, x > 5)").evaluate(long)
    assert compile_expression("size(input.l)").evaluate(long) == MAX_MACRO_ITEMS + 1


def test_templates() -> None:
    value = {"a": "=input.i", "b": ["==literal", "plain", {"c": "=input.t"}], "d": 5, "e": "="}
    assert template_expressions(value) == [("a", "input.i"), ("b[2].c", "input.t"), ("e", "")]
    made, read = compile_template({k: v for k, v in value.items() if k != "e"})
    assert made(SCOPE) == {"a": 3, "b": ["=literal", "plain", {"c": "x"}], "d": 5}
    assert [e.source for e in read] == ["input.i", "input.t"]


PIECES = st.sampled_from(
    "input steps run .n .l .t .check .output [0] [9] ( ) + - * / % && || ! == < > ? : , ' \" 1 1.5 2u null true has "
    "size map( filter( exists( x { } b'x' timestamp( duration( string( int( 'a' \\ \n é 🙂 in".split(" ")
)


@settings(deadline=None, max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40))
def test_fuzz_nothing_but_plain_json_or_a_sentence(source: str) -> None:
    try:
        value = compile_expression(source).evaluate(SCOPE)
    except ExpressionError as error:
        said = error
    else:
        json.dumps(value, allow_nan=False)
        return
    assert str(said).strip()
    assert -1 <= said.position <= len(source)
