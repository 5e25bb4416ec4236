"""Single inputs of the designer's side panel: each calls `change` with a good value, once per action of a person."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import panel_material_ui as pmui

from signoff.web.parts.forms import say_at

Change = Callable[[Any], None]
GAP = (0, 0, 12, 0)
DURATIONS = "such as PT2H, P3D, P1M or P2D working"
LOOK: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": GAP, "size": "small"}


def _watch(widget: Any, change: Change, read: Callable[[Any], Any] = lambda v: v) -> Any:
    widget.param.watch(lambda event: change(read(event.new)), "value")
    return widget


def _line(label: str, value: str, help: str, limit: int) -> Any:
    """One line; Enter takes what was typed even where a slow browser does not yet know its own last letters."""
    widget = pmui.TextInput(label=label, value=value, helper_text=help, max_length=limit, **LOOK)
    widget.param.watch(lambda _: setattr(widget, "value", widget.value_input), "enter_pressed")
    return widget


def text_input(label: str, value: str, change: Change, *, help: str = "", limit: int = 4_000) -> Any:
    """One line of text; counts when Enter is pressed or the field is left."""
    return _watch(_line(label, value, help, limit), change)


def area_input(label: str, value: str, change: Change, *, help: str = "", limit: int = 20_000) -> Any:
    """Several lines of text."""
    return _watch(
        pmui.TextAreaInput(label=label, value=value, rows=3, helper_text=help, max_length=limit, **LOOK), change
    )


def tick_input(label: str, value: bool, change: Change) -> Any:
    """Yes or no."""
    return _watch(pmui.Checkbox(label=label, value=value, margin=GAP), change)


def choice_input(label: str, options: Mapping[str, str], value: str, change: Change, *, help: str = "") -> Any:
    """One of several; `options` maps words to values, and an unknown value is offered as it is."""
    known = dict(options) if value in options.values() else {**options, value: value}
    return _watch(pmui.Select(label=label, options=known, value=value, helper_text=help, **LOOK), change)


def several_input(label: str, options: Iterable[str], value: Iterable[str], change: Change) -> Any:
    """Any number of several; unknown ones that are chosen stay offered."""
    chosen = list(value)
    known = list(dict.fromkeys([*sorted(options), *chosen]))
    widget = pmui.MultiChoice(label=label, options=known, value=chosen, sizing_mode="stretch_width", margin=GAP)
    return _watch(widget, change, tuple)


def number_input(
    label: str, value: float | None, change: Change, *, whole: bool = False, optional: bool = False, help: str = ""
) -> Any:
    """A number; anything else is said at the field and changes nothing."""
    widget = _line(label, _shown(value), help, 30)

    def read(event: Any) -> None:
        entered = str(event.new).strip()
        if not entered and optional:
            say_at(widget, help, wrong=False)
            change(None)
            return
        try:
            number = int(entered) if whole else float(entered)
            if not math.isfinite(number):
                raise ValueError(entered)
        except (ValueError, OverflowError):
            say_at(widget, "Enter a whole number." if whole else "Enter a number.", wrong=True)
            return
        say_at(widget, help, wrong=False)
        change(number)

    widget.param.watch(read, "value")
    return widget


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def words_of(text: str) -> tuple[str, ...]:
    """Comma-separated words."""
    return tuple(w.strip() for w in text.split(",") if w.strip())
