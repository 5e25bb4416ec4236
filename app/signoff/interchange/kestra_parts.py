"""Small parts of Kestra flows: types of inputs, durations, retries, what a task of a plugin calls."""

from __future__ import annotations

import re
from typing import Any

from signoff.core.calendar import parse_duration
from signoff.interchange.naming import name_of

FIELD_TYPES = {
    "STRING": "text", "INT": "integer", "FLOAT": "number", "BOOLEAN": "boolean", "BOOL": "boolean", "DATE": "date",
    "DATETIME": "text", "TIME": "text", "DURATION": "text", "ARRAY": "list", "MULTISELECT": "list", "JSON": "object",
    "YAML": "object", "SELECT": "choice", "ENUM": "choice", "FILE": "text", "URI": "text", "SECRET": "text",
    "EMAIL": "text",
}  # fmt: skip
_OWN = {"id", "type", "description", "retry", "timeout", "errors", "allowFailure", "disabled", "logLevel", "runIf"}
_PLAIN = {"Return", "Log", "Echo", "OutputValues", "Labels"}


def field_of(given: dict[str, Any]) -> dict[str, Any]:
    """An input of a flow or of a pause as a field; `foreign` is its name there."""
    foreign = str(given.get("id") or given.get("name") or "field")
    kind = FIELD_TYPES.get(str(given.get("type", "STRING")).upper(), "text")
    options = [str(v) for v in given.get("values") or given.get("options") or [] if isinstance(v, str | int | float)]
    if kind == "choice" and not options:
        kind = "text"
    told: dict[str, Any] = {"foreign": foreign, "name": name_of(foreign, "field"), "label": foreign[:200], "type": kind}
    if kind == "choice":
        told["options"] = options
    if given.get("required") is False or given.get("defaults") == "":
        told["required"] = False
    return told


def iso_duration(text: Any) -> float | None:
    """Seconds of an ISO 8601 duration, None where it is none; calendar parts count as usual days and months."""
    if not isinstance(text, str) or not text.upper().startswith("P"):
        return None
    try:
        read = parse_duration(re.sub(r"\.\d+S$", "S", text))
    except ValueError:
        return None
    seconds = read.seconds + read.days * 86_400 + read.months * 30 * 86_400
    return float(seconds) if seconds else None


def in_whole_seconds(text: Any) -> Any:
    """A duration without parts of seconds, at least one second; anything else as it is."""
    match = re.fullmatch(r"(P.*T(?:.*[HM])?)(\d+)\.\d+S", text) if isinstance(text, str) else None
    return f"{match[1]}{int(match[2]) + 1}S" if match else text


def retry_of(given: Any) -> dict[str, Any]:
    """The retry policy of a task: none where it has none."""
    if not isinstance(given, dict):
        return {"max_attempts": 1}
    count = given.get("maxAttempts", given.get("maxAttempt", 3))
    first = iso_duration(given.get("interval")) or iso_duration(given.get("minInterval")) or 1.0
    most = iso_duration(given.get("maxInterval")) or max(first, 300.0)
    grows = str(given.get("type", "constant")) != "constant"
    return {
        "max_attempts": count if isinstance(count, int) and 1 <= count <= 50 else 3,
        "initial_s": first,
        "multiplier": 2.0 if grows else 1.0,
        "cap_s": max(first, most),
    }


def plain_call(task: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Connector and input of a task that is a call."""
    words = str(task["type"]).split(".")
    given = {str(k): v for k, v in task.items() if k not in _OWN}
    if words[-1] == "Fail":
        return "fail", {"error": "failed", "cause": str(task.get("errorMessage") or "The flow says that it fails.")}
    if words[-1] in _PLAIN:
        return "pass", {"value" if k == "format" else k: v for k, v in given.items()}
    if words[-1] == "Request" and "uri" in given:
        names = {"uri": "url", "method": "method", "body": "json", "headers": "headers"}
        return "http", {names[k]: v for k, v in given.items() if k in names}
    return f"python:{name_of('_'.join(words[-2:]), 'task')[:50]}", given
