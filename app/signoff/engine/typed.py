"""Typed data for people who write definitions in Python: fields from a Pydantic model or a JSON Schema, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from signoff.core.definition import Definition, Field
from signoff.core.document import read_document
from signoff.core.forms import json_schema
from signoff.core.schema import fields_from_schema as read_schema
from signoff.core.schema import fields_json
from signoff.errors import InvalidInput


class Model(Protocol):
    """What a Pydantic model class offers."""

    def model_json_schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        ...


def fields_of(model: Model) -> list[dict[str, Any]]:
    """The fields of a Pydantic model, for the input form or the output of a step in a definition's document.

    Raises:
        InvalidInput: the model asks for something that fields cannot express; every such place is named.
    """
    return fields_from_schema(model.model_json_schema())


def fields_from_schema(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of a JSON Schema of the type object, for a definition's document.

    Raises:
        InvalidInput: it asks for something that fields cannot express; every such place is named.
    """
    fields, wrong = read_schema(schema)
    if wrong:
        problems = tuple({"message": message, "remedy": remedy} for message, remedy in wrong)
        sentences = " ".join(f"{message} {remedy}" for message, remedy in wrong)
        raise InvalidInput(sentences, code="bad_schema", problems=problems)
    return fields_json(fields)


def json_schema_of(fields: Sequence[Field | Mapping[str, Any]]) -> dict[str, Any]:
    """Fields (of a definition, or as they stand in its document) as a JSON Schema (2020-12) object.

    Raises:
        InvalidInput: something in the list is no field.
    """
    listed = [f if isinstance(f, Mapping) else fields_json([f])[0] for f in fields]
    found, problems = read_document({"name": "fields", "input": listed})
    if found is None or problems:
        raise InvalidInput(" ".join(p.sentence for p in problems), code="bad_fields")
    return json_schema(found.input)


def schemas_of(definition: Definition) -> dict[str, Any]:
    """JSON Schemas of the input form ("input") and of what steps declare that they give ("outputs", by step id)."""
    outputs = {}
    for s in definition.steps:
        if s.output:
            one = json_schema(s.output)
            outputs[s.id] = {"type": "array", "items": one} if getattr(s.config, "for_each", None) else one
    return {"input": json_schema(definition.input), "outputs": outputs}
