"""Reading YAML safely: plain data only, no aliases (they can blow a small text up), no endless nesting."""

from __future__ import annotations

from typing import Any

import yaml

from signoff.interchange.translated import MAX_CHARS, Unreadable

MAX_DEPTH = 60


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader without aliases."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """As usual, but refuses what could cost more than the text is long."""
        if self.check_event(yaml.AliasEvent):
            raise Unreadable("it uses YAML aliases")
        if self.depth > MAX_DEPTH:
            raise Unreadable("it is nested too deep")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def read_yaml(text: str) -> Any:
    """The data of a YAML text.

    Raises:
        Unreadable: it is no YAML, too long, nested too deep, or uses aliases.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("it is too long")
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        raise Unreadable("it is no YAML") from None
