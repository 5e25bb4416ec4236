"""Reading XML safely: no document types, no entities of its own, bounded size and depth; namespaces are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from signoff.interchange.translated import MAX_CHARS, Unreadable

MAX_DEPTH = 100
MAX_ELEMENTS = 50_000
_SEPARATOR = "\n"


@dataclass(slots=True)
class Element:
    """One element; `tag` and the names of `attributes` are without their namespaces."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def get(self, name: str, usual: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, usual)

    def all(self, *tags: str) -> list[Element]:
        """Children of these kinds."""
        return [c for c in self.children if c.tag in tags]

    def first(self, *tags: str) -> Element | None:
        """The first child of these kinds."""
        return next((c for c in self.children if c.tag in tags), None)

    def inside(self, *tags: str) -> Iterator[Element]:
        """All below of these kinds."""
        for child in self.children:
            if child.tag in tags:
                yield child
            yield from child.inside(*tags)


class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.stack) > MAX_DEPTH:
            raise Unreadable("it has too many elements or is nested too deep")
        plain = {k.rsplit(_SEPARATOR, 1)[-1]: v for k, v in attributes.items()}
        element = Element(name.rsplit(_SEPARATOR, 1)[-1], plain)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, name: str) -> None:
        self.stack.pop()

    def text(self, data: str) -> None:
        if self.stack:
            self.stack[-1].text += data


def _refuse(*_: Any) -> NoReturn:
    raise Unreadable("it declares a document type or entities, which are not read")


def read_xml(text: str) -> Element:
    """The root element of a document.

    Raises:
        Unreadable: it is no XML, too large, or has a document type.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("it is too long")
    builder = _Builder()
    parser = expat.ParserCreate("utf-8", _SEPARATOR)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(text.encode("utf-8"), True)
    except (expat.ExpatError, UnicodeError) as error:
        raise Unreadable(f"it is no XML ({str(error)[:80]})") from None
    if builder.root is None:
        raise Unreadable("it is empty")
    return builder.root
