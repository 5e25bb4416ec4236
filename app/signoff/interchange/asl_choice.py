"""Choice rules of Step Functions as CEL conditions."""

from __future__ import annotations

import json
import re
from typing import Any

from signoff.interchange.asl_data import to_cel
from signoff.interchange.asl_payload import World, jsonata, read_path
from signoff.interchange.translated import CannotExpress

_WORDS = {
    "Equals": "==",
    "LessThan": "<",
    "GreaterThan": ">",
    "LessThanEquals": "<=",
    "GreaterThanEquals": ">=",
}
_KINDS = {"String": "string", "Numeric": "number", "Boolean": "bool", "Timestamp": "timestamp"}
_COMPARISON = re.compile(r"(String|Numeric|Boolean|Timestamp)((?:Less|Greater)Than(?:Equals)?|Equals)(Path)?")
MAX_NESTING = 20


def condition_of(rule: dict[str, Any], world: World, depth: int = 0) -> str:
    """One rule.

    Raises:
        CannotExpress: it compares something that is not known, or in a way CEL has no word for.
    """
    if depth > MAX_NESTING:
        raise CannotExpress("a very deep condition")
    if "Condition" in rule:
        return to_cel(jsonata(rule["Condition"], world))
    for word, joint in (("And", " && "), ("Or", " || ")):
        if word in rule:
            return joint.join(f"({condition_of(r, world, depth + 1)})" for r in _rules(rule[word]))
    if "Not" in rule:
        return f"!({condition_of(_rules([rule['Not']])[0], world, depth + 1)})"
    variable = to_cel(read_path(rule.get("Variable"), world))
    for key, value in rule.items():
        if key not in ("Variable", "Next", "Comment", "Assign", "Output"):
            return _compared(variable, key, value, world)
    raise CannotExpress("a condition without a comparison")


def _rules(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(r, dict) for r in value):
        raise CannotExpress("a condition of another form")
    return value


def _compared(variable: str, key: str, value: Any, world: World) -> str:
    if match := _COMPARISON.fullmatch(key):
        kind, word = _KINDS[match[1]], _WORDS[match[2]]
        other = to_cel(read_path(value, world)) if match[3] else json.dumps(value)
        if kind == "timestamp":
            return f"timestamp({variable}) {word} timestamp({other})"
        return f"{variable} {word} {other}"
    match key:
        case "IsPresent":
            if not re.search(r"\.\w+$", variable):
                raise CannotExpress(f"a test whether '{variable[:60]}' is there")
            return f"has({variable})" if value else f"!has({variable})"
        case "IsNull":
            return f"{variable} {'==' if value else '!='} null"
        case "StringMatches":
            pattern = ".*".join(re.escape(p).replace("/", "\\/") for p in re.split(r"(?<!\\)\*", str(value)))
            return f"{variable}.matches({json.dumps('^' + pattern + '$')})"
        case _:
            raise CannotExpress(f"the comparison {key}")
