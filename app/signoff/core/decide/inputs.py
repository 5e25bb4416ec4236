"""The resolved input of a call, checked before anything is scheduled: an error names the step and can be mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signoff.core.expression import ExpressionError, Template
from signoff.core.payload import plain_json


def resolved(template: Template, scope: Mapping[str, Any], label: str) -> Any:
    """The input of a call.

    Raises:
        ExpressionError: a value is missing or of the wrong type, or all of it is too large to be stored.
    """
    given = template(scope)
    try:
        return plain_json(given)
    except ValueError as problem:
        raise ExpressionError(f"Something is wrong with the input of '{label}'. {problem}") from None
