"""A file as a value: a reference with the digest of its content. The bytes are kept elsewhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from signoff.core.definition import Field

MAX_FILE_BYTES = 25_000_000
MAX_NAME_CHARS = 200
KEYS = frozenset({"file", "name", "size", "type"})
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MEDIA = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")

Wrong = tuple[str, str]


def is_digest(text: object) -> bool:
    """Whether a text is the digest of a content."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def is_media_type(text: object) -> bool:
    """Whether a text is a plain media type, in lower case."""
    return isinstance(text, str) and _MEDIA.fullmatch(text) is not None


def is_file_name(name: object) -> bool:
    """Whether a text may name a file: no path, no control or direction characters, not too long."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or name.strip(". ") == "":
        return False
    return name.isprintable() and not any(c in "/\\\0" for c in name)


def is_file(value: object) -> bool:
    """Whether a value is a reference to a file."""
    return (
        isinstance(value, dict)
        and value.keys() == KEYS
        and is_digest(value["file"])
        and is_file_name(value["name"])
        and isinstance(value["size"], int)
        and not isinstance(value["size"], bool)
        and 0 <= value["size"] <= MAX_FILE_BYTES
        and is_media_type(value["type"])
    )


def check_file(f: Field, value: object) -> tuple[Any, Wrong | None]:
    """A reference that fits a field: `options` are the allowed endings, `maximum` the most bytes."""
    if not is_file(value):
        return None, ("is no file", "Upload one and give the answer of the upload.")
    assert isinstance(value, dict)
    if f.options and not value["name"].casefold().endswith(tuple(o.casefold() for o in f.options)):
        return None, (f"has no ending that is allowed: '{value['name'][:60]}'", f"Allowed: {', '.join(f.options)}.")
    most = f.maximum if f.maximum is not None else MAX_FILE_BYTES
    if value["size"] > most:
        return None, (f"has {value['size']} bytes, more than {most:.0f}", "Give a smaller file.")
    return {name: value[name] for name in sorted(value)}, None


def file_references(value: object) -> Iterator[dict[str, Any]]:
    """Every reference to a file inside a JSON value."""
    if isinstance(value, dict):
        if is_file(value):
            yield value
        else:
            for inner in value.values():
                yield from file_references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from file_references(inner)
