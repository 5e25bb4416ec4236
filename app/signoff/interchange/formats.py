"""Which format a model has, and its translator."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from signoff.interchange import asl, bpmn, conductor, kestra
from signoff.interchange.translated import Translated, unreadable

TRANSLATORS: MappingProxyType[str, Callable[..., Translated]] = MappingProxyType(
    {"asl": asl.translate, "bpmn": bpmn.translate, "conductor": conductor.translate, "kestra": kestra.translate}
)
"""By the word that people choose the format with."""


def guess_format(text: str) -> str:
    """The format a text looks like, "" where it looks like none."""
    begin = text.lstrip("\ufeff \t\r\n")[:1]
    if begin == "<":
        return "bpmn"
    if begin == "{":
        return "asl" if re.search(r'"StartAt"\s*:', text) else "conductor" if re.search(r'"tasks"\s*:', text) else ""
    return "kestra" if re.search(r"^tasks\s*:", text, re.M) else ""


def translate(text: str, *, format: str = "", name: str = "") -> Translated:
    """A foreign model as a definition.

    Args:
        text: of the model.
        format: one of `TRANSLATORS`; guessed where it is empty.
        name: of the definition; the model's own where it is empty.
    """
    found = format or guess_format(text)
    if found not in TRANSLATORS:
        return unreadable(f"it looks like none of {', '.join(TRANSLATORS)}; say which format it has")
    return TRANSLATORS[found](text, name=name)
