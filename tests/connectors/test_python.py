"""Registered Python functions as activities."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from signoff.connectors.call import ActivityError, Call
from signoff.connectors.python import PythonConnector, activity, registered
from signoff.connectors.registry import build_registry
from signoff.errors import ConfigurationFault


def make(given: Any) -> Call:
    return Call("r-1", "s", 2, "key-1", given, 5.0)


def test_input_becomes_named_arguments_and_the_key_goes_to_who_asks() -> None:
    def pay(amount: int, idempotency_key: str, stop: threading.Event, call: Call) -> list[Any]:
        return [amount, idempotency_key, stop.is_set(), call.attempt]

    assert PythonConnector("pay", pay)(make({"amount": 5})) == [5, "key-1", False, 2]


@pytest.mark.parametrize("given", [None, [1], "x", {}, {"amount": 1, "more": 2}])
def test_wrong_input_is_a_sentence_and_not_worth_retrying(given: Any) -> None:
    with pytest.raises(ActivityError) as caught:
        PythonConnector("pay", lambda amount: amount)(make(given))
    assert (caught.value.code, caught.value.retryable) == ("bad_input", False)
    assert "'pay'" in caught.value.message


def test_a_type_error_inside_the_function_is_its_own() -> None:
    def broken(amount: int) -> int:
        return amount + "x"  # type: ignore[operator]

    with pytest.raises(TypeError):
        PythonConnector("broken", broken)(make({"amount": 1}))


def test_registered_functions_are_installed_under_their_name() -> None:
    @activity("tests.double")
    def double(n: int) -> int:
        return 2 * n

    assert registered()["tests.double"] is double
    assert build_registry()["python:tests.double"](make({"n": 4})) == 8
    with pytest.raises(ConfigurationFault, match="Two functions"):
        activity("tests.double")(lambda n: n)


def test_a_module_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigurationFault, match=r"no\.such\.module"):
        build_registry(["no.such.module"])
