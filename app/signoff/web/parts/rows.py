"""Rows that a person adds and removes: names with values, and typed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import Field, FieldType
from signoff.web.escape import esc
from signoff.web.models.mapping import from_text, to_text
from signoff.web.models.naming import identifier
from signoff.web.parts.inputs import choice_input, number_input, text_input, tick_input, words_of
from signoff.web.parts.listed import FRAMED, Listed, Named
from signoff.web.parts.panes import wrap

TYPE_WORDS = {
    "Text": FieldType.TEXT,
    "Long text": FieldType.LONG_TEXT,
    "Number": FieldType.NUMBER,
    "Whole number": FieldType.INTEGER,
    "Yes or no": FieldType.BOOLEAN,
    "Date": FieldType.DATE,
    "Choice": FieldType.CHOICE,
    "List": FieldType.LIST,
    "Object": FieldType.OBJECT,
    "File": FieldType.FILE,
}


class MappingRows(Named[str]):
    """Names with values; a value that begins with `=` is an expression.

    Args:
        title: what the rows are.
        values: the mapping as stored.
        change: called with the whole mapping after each change.
        name_label: what the names are called.
    """

    def __init__(
        self,
        title: str,
        values: Mapping[str, Any],
        change: Callable[[dict[str, Any]], None],
        *,
        name_label: str = "Name",
    ) -> None:
        self._change, self._name_label = change, name_label
        rows = [(str(n), to_text(v)) for n, v in values.items()]
        super().__init__(f"<h3>{esc(title)}</h3>", rows, f"Add to “{title.lower()}”")

    def _fresh(self) -> tuple[str, str]:
        return "", ""

    def _row(self, i: int) -> Any:
        name, value = self._rows[i]
        left = text_input(self._name_label, name, lambda v: self._put(i, (v, self._rows[i][1])), limit=200)
        right = text_input("Value or =expression", value, lambda v: self._put(i, (self._rows[i][0], v)))
        left.styles, right.styles = {"flex": "1 1 110px"}, {"flex": "2 1 160px"}
        return wrap(left, right, self._remover(i), gap="6px", align="flex-start", margin=0, sizing_mode="stretch_width")

    def _tell(self) -> None:
        self._change({name.strip(): from_text(value) for name, value in self._rows if name.strip()})


class FieldRows(Listed[Field]):
    """Typed fields of a form or an output; one is open at a time.

    Args:
        title: what the fields are.
        fields: as stored.
        change: called with all fields after each change.
    """

    def __init__(self, title: str, fields: Sequence[Field], change: Callable[[tuple[Field, ...]], None]) -> None:
        self._change, self._open = change, -1
        super().__init__(f"<h3>{esc(title)}</h3>", fields, "Add field")

    def _fresh(self) -> Field:
        label = f"Field {len(self._rows) + 1}"
        return Field(identifier(label, {f.name for f in self._rows}, fallback="field"), label)

    def _tell(self) -> None:
        self._change(tuple(self._rows))

    def _row(self, i: int) -> Any:
        f = self._rows[i]
        words = next(w for w, t in TYPE_WORDS.items() if t is f.type)
        said = f"{f.label or f.name} · {words}{'' if f.required else ', optional'}"
        head = pmui.Button(
            label=said,
            variant="text",
            size="small",
            on_click=lambda _: self._toggle(i),
            sizing_mode="stretch_width",
            margin=0,
            sx={"justifyContent": "flex-start", "textAlign": "start", "overflowWrap": "anywhere"},
        )
        if i != self._open:
            return head
        body = pn.Column(*self._inputs(i, f), sizing_mode="stretch_width", margin=(6, 0, 6, 0))
        return pn.Column(head, body, margin=0, **FRAMED)

    def _inputs(self, i: int, f: Field) -> list[Any]:
        found = [
            text_input("Label", f.label, lambda v: self._label(i, v)),
            text_input("Name in expressions", f.name, lambda v: self._set(i, name=v), limit=63),
            choice_input("Type", {w: t.value for w, t in TYPE_WORDS.items()}, f.type.value, lambda v: self._type(i, v)),
            tick_input("Required", f.required, lambda v: self._set(i, required=v)),
        ]
        if f.type is FieldType.CHOICE:
            options = ", ".join(f.options)
            found.append(
                text_input("Options, separated by commas", options, lambda v: self._set(i, options=words_of(v)))
            )
        if f.type in (FieldType.NUMBER, FieldType.INTEGER):
            found.append(number_input("At least", f.minimum, lambda v: self._set(i, minimum=_float(v)), optional=True))
            found.append(number_input("At most", f.maximum, lambda v: self._set(i, maximum=_float(v)), optional=True))
        if f.type is FieldType.FILE:
            endings, most = ", ".join(f.options), f.maximum
            found.append(
                text_input("Allowed endings (.pdf, .png)", endings, lambda v: self._set(i, options=words_of(v)))
            )
            found.append(number_input("Bytes at most", most, lambda v: self._set(i, maximum=_float(v)), optional=True))
        found.append(text_input("Help", f.help, lambda v: self._set(i, help=v)))
        found.append(tick_input("Sensitive (personal or secret)", f.sensitive, lambda v: self._set(i, sensitive=v)))
        found.append(self._remover(i, "Remove field"))
        return found

    def _toggle(self, i: int) -> None:
        self._open = -1 if self._open == i else i
        self._draw()

    def _label(self, i: int, label: str) -> None:
        f = self._rows[i]
        others = {o.name for o in self._rows if o is not f}
        follows = f.name == identifier(f.label, others, fallback="field")
        self._set(i, label=label, **({"name": identifier(label, others, fallback="field")} if follows else {}))
        self._draw()

    def _type(self, i: int, value: str) -> None:
        self._set(i, type=FieldType(value))
        self._draw()

    def _set(self, i: int, **changes: Any) -> None:
        self._put(i, replace(self._rows[i], **changes))

    def _add(self) -> None:
        self._open = len(self._rows)
        super()._add()

    def _remove(self, i: int) -> None:
        self._open = -1
        super()._remove(i)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
