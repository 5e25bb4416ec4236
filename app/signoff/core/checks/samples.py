"""Types of expressions, as far as they can be known: each is evaluated once with a sample of what it reads."""

from __future__ import annotations

from typing import Any

from signoff.core.definition import ApprovalConfig, Definition, Field, FieldType, Step
from signoff.core.expression import ROOTS, Expression, ExpressionError, ExpressionTypeError

_SAMPLES: dict[FieldType, Any] = {
    FieldType.TEXT: "text",
    FieldType.LONG_TEXT: "text",
    FieldType.NUMBER: 1.5,
    FieldType.INTEGER: 1,
    FieldType.BOOLEAN: True,
    FieldType.DATE: "2027-01-01",
    FieldType.LIST: [],
    FieldType.OBJECT: {},
    FieldType.FILE: {"file": "sha256:" + "0" * 64, "name": "file.pdf", "size": 1, "type": "application/pdf"},
}
_DECISION: dict[str, Any] = {"outcome": "approved", "decided_by": [], "comment": ""}


def gives(step: Step) -> frozenset[str]:
    """Names in the output of a step that declares none but always has the same."""
    return frozenset(_decision(step.config)) if isinstance(step.config, ApprovalConfig) else frozenset()


def _decision(config: ApprovalConfig) -> dict[str, Any]:
    """What an approval gives; with fields also what was filled in when deciding."""
    values = {f.name: _sample(f) for f in config.fields if f.type in _SAMPLES or f.options}
    return {**_DECISION, "values": values, "answers": []} if config.fields else _DECISION


def wrong_type(
    d: Definition,
    expression: Expression,
    *,
    condition: bool = False,
    list_wanted: bool = False,
    number_wanted: bool = False,
) -> str:
    """What must always go wrong with the types, as a sentence; "" where nothing must.

    Nothing is said where the expression reads an optional field, a whole input or an output of which nothing is
    declared, and nothing about faults that depend on the value (division by zero, an index, a missing member).
    """
    scope = _scope(d, expression)
    if scope is None:
        return ""
    try:
        value = expression.decide(scope) if condition else expression.evaluate(scope)
    except ExpressionTypeError as error:
        return str(error)
    except ExpressionError:
        return ""
    if list_wanted and not isinstance(value, list):
        return f"'{expression.shown}' gives no list, where a list is needed."
    if number_wanted and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"'{expression.shown}' gives no number, where a whole number is needed."
    return ""


def _scope(d: Definition, expression: Expression) -> dict[str, Any] | None:
    """A sample of everything the expression reads; None where something of it is not known."""
    if expression.roots - ROOTS or "*" in expression.inputs:
        return None
    read = [f for f in d.input if f.name in expression.inputs]
    if not all(_is_known(f) for f in read):
        return None
    steps: dict[str, Any] = {}
    for name, rest in expression.steps:
        step, parts = d.find_step(name), rest.split(".") if rest else []
        if step is None or not parts or not _reads_known(step, parts):
            return None
        steps[name] = {"outcome": step.good_outcome, "output": _output(step), "error": {"code": "", "message": ""}}
    return {
        "input": {f.name: _sample(f) for f in read},
        "steps": steps,
        "run": {"id": "run", "started_by": "someone", "business_key": "key"},
    }


def _reads_known(step: Step, parts: list[str]) -> bool:
    """Whether all that is read of a step is known: its outcome, its error, or required fields that it declares."""
    if parts[0] != "output":
        return True
    if isinstance(step.config, ApprovalConfig):
        read_values = len(parts) > 1 and parts[1] in ("values", "answers")
        wanted = [f for f in step.config.fields if len(parts) > 2 and f.name == parts[2]]
        return not read_values or (parts[1] == "values" and len(parts) > 2 and all(_is_known(f) for f in wanted))
    if not step.output or getattr(step.config, "for_each", None):
        return False
    read = [f for f in step.output if len(parts) < 2 or f.name == parts[1]]
    return all(_is_known(f) for f in read)


def _output(step: Step) -> dict[str, Any]:
    if isinstance(step.config, ApprovalConfig):
        return _decision(step.config)
    return {f.name: _sample(f) for f in step.output if f.type in _SAMPLES or f.options}


def _is_known(f: Field) -> bool:
    return f.required and (f.type in _SAMPLES or bool(f.options))


def _sample(f: Field) -> Any:
    return f.options[0] if f.type is FieldType.CHOICE and f.options else _SAMPLES[f.type]
