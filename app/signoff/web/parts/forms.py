"""Forms of typed fields: one widget per field, errors at the field they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import Field, FieldType
from signoff.web.models.values import Filled, entered_text, fill

GAP = (0, 0, 14, 0)
NOTHING = " "
"""What a choice holds before anything is chosen; it is stripped away. Its label would slip on an empty text."""


class FieldForm(pn.viewable.Viewer):
    """Widgets for typed fields. `read` checks everything and shows each problem where it belongs."""

    def __init__(self, fields: Sequence[Field], values: Mapping[str, Any] | None = None, *, what: str) -> None:
        super().__init__()
        self._fields, self._what = tuple(fields), what
        given = values or {}
        self.widgets: dict[str, Any] = {f.name: field_widget(f, given.get(f.name)) for f in fields}
        self._helps = {f.name: f.help for f in fields}
        self._column = pn.Column(*self.widgets.values(), sizing_mode="stretch_width", margin=0)

    def __panel__(self) -> Any:
        return self._column

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was filled in."""
        return all(w.value in ("", NOTHING, None, False) for w in self.widgets.values())

    def clear(self) -> None:
        """Take back what was said at the fields."""
        for name, widget in self.widgets.items():
            say_at(widget, self._helps[name], wrong=False)

    def read(self) -> Filled:
        """The values as entered, checked; problems are shown at their fields."""
        filled = fill(self._fields, {n: w.value for n, w in self.widgets.items()}, what=self._what)
        for name, widget in self.widgets.items():
            wrong = filled.problems.get(name, "")
            say_at(widget, wrong or self._helps[name], wrong=bool(wrong))
        return filled


def say_at(widget: Any, words: str, *, wrong: bool) -> None:
    """Write below a widget; in the colour of errors where something is wrong."""
    if "helper_text" in widget.param:
        widget.helper_text = words
    if "error_state" in widget.param:
        widget.error_state = wrong


def field_widget(f: Field, value: Any = None) -> Any:
    """The widget for one typed field, holding `value`."""
    shown = entered_text(f, value)
    name = f.label or f.name
    label = name if f.required or f.type is FieldType.BOOLEAN else f"{name} (optional)"
    kept: dict[str, Any] = {"label": label, "sizing_mode": "stretch_width", "margin": GAP, "size": "small"}
    match f.type:
        case FieldType.BOOLEAN:
            return pmui.Checkbox(label=label, value=bool(shown), margin=GAP)
        case FieldType.CHOICE:
            options = {"choose …": NOTHING} | {o: o for o in f.options}
            chosen = shown if shown in f.options else NOTHING
            return pmui.Select(options=options, value=chosen, helper_text=f.help, **kept)
        case FieldType.DATE:
            return pmui.DatePicker(
                value=_date(shown), helper_text=f.help, **{k: v for k, v in kept.items() if k != "size"}
            )
        case FieldType.LONG_TEXT | FieldType.LIST | FieldType.OBJECT:
            return pmui.TextAreaInput(value=shown, rows=3, helper_text=f.help, max_length=20_000, **kept)
        case FieldType.FILE:
            return pmui.TextInput(
                value="", helper_text="Files are chosen on the page without this panel.", disabled=True, **kept
            )
        case FieldType.TEXT | FieldType.NUMBER | FieldType.INTEGER:
            return pmui.TextInput(value=shown, helper_text=f.help or _range(f), max_length=20_000, **kept)


def _range(f: Field) -> str:
    low, high = f.minimum, f.maximum
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}" if high is not None else ""


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
