"""The connectors that reach nothing outside."""

from __future__ import annotations

import pytest

from signoff.connectors.call import ActivityError, Call
from signoff.connectors.registry import build_registry


def make(given: object) -> Call:
    return Call("r-1", "s", 1, "key-1", given, 5.0)


def test_pass_answers_what_it_is_given() -> None:
    assert build_registry()["pass"](make({"a": [1]})) == {"a": [1]}


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"error": "no_stock", "cause": "None is left."}, "no_stock", "None is left."),
        ({}, "failed", "The process ends here as failed."),
        (None, "failed", "The process ends here as failed."),
    ],
)
def test_fail_fails_for_good_with_the_given_code(given: object, code: str, message: str) -> None:
    with pytest.raises(ActivityError) as caught:
        build_registry()["fail"](make(given))
    assert (caught.value.code, caught.value.message, caught.value.retryable) == (code, message, False)
