"""Values of a mapping as one line of text each, and back.

A text beginning with `=` is an expression and stays as it is. JSON numbers, lists, objects, `true`, `false` and
`null` are read as such; every other text is that text. A text that would be read as something else is written in
quotation marks.
"""

from __future__ import annotations

import json
from typing import Any


def to_text(value: Any) -> str:
    """One line that `from_text` reads back as `value`."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if _reads_otherwise(value) else value
    return json.dumps(value, ensure_ascii=False)


def from_text(text: str) -> Any:
    """The value a person meant."""
    if text.startswith("="):
        return text
    read = _json(text.strip())
    return text if read is _NOTHING else read


_NOTHING = object()


def _json(text: str) -> Any:
    if not text or text[0] not in '-0123456789[{"tfn':
        return _NOTHING
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _reads_otherwise(value: str) -> bool:
    if value.startswith("="):
        return False
    return _json(value.strip()) is not _NOTHING or "\n" in value or value != value.strip()
