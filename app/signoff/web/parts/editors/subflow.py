"""Editors of a step that starts a run of another definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.definition import SubflowConfig
from signoff.core.validate import Surroundings
from signoff.web.parts.forms import NOTHING
from signoff.web.parts.inputs import DURATIONS, choice_input, number_input, text_input
from signoff.web.parts.rows import MappingRows


def subflow_editors(c: SubflowConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """Which definition, which version, with what input."""
    names = {"choose …": NOTHING} | {name: name for name in sorted(around.definitions or ())}
    return [
        choice_input(
            "Starts a run of", names, c.definition or NOTHING, lambda v: config(definition=v.strip(), version=None)
        ),
        number_input(
            "Version",
            c.version,
            lambda v: config(version=v, digest=""),
            whole=True,
            optional=True,
            help="empty: the newest when this is published",
        ),
        MappingRows("Input", c.input, lambda v: config(input=v)),
        text_input(
            "Expires after",
            c.expires,
            lambda v: config(expires=v.strip()),
            help=f"{DURATIONS}; empty: never. Then the run is cancelled",
            limit=40,
        ),
    ]
