"""Playing a translated definition to its end in the pure core: as it goes, and once for everything that can go wrong.

Values that conditions compare with are looked up in the document itself, so that runs take its branches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from signoff.core.document import read_document
from signoff.core.script import Answer, Choice, Message, Script
from signoff.core.simulate import Trial, run_trial
from signoff.core.validate import is_publishable, validate

VARIANTS = 4
_PATH = re.compile(r"(steps\.(\w+)\.output|input|answer|item)((?:\.\w+|\[\"[^\"]*\"\]|\[\d+\])+)")
_PART = re.compile(r"\.(\w+)|\[\"([^\"]*)\"\]|\[(\d+)\]")
_COMPARED = re.compile(
    r"\s*\)?\s*(==|!=|<=|>=|<|>|in)\s*(\[[^\]]*\]|\"(?:\\.|[^\"])*\"|-?\d+(?:\.\d+)?|true|false|null)"
)
_MATCHED = re.compile(r"\.matches\(\"\^?([^\"]*?)\$?\"\)")


@dataclass(frozen=True)
class Played:
    """One way through: what was different, how the run ended, and why it did not end by itself.

    `as_drawn`: it succeeded, or came to an end that the model itself draws as a failure.
    """

    what: str
    status: str
    stopped: str
    as_drawn: bool = False

    @property
    def ended(self) -> bool:
        return self.status in ("succeeded", "failed", "rejected", "cancelled")


def _expressions(value: Any, step: str = "") -> Iterator[tuple[str, str]]:
    """Every expression with the id of the step it belongs to."""
    if isinstance(value, dict):
        step = value.get("id", step) if "kind" in value else step
        for k, v in value.items():
            if k in ("when", "until", "items") and isinstance(v, str):
                yield step, v.removeprefix("=")
            else:
                yield from _expressions(v, step)
    elif isinstance(value, list):
        for v in value:
            yield from _expressions(v, step)
    elif isinstance(value, str) and value.startswith("="):
        yield step, value[1:]


def wanted_values(document: dict[str, Any], variant: int) -> dict[str, Any]:
    """For `input` and each step id a nested object of values that expressions read."""
    found: dict[str, list[tuple[tuple[str | int, ...], Any]]] = {}
    usual = {"duration": "PT5S", "until": "2027-01-05T00:00:00"}
    waits = {
        s["id"]: usual["duration" if "duration" in s else "until"] for s in document["steps"] if s["kind"] == "wait"
    }
    for step, text in _expressions(document):
        for match in _PATH.finditer(text):
            whose = match[2] or {"input": "input", "item": f"{step}.item"}.get(match[1], step)
            parts = tuple(int(i) if i else (a or b) for a, b, i in _PART.findall(match[3]))
            if parts and text[match.end() :].startswith("("):
                parts = parts[:-1]
            if parts:
                value = waits[step] if step in waits and text == match[0] else _value(text, match)
                found.setdefault(whose, []).append((parts, value))
    made: dict[str, Any] = {}
    for whose, wanted in found.items():
        by_path: dict[tuple[str | int, ...], list[Any]] = {}
        for parts, value in wanted:
            by_path.setdefault(parts, []).extend([] if value is None else [value])
        tree: Any = {}
        for parts in sorted(by_path, key=len):
            values = by_path[parts]
            _put(tree, parts, values[variant % len(values)] if values else "some")
        made[whose] = tree
    return made


def _value(text: str, match: re.Match[str]) -> Any:
    rest = text[match.end() :]
    if compared := _COMPARED.match(rest):
        value = json.loads(compared[2])
        value = value[0] if isinstance(value, list) and value else value
        if text[: match.start()].endswith("!(") and compared[1] == "==":
            return (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else "other"
        if compared[1] in ("<", "<="):
            return value - 1 if isinstance(value, int | float) else value
        return value + 1 if compared[1] == ">" and isinstance(value, int | float) else value
    if matched := _MATCHED.match(rest):
        return matched[1].replace(".*", "x").replace("\\", "")
    if text.startswith('"PT" + string('):
        return 5
    before = text[: match.start()]
    if before.endswith("size(") or (text.strip() == match[0] and "[" not in text and before == ""):
        return None
    return True if re.search(r"(!\(?|^\(?|&& \(?|\|\| \(?)$", before) and not rest.startswith((" +", ".")) else None


def _put(tree: Any, parts: tuple[str | int, ...], value: Any) -> None:
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        below: Any = value if last else ([] if isinstance(parts[number + 1], int) else {})
        if isinstance(tree, list):
            while len(tree) <= int(part):
                tree.append("some")
            if last or not isinstance(tree[int(part)], dict | list):
                tree[int(part)] = below
            tree = tree[int(part)]
        elif isinstance(tree, dict):
            known = tree.get(str(part))
            if last and isinstance(known, dict | list) and known:
                return
            if last or not isinstance(known, dict | list):
                tree[str(part)] = below
            tree = tree[str(part)]
        else:
            return


def _items(values: dict[str, Any], step: str) -> list[Any]:
    """Two items of a list that a step goes through."""
    one = values.get(f"{step}.item")
    return ["one", "two"] if one is None else [one, one]


def _input(document: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Values for the input form: what is compared with, else something of the type."""
    usual = {"number": 1, "integer": 1, "boolean": True, "list": ["one", "two"], "object": {}, "date": "2027-01-04"}
    wanted = values.get("input", {})
    made: dict[str, Any] = {}
    for field in document.get("input", []):
        kind = field.get("type", "text")
        value = wanted.get(field["name"], "some")
        good = {
            "number": isinstance(value, int | float) and not isinstance(value, bool),
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "boolean": isinstance(value, bool),
            "list": isinstance(value, list),
            "object": isinstance(value, dict),
            "date": False,
            "choice": value in field.get("options", []),
        }.get(kind, isinstance(value, str) and bool(value))
        fallback = field.get("options", [""])[0] if kind == "choice" else usual.get(kind, "some")
        made[field["name"]] = value if good else fallback
    for step in document["steps"]:
        items = step.get("for_each", {}).get("items", "")
        if match := re.fullmatch(r"input((?:\.\w+)+)", items):
            _put(made, tuple(match[1].strip(".").split(".")), _items(values, step["id"]))
        elif items == "input.data":
            made["data"] = _items(values, step["id"])
    return made


USUAL: dict[str, Any] = {"number": 1, "integer": 1, "boolean": True, "date": "2027-01-04", "list": [], "object": {}}


def _fill(field: dict[str, Any], value: Any) -> Any:
    """The value that is wanted where it is of the field's type."""
    kind = field.get("type", "text")
    if kind == "choice":
        return value if value in field["options"] else field["options"][0]
    if kind == "boolean":
        return value if isinstance(value, bool) else True
    if kind == "number" and isinstance(value, int | float):
        return value
    return value if kind == "text" and isinstance(value, str) and value else USUAL.get(kind, "some")


def _script(document: dict[str, Any], values: dict[str, Any]) -> Script:
    answers: dict[str, list[Answer]] = {}
    messages: dict[str, list[Message]] = {}
    choices: dict[str, list[Choice]] = {}
    lists = {}
    for step in document["steps"]:
        items = step.get("for_each", {}).get("items", "")
        if match := re.fullmatch(r"steps\.(\w+)\.output((?:\.\w+)*)", items):
            lists[match[1]] = (match[2], _items(values, step["id"]))
    for step in document["steps"]:
        wanted = values.get(step["id"], {})
        if step["id"] in lists:
            told, items = lists[step["id"]]
            parts = tuple(p for p in told.split(".") if p)
            wanted = wanted if parts else items
            if parts:
                _put(wanted, parts, items)
        if step["kind"] in ("activity", "subflow") and step.get("connector") not in ("pass", "fail"):
            answers[step["id"]] = [Answer(wanted)]
        elif step["kind"] == "signal":
            kept = {k: v for k, v in wanted.items() if k not in ("error", "cause")}
            messages[step["id"]] = [Message(kept, after=timedelta(seconds=1))]
        elif step["kind"] == "approval":
            choices[step["id"]] = [Choice(after=timedelta(seconds=30))]
        elif step["kind"] == "form":
            given = {f["name"]: _fill(f, wanted.get(f["name"])) for f in step["fields"] if f.get("required", True)}
            choices[step["id"]] = [Choice("submitted", values=given, after=timedelta(seconds=30))]
    return Script(answers, choices, messages)


def play_all_ways(document: dict[str, Any]) -> list[Played]:
    """As it goes, with other values, and with each thing that can go wrong, one at a time."""
    definition, problems = read_document(document)
    assert definition is not None
    wrong = (*problems, *validate(definition))
    assert is_publishable(wrong), [p.sentence for p in wrong]

    def run(what: str, values: dict[str, Any], script: Script) -> Played:
        result = run_trial(Trial(definition, _input(document, values), script=script))
        drawn = result.status == "succeeded" or any(step in ends for step, _, _ in result.path)
        return Played(what, result.status, result.stopped, drawn and not result.stopped)

    ends = {s["id"] for s in document["steps"] if s.get("connector") == "fail"}
    tried = []
    for variant in range(VARIANTS):
        told = wanted_values(document, variant)
        script = _script(document, told)
        tried.append((run("with other values", told, script), told, script))
    best = min(tried, key=lambda t: (t[0].status != "succeeded", not t[0].as_drawn, not t[0].ended))
    first, values, script = best
    played = [replace(first, what="as it goes"), *(t[0] for t in tried if t is not best and t[0].as_drawn)]
    for step in document["steps"]:
        for what, changed in _troubles(step, script):
            played.append(run(f"'{step['id']}' {what}", values, changed))
    return played


def _troubles(step: dict[str, Any], script: Script) -> Iterator[tuple[str, Script]]:
    i = step["id"]
    if step["kind"] == "approval":
        yield "rejected", replace(script, choices={**script.choices, i: [Choice("rejected")]})
    if step["kind"] in ("approval", "form"):
        if step.get("expires"):
            yield "expired", replace(script, choices={**script.choices, i: [Choice("nobody")]})
        if step.get("returns_to"):
            back = [Choice("returned", to=step["returns_to"][0]), *script.choices.get(i, [Choice()])]
            yield "returned once", replace(script, choices={**script.choices, i: back})
    if step["kind"] == "signal" and step.get("expires"):
        yield "expired", replace(script, messages={**script.messages, i: [Message(comes=False)]})
    if step["kind"] in ("activity", "subflow") and step.get("connector") != "fail":
        failed = [Answer(None, "broken", "It broke.", False)]
        yield "failed", replace(script, answers={**script.answers, i: failed})
