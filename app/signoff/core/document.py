"""The JSON form of a definition: read it with every problem named, write it in one canonical way.

The written form leaves out values equal to their default, so that a later release can add an optional
field without changing the digest of content that does not use it. A default, once released, never
changes its meaning.
"""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    Definition,
    Edge,
    Field,
    FormConfig,
    Policies,
    SignalConfig,
    SkipRule,
    Step,
    StepConfig,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.payload import is_text, plain_json
from signoff.core.problem import Problem
from signoff.core.schema import fields_from_schema, fields_json, is_schema

FORMAT = "signoff/1"
_EDGE_KEYS = {"from": "source", "to": "target"}
_CONFIGS: dict[str, type[StepConfig]] = {
    "activity": ActivityConfig,
    "approval": ApprovalConfig,
    "wait": WaitConfig,
    "form": FormConfig,
    "signal": SignalConfig,
    "subflow": SubflowConfig,
}


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    type: Any
    default: Any
    required: bool


@cache
def _members(cls: type) -> tuple[_Member, ...]:
    hints = typing.get_type_hints(cls)
    found = []
    for f in fields(cls):
        if f.default is not MISSING:
            default, required = f.default, False
        elif f.default_factory is not MISSING:
            default, required = f.default_factory(), False
        else:
            default, required = None, True
        found.append(_Member(f.name, hints[f.name], default, required))
    return tuple(found)


class _Reader:
    """Reads JSON into dataclasses and collects problems instead of stopping at the first."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.step = ""

    def complain(self, code: str, path: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(code, message, remedy, step=self.step, path=path))

    def unknown_keys(self, value: dict[str, Any], known: set[str], path: str) -> None:
        for key in value:
            if key not in known:
                self.complain(
                    "unknown_key",
                    f"{path}.{key}".lstrip("."),
                    f"'{path or 'The definition'}' has a key '{str(key)[:60]}' that no definition knows.",
                    "Remove it or correct its name.",
                )

    def dataclass(self, cls: type, value: object, path: str, rename: dict[str, str] | None = None) -> Any:
        """An instance of `cls`, or None where a required member is missing or `value` is no object."""
        if not isinstance(value, dict):
            self.complain("wrong_type", path, f"'{path}' must be an object.", "Write it as { … }.")
            return None
        back = {v: k for k, v in (rename or {}).items()}
        members = _members(cls)
        self.unknown_keys(value, {back.get(m.name, m.name.rstrip("_")) for m in members}, path)
        got: dict[str, Any] = {}
        for m in members:
            key = back.get(m.name, m.name.rstrip("_"))
            where = f"{path}.{key}".lstrip(".")
            if key not in value:
                if m.required:
                    self.complain("missing_key", where, f"'{where}' is missing.", "Add it.")
                    return None
                continue
            read = self.typed(m.type, value[key], where)
            if read is not MISSING:
                got[m.name] = read
            elif m.required:
                return None
        return cls(**got)

    def typed(self, want: Any, value: object, path: str) -> Any:
        """`value` as `want`, or MISSING after complaining."""
        origin = typing.get_origin(want)
        if origin in (types.UnionType, typing.Union):
            inner = [a for a in typing.get_args(want) if a is not type(None)]
            return None if value is None else self.typed(inner[0], value, path)
        if origin is tuple:
            return self._tuple(typing.get_args(want)[0], value, path)
        if origin is dict:
            return self._object(value, path)
        if isinstance(want, type) and issubclass(want, StrEnum):
            if isinstance(value, str) and value in {e.value for e in want}:
                return want(value)
            return self._wrong(path, "one of: " + ", ".join(e.value for e in want))
        if is_dataclass(want):
            read = self.dataclass(typing.cast(type, want), value, path)
            return MISSING if read is None else read
        if want is bool:
            return value if isinstance(value, bool) else self._wrong(path, "true or false")
        if want is int:
            ok = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
            return value if ok else self._wrong(path, "a whole number below 2^53")
        if want is float:
            ok = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
            return float(typing.cast(float, value)) if ok else self._wrong(path, "a number")
        return value if isinstance(value, str) and is_text(value) else self._wrong(path, "a text")

    def _object(self, value: object, path: str) -> Any:
        if not isinstance(value, dict):
            return self._wrong(path, "an object")
        try:
            return plain_json(value)
        except ValueError as error:
            self.complain("bad_value", path, f"'{path}' cannot be stored. {error}", "Correct the value.")
            return MISSING

    def _tuple(self, inner: Any, value: object, path: str) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, "a list")
        read = [self.typed(inner, v, f"{path}[{i}]") for i, v in enumerate(value)]
        return tuple(r for r in read if r is not MISSING)

    def _wrong(self, path: str, wanted: str) -> Any:
        self.complain("wrong_type", path, f"'{path}' must be {wanted}.", "Correct the value.")
        return MISSING

    def one_step(self, value: object, path: str) -> Step | None:
        if not isinstance(value, dict):
            self.complain("wrong_type", path, f"'{path}' must be an object.", "Write it as { … }.")
            return None
        self.step = str(value.get("id", ""))[:63]
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in _CONFIGS:
            self.complain(
                "unknown_kind",
                f"{path}.kind",
                f"Step '{self.step}' has the kind '{str(kind)[:40]}', which this version cannot run.",
                f"Use one of: {', '.join(_CONFIGS)}.",
            )
            return None
        own = {"id", "kind", "label", "join", "skip"}
        config = self.dataclass(_CONFIGS[kind], {k: v for k, v in value.items() if k not in own}, path)
        rest = {k: v for k, v in value.items() if k in own and k != "kind"}
        rest.setdefault("label", rest.get("id", ""))
        found: dict[str, Any] = {}
        for m in _members(Step):
            if m.name == "config":
                continue
            if m.name not in rest:
                if m.required:
                    self.complain("missing_key", f"{path}.{m.name}", f"'{path}.{m.name}' is missing.", "Add it.")
                    return None
                continue
            read = self.typed(m.type, rest[m.name], f"{path}.{m.name}")
            if read is not MISSING:
                found[m.name] = read
            elif m.required:
                return None
        return None if config is None else Step(config=config, **found)

    def items(self, document: dict[str, Any], key: str) -> list[Any]:
        value = document.get(key, [])
        if isinstance(value, list):
            return value
        self._wrong(key, "a list")
        return []


def read_document(document: object) -> tuple[Definition | None, tuple[Problem, ...]]:
    """Read a JSON document.

    Returns:
        The definition with everything that could be read (None where there is no object or no name)
        and all problems of form. A definition returned with problems must not be published.
    """
    reader = _Reader()
    if not isinstance(document, dict):
        reader.complain("wrong_type", "", "A definition must be a JSON object.", "Write it as { … }.")
        return None, tuple(reader.problems)
    if document.get("format", FORMAT) != FORMAT:
        reader.complain(
            "unknown_format",
            "format",
            f"The definition has the format '{str(document.get('format'))[:40]}'.",
            f"This version reads '{FORMAT}'.",
        )
    content: dict[str, Any] = _with_fields(document, reader, "")
    known = {m.name for m in _members(Definition)} | {"format"}
    reader.unknown_keys(content, known, "")
    listed = [_with_fields(v, reader, f"steps[{i}].") for i, v in enumerate(reader.items(content, "steps"))]
    steps = [s for i, v in enumerate(listed) if (s := reader.one_step(v, f"steps[{i}]"))]
    reader.step = ""
    edges = [
        e
        for i, v in enumerate(reader.items(content, "edges"))
        if (e := reader.dataclass(Edge, v, f"edges[{i}]", _EDGE_KEYS))
    ]
    inputs = [
        f for i, v in enumerate(reader.items(content, "input")) if (f := reader.dataclass(Field, v, f"input[{i}]"))
    ]
    texts = {
        key: read
        for key in ("name", "title", "description")
        if key in content and (read := reader.typed(str, content[key], key)) is not MISSING
    }
    if "name" not in texts:
        if "name" not in content:
            reader.complain("missing_key", "name", "'name' is missing.", "Add it.")
        return None, tuple(reader.problems)
    policies = reader.dataclass(Policies, content.get("policies", {}), "policies") or Policies()
    texts.setdefault("title", texts["name"])
    ordered = tuple(sorted(edges, key=lambda e: e.key))
    definition = Definition(input=tuple(inputs), steps=tuple(steps), edges=ordered, policies=policies, **texts)
    return definition, tuple(reader.problems)


def _with_fields(value: Any, reader: _Reader, path: str) -> Any:
    """The definition or step with JSON Schemas turned into the fields that they describe."""
    if not isinstance(value, dict):
        return value
    made = dict(value)
    for key in ("output", "fields", "payload") if path else ("input",):
        if is_schema(made.get(key)):
            fields, wrong = fields_from_schema(made[key])
            made[key] = fields_json(fields)
            reader.step = str(value.get("id", "")) if path else ""
            for message, remedy in wrong:
                reader.complain("bad_schema", f"{path}{key}", f"In the schema of '{path}{key}': {message}", remedy)
    reader.step = ""
    return made


def write_document(definition: Definition) -> dict[str, Any]:
    """The canonical JSON form: defaults left out. `read_document` (which sorts edges by key) reverses it."""
    document: dict[str, Any] = {"format": FORMAT, "name": definition.name, "title": definition.title}
    if definition.description:
        document["description"] = definition.description
    if definition.input:
        document["input"] = [_plain(f) for f in definition.input]
    document["steps"] = [_step(s) for s in definition.steps]
    document["edges"] = [_plain(e, _EDGE_KEYS) for e in definition.edges]
    if policies := _plain(definition.policies):
        document["policies"] = policies
    return document


def _step(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {"id": step.id, "kind": step.kind.value, "label": step.label, **_plain(step.config)}
    if step.join != _default(Step, "join"):
        written["join"] = step.join.value
    if step.skip != SkipRule():
        written["skip"] = _plain(step.skip)
    return written


def _default(cls: type, name: str) -> Any:
    return next(m.default for m in _members(cls) if m.name == name)


def _plain(value: Any, rename: dict[str, str] | None = None) -> Any:
    if is_dataclass(value):
        back = {v: k for k, v in (rename or {}).items()}
        return {
            back.get(m.name, m.name.rstrip("_")): _plain(getattr(value, m.name))
            for m in _members(typing.cast(type, type(value)))
            if m.required or getattr(value, m.name) != m.default
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value
