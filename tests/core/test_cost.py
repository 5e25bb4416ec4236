"""The cost of one evaluation is bounded before it is done, and ordinary expressions are far below the bound."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.cost import MAX_COST, cost_of, weight
from signoff.core.expression import ExpressionError, compile_expression

RUN = {"id": "r-1", "started_by": "ada", "business_key": ""}


def evaluate(source: str, **given: Any) -> Any:
    return compile_expression(source).evaluate({"input": given, "steps": {}, "run": RUN})


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("+".join(["input.l"] * 100), {"l": [1] * 20_000}),
        ("+".join(["input.t"] * 200), {"t": "x" * 155_000}),
        ("input.l.map(x, x + input.t)", {"l": ["a"] * 1_000, "t": "x" * 100_000}),
        ("input.l.all(x, (x + input.t).contains('y'))", {"l": ["a"] * 1_000, "t": "x" * 100_000}),
    ],
)
def test_what_would_hold_up_the_engine_is_refused_with_a_sentence(source: str, given: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError, match="too much data") as caught:
        evaluate(source, **given)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("source", "given", "value"),
    [
        ("input.text", {"text": "x" * 500_000}, "x" * 500_000),
        ("input.l.filter(x, x > input.least)", {"l": list(range(1_000)), "least": 997}, [998, 999]),
        ("input.l.map(x, x.name + ' (' + x.city + ')')", {"l": [{"name": "A", "city": "B"}] * 10}, ["A (B)"] * 10),
        (
            "'Dear ' + input.name + ', ' + input.text",
            {"name": "Ada", "text": "y" * 10_000},
            "Dear Ada, " + "y" * 10_000,
        ),
        ("size(input.l) > 3 && input.l[0] == 1", {"l": [1] * 50_000}, True),
    ],
)
def test_ordinary_expressions_are_allowed(source: str, given: dict[str, Any], value: Any) -> None:
    assert evaluate(source, **given) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.text(), i)
)


@given(JSON, st.integers(1, 50), st.integers(0, 50))
def test_more_data_uses_or_joins_never_cost_less(value: Any, uses: int, joins: int) -> None:
    base = cost_of({"v": value}, uses=uses, joins=joins, has_macro=False)
    assert cost_of({"v": [value, value]}, uses=uses, joins=joins, has_macro=False) >= base
    assert cost_of({"v": value}, uses=uses + 1, joins=joins, has_macro=False) >= base
    assert cost_of({"v": value}, uses=uses, joins=joins + 1, has_macro=False) >= base
    assert weight(value)[0] >= 1
    assert MAX_COST > 0


def test_a_step_has_at_most_sixty_four_expressions() -> None:
    from signoff.core.checks.expressions import MAX_STEP_EXPRESSIONS
    from signoff.core.document import read_document
    from signoff.core.validate import validate

    def codes(count: int) -> set[str]:
        step = {"id": "a", "kind": "activity", "connector": "x", "input": {f"k{i}": "=run.id" for i in range(count)}}
        definition, _ = read_document({"name": "d", "steps": [step], "edges": []})
        assert definition is not None
        return {p.code for p in validate(definition)}

    assert "too_many_expressions" not in codes(MAX_STEP_EXPRESSIONS)
    assert "too_many_expressions" in codes(MAX_STEP_EXPRESSIONS + 1)
