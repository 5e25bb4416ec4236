"""Registered Python functions as activities: installed by an administrator, never by a definition's author."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from signoff.connectors.call import ActivityError, Call
from signoff.errors import ConfigurationFault

_registered: dict[str, Callable[..., Any]] = {}


def activity[F: Callable[..., Any]](name: str) -> Callable[[F], F]:
    """Register a function under `python:NAME`.

    The function gets the activity's input as keyword arguments, and where it names them the parameters
    `idempotency_key` (text), `stop` (threading.Event), `report` (how far it is, see `Call.report`), `last` (what an
    earlier attempt reported) and `call` (Call). It returns JSON-ready data.

    Raises:
        ConfigurationFault: the name is taken by another function.
    """

    def register(function: F) -> F:
        known = _registered.get(name)
        if known is not None and known.__qualname__ != function.__qualname__:
            raise ConfigurationFault(f"Two functions are registered as '{name}'.", remedy="Rename one.")
        _registered[name] = function
        return function

    return register


def registered() -> dict[str, Callable[..., Any]]:
    """All registered functions by name."""
    return dict(_registered)


class PythonConnector:
    """Calls one registered function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function
        self._signature = inspect.signature(function)
        self._takes = {
            p for p in ("idempotency_key", "stop", "report", "last", "call") if p in self._signature.parameters
        }

    def __call__(self, call: Call) -> Any:
        """Call the function with the input as keyword arguments."""
        if not isinstance(call.input, dict):
            raise ActivityError(f"'{self._name}' needs named values as input.", code="bad_input", retryable=False)
        known = {
            "idempotency_key": call.key,
            "stop": call.stop,
            "report": call.report,
            "last": call.last,
            "call": call,
        }
        arguments = {**call.input, **{k: v for k, v in known.items() if k in self._takes}}
        try:
            self._signature.bind(**arguments)
        except TypeError as error:
            raise ActivityError(
                f"'{self._name}' was called wrongly: {error}", code="bad_input", retryable=False
            ) from None
        return self._function(**arguments)
