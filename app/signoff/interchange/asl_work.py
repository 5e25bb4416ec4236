"""Task states of Step Functions as activities: connectors, retries, timeouts, errors that are caught."""

from __future__ import annotations

import re
from typing import Any

from signoff.interchange.cel import both, literal, negated
from signoff.interchange.naming import name_of
from signoff.interchange.sketch import Sketch

CALLBACK = ".waitForTaskToken"
TIMED_OUT = ("States.Timeout", "run_timeout", "queue_timeout", "worker_lost")
_ALL = ("States.ALL",)
_UNUSUAL = ("States.DataLimitExceeded", "States.Runtime")
MAX_SECONDS = 60.0 * 60 * 24 * 365


def connector_of(resource: str) -> str:
    """A name for what the task calls: `python:sqs_send_message`, `http`, `python:NAME` of a function."""
    plain = resource.removesuffix(CALLBACK).removesuffix(":2").removesuffix(".sync")
    if plain.endswith("states:::http:invoke"):
        return "http"
    tail = re.split(r":::|:function:|:activity:", plain)[-1]
    tail = tail.removeprefix("aws-sdk:").removesuffix(":$LATEST")
    words = tail.split(":")
    return f"python:{name_of('_'.join(words[-2:]), 'task')[:50]}"


def http_input(given: Any) -> Any:
    """Parameters of an HTTP task as the HTTP connector wants them."""
    if not isinstance(given, dict):
        return given
    names = {"ApiEndpoint": "url", "Method": "method", "RequestBody": "json", "QueryParameters": "query"}
    return {names[k]: v for k, v in given.items() if k in names}


def retry_of(state: dict[str, Any], sketch: Sketch, name: str) -> dict[str, Any]:
    """The retry policy: no retries where the state has none."""
    retriers = [r for r in state.get("Retry") or () if isinstance(r, dict)]
    tried = [r for r in retriers if r.get("MaxAttempts", 3)]
    never = [c for r in retriers if not r.get("MaxAttempts", 3) for c in r.get("ErrorEquals", ()) if c not in _ALL]
    if not tried:
        return {"max_attempts": 1}
    best = next((r for r in tried if set(_ALL) & set(r.get("ErrorEquals", ()))), tried[0])
    if len(tried) > 1 or not set(_ALL) & set(best.get("ErrorEquals", ())):
        sketch.note(f"'{name}' is tried again after every error alike; its model tells errors apart.")
    policy: dict[str, Any] = {
        "max_attempts": _number(best.get("MaxAttempts"), 3) + 1,
        "initial_s": float(_number(best.get("IntervalSeconds"), 1)),
        "multiplier": float(best.get("BackoffRate", 2.0)) if _is_number(best.get("BackoffRate", 2.0)) else 2.0,
        "cap_s": float(_number(best.get("MaxDelaySeconds"), 86_400)),
        "jitter": 0.5 if best.get("JitterStrategy") == "FULL" else 0.0,
    }
    policy["cap_s"] = max(policy["cap_s"], policy["initial_s"])
    return {**policy, **({"not_retryable": never} if never else {})}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any, usual: int) -> int:
    return int(value) if _is_number(value) else usual


def timeouts_of(state: dict[str, Any], sketch: Sketch, name: str) -> dict[str, Any]:
    """Run time and lease."""
    found: dict[str, Any] = {}
    for key, ours in (("TimeoutSeconds", "run_s"), ("HeartbeatSeconds", "heartbeat_s")):
        value = state.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[ours] = min(float(value), MAX_SECONDS)
        elif value is not None or f"{key}Path" in state:
            sketch.note(f"'{name}' computes its {key}; the usual one holds instead.")
    if found.get("run_s", 60.0) < found.get("heartbeat_s", 30.0):
        found["heartbeat_s"] = found.get("run_s", 60.0)
    return found


def catches_of(state: dict[str, Any], step: str) -> list[tuple[dict[str, Any], str]]:
    """Catchers with the condition on which each one is used: the first that knows the error."""
    found: list[tuple[dict[str, Any], str]] = []
    before = ""
    for catcher in state.get("Catch") or ():
        codes = [str(c) for c in catcher.get("ErrorEquals", ())]
        mine = knows_error(codes, f"steps.{step}.error.code")
        found.append((catcher, both(before, mine)))
        if not mine:
            break
        before = both(before, negated(mine))
    return found


def knows_error(codes: list[str], code: str) -> str:
    """Whether an error is one of these names; empty means always."""
    if "States.ALL" in codes:
        return ""
    if "States.TaskFailed" in codes:
        others = [*TIMED_OUT, *(u for u in _UNUSUAL if u not in codes)]
        told = f"!({code} in {literal([o for o in others if o not in codes])})"
        return f"({told} || {code} in {literal(codes)})" if len(codes) > 1 else told
    listed = [*codes, *(t for t in TIMED_OUT[1:] if "States.Timeout" in codes)]
    return f"{code} in {literal(listed)}"
