"""Two connectors that reach nothing outside: what a process says by itself, and its ends that are failures."""

from __future__ import annotations

from typing import Any

from signoff.connectors.call import ActivityError, Call

MAX_CODE_CHARS = 200


def pass_on(call: Call) -> Any:
    """Answers what it is given: values that later steps read by one name, or a point where branches meet."""
    return call.input


def fail(call: Call) -> Any:
    """Fails with the given `error` (a code) and `cause` (a sentence); trying again would not help.

    Raises:
        ActivityError: always.
    """
    given = call.input if isinstance(call.input, dict) else {}
    code = str(given.get("error") or "failed")[:MAX_CODE_CHARS]
    raise ActivityError(str(given.get("cause") or "The process ends here as failed."), code=code, retryable=False)
